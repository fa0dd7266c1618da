"""Hash functions: what carries a bit to points not seen in fit.

A hash function is a bank of binary classifiers over the same points, one per bit:

1. `begin(X)` prepares what all bits share,
2. `learn(side)` trains the next bit's classifier and returns its margins on the training points,
3. `climb(form)`, where it can, raises b'Wb of that bit as hashed,
4. `finish()` forgets the training points,
5. `scores(X)` gives the margins of new points, one column per bit; a bit is 1 where its margin is >= 0.

`state` and `restore` carry a finished bank into a file and back, `progress` and `resume` the bits of one that learns.
"""

from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier

from proxcode.hashing.base import HashFunction
from proxcode.hashing.classifier import ClassifierHash
from proxcode.hashing.kernel import KernelHash
from proxcode.hashing.linear import LinearHash
from proxcode.hashing.svm import SVMHash

__all__ = ["ClassifierHash", "HashFunction", "KernelHash", "LinearHash", "SVMHash", "as_hash_function"]


def as_hash_function(hash_function: Any) -> HashFunction:
    """Return a fresh hash function: the default for None, a bank of them for a plain classifier."""
    if hash_function is None:
        return KernelHash()
    if isinstance(hash_function, HashFunction):
        return clone(hash_function)
    if isinstance(hash_function, BaseEstimator) and is_classifier(hash_function):
        return ClassifierHash(clone(hash_function))
    raise TypeError(
        f"hash_function={hash_function!r}: use KernelHash(), LinearHash(), SVMHash() or a scikit-learn classifier."
    )
