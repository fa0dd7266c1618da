"""Digits of which one class is new: what updates and drift are tested with."""

from functools import cache

import numpy as np
from sklearn.datasets import load_digits

from proxcode import ProximityPreservingCode

N_BITS = 24
NEW = 9
# Samples of the old classes, and of the new one, that are learned from.
N_OLD, N_NEW = 900, 80


def old_digits():
    """Return samples and labels without the new class."""
    X, y = _digits()
    return X[y != NEW][:N_OLD], y[y != NEW][:N_OLD]


def new_digits():
    """Return samples and labels of the new class."""
    X, y = _digits()
    return X[y == NEW][:N_NEW], y[y == NEW][:N_NEW]


def held_out_digits():
    """Return the other samples and labels, those of the new class last."""
    X, y = _digits()
    return joined((X[y != NEW][N_OLD:], y[y != NEW][N_OLD:]), (X[y == NEW][N_NEW:], y[y == NEW][N_NEW:]))


def fit(data, hash_function=None, n_bits=N_BITS, **parameters):
    """Fit a model with a fixed seed."""
    return ProximityPreservingCode(n_bits, hash_function=hash_function, random_state=0, **parameters).fit(*data)


def joined(*parts):
    """Join several samples and labels."""
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


@cache
def _digits():
    return load_digits(return_X_y=True)
