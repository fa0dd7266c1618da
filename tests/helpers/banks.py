"""Hash functions trained on given bits, and the state of a training."""

import numpy as np
from sklearn.base import clone

from proxcode.utils.rows import ALL


def begin(hash_function, X, seed=0, **parameters):
    """Return an unfitted copy of a hash function and its training."""
    hash_function = clone(hash_function)
    return hash_function, hash_function.begin(X, np.random.default_rng(seed), **parameters)


def append(training, target, samples=ALL):
    """Train the next bit to follow a target, append it and return its margins."""
    bit = training.propose(target, samples)
    training.append(bit)
    return bit.margins


def learned(hash_function, X, bits, seed=0):
    """Return a hash function trained on the columns of `bits`, and the margins at the training samples."""
    hash_function, training = begin(hash_function, X, seed)
    margins = np.column_stack([append(training, target) for target in bits.T])
    hash_function.finish(training, bits.shape[1])
    return hash_function, margins
