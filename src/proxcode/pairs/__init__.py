"""Near and far pairs of samples, without an n x n matrix."""
