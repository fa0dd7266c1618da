"""Upper bounds of b'Wb: certificates that a cut is optimal or nearly so."""

from proxcode.cut.bounds.certificates import SuitableBound, certify
from proxcode.cut.bounds.cycles import CycleBound
from proxcode.cut.bounds.semidefinite import SemidefiniteBound, UpperBound

__all__ = ["CycleBound", "SemidefiniteBound", "SuitableBound", "UpperBound", "certify"]
