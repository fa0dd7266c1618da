"""How tests make hash functions learn."""

import numpy as np
from sklearn.base import clone


def learned(hash_function, X, bits, seed=0):
    """Return a bank that has learned the columns of bits, and its margins on the way."""
    bank = clone(hash_function)
    bank.begin(X, np.random.default_rng(seed))
    margins = np.column_stack([bank.learn(side) for side in bits.T])
    bank.finish()
    return bank, margins
