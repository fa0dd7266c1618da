"""Hash functions: what carries a bit to samples not seen in fit; `base.py` defines the contract."""

from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier

from proxcode.hashing.base import HashedBit, HashFunction, HashTraining, NoHash, PerBitHash
from proxcode.hashing.classifier import ClassifierHash
from proxcode.hashing.kernel import KernelHash
from proxcode.hashing.linear import LinearHash
from proxcode.hashing.new_classes import NewClassHash
from proxcode.hashing.reconstruction import ReconstructionHash
from proxcode.hashing.rotation import RotationHash
from proxcode.hashing.svm import SVMHash
from proxcode.utils.validation import check_component

__all__ = [
    "ClassifierHash",
    "HashFunction",
    "HashTraining",
    "HashedBit",
    "KernelHash",
    "LinearHash",
    "NewClassHash",
    "NoHash",
    "PerBitHash",
    "ReconstructionHash",
    "RotationHash",
    "SVMHash",
    "as_hash_function",
]


def as_hash_function(hash_function: Any) -> HashFunction:
    """Return an unfitted copy of a hash function, a `ClassifierHash` for a classifier."""
    if isinstance(hash_function, BaseEstimator) and is_classifier(hash_function):
        return ClassifierHash(clone(hash_function))
    check_component("hash_function", hash_function, HashFunction, "KernelHash() or a scikit-learn classifier")
    return clone(hash_function)
