"""Upper bounds of b'Wb: certificates that a cut is optimal or nearly so."""
