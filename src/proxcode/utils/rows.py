"""Selections of rows of a matrix."""

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
Rows = Index | slice

ALL = slice(None)
