"""Short binary codes that keep your notion of near and far.

>>> from sklearn.datasets import load_digits
>>> from proxcode import ProximityPreservingCode
>>> X, y = load_digits(return_X_y=True)
>>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X, y)
>>> codes = model.encode(X)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxcode.bits import BitRecord
    from proxcode.code import ProximityPreservingCode
    from proxcode.cut import (
        Annealing,
        BitUpdate,
        Cut,
        Restarts,
        VectorUpdate,
        frustration,
        ising_ground_state,
        max_cut,
        signed_cut,
    )
    from proxcode.hamming import asymmetric_distances, pack, unpack
    from proxcode.hashing import ClassifierHash, KernelHash, LinearHash, SVMHash
    from proxcode.proximity import GivenPairs, SameLabel, SharedLabel, WithinRadius
    from proxcode.search import ByDistance, ByMargins, HammingIndex
    from proxcode.threshold import CalibratedThreshold, EqualErrorThreshold, LogisticThreshold
    from proxcode.weights import DifferenceWeights, GradientWeights

__version__ = "0.1.0"
__all__ = [
    "Annealing",
    "BitRecord",
    "BitUpdate",
    "ByDistance",
    "ByMargins",
    "CalibratedThreshold",
    "ClassifierHash",
    "Cut",
    "DifferenceWeights",
    "EqualErrorThreshold",
    "GivenPairs",
    "GradientWeights",
    "HammingIndex",
    "KernelHash",
    "LinearHash",
    "LogisticThreshold",
    "ProximityPreservingCode",
    "Restarts",
    "SVMHash",
    "SameLabel",
    "SharedLabel",
    "VectorUpdate",
    "WithinRadius",
    "asymmetric_distances",
    "frustration",
    "ising_ground_state",
    "max_cut",
    "pack",
    "signed_cut",
    "unpack",
]
_HOMES = {
    "bits": {"BitRecord"},
    "code": {"ProximityPreservingCode"},
    "cut": {
        "Annealing",
        "BitUpdate",
        "Cut",
        "Restarts",
        "VectorUpdate",
        "frustration",
        "ising_ground_state",
        "max_cut",
        "signed_cut",
    },
    "hamming": {"asymmetric_distances", "pack", "unpack"},
    "hashing": {"ClassifierHash", "KernelHash", "LinearHash", "SVMHash"},
    "proximity": {"GivenPairs", "SameLabel", "SharedLabel", "WithinRadius"},
    "search": {"ByDistance", "ByMargins", "HammingIndex"},
    "threshold": {"CalibratedThreshold", "EqualErrorThreshold", "LogisticThreshold"},
    "weights": {"DifferenceWeights", "GradientWeights"},
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: `import proxcode` alone costs next to nothing."""
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"proxcode.{home}"), name)
        raise AttributeError(f"module 'proxcode' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
