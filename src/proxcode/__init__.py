"""Short binary codes that keep your notion of near and far.

>>> from sklearn.datasets import load_digits
>>> from proxcode import ProximityPreservingCode
>>> X, y = load_digits(return_X_y=True)
>>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X, y)
>>> codes = model.encode(X)
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "proxcode.bits": ["BitRecord"],
    "proxcode.code": ["ProximityPreservingCode"],
    "proxcode.cut": ["BitUpdate", "Cut", "Restarts", "VectorUpdate", "signed_cut"],
    "proxcode.hamming": ["pack", "unpack"],
    "proxcode.hashing": ["ClassifierHash", "KernelHash", "SVMHash"],
    "proxcode.proximity": ["GivenPairs", "SameLabel", "SharedLabel", "WithinRadius"],
    "proxcode.threshold": ["EqualErrorThreshold", "LogisticThreshold"],
    "proxcode.weights": ["DifferenceWeights", "GradientWeights"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import proxcode` alone costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'proxcode' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
