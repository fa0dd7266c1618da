"""The methods that experiments compare, and which code lengths one fit of each serves."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from proxcode.code import ProximityPreservingCode
from proxcode.experiments.protocols import Split
from proxcode.hashing import SVMHash
from proxcode.peers import PEERS, QUANTISERS
from proxcode.peers._base import SupervisedPeer
from proxcode.peers.hadamard import hadamard_order
from proxcode.proximity import Proximity
from proxcode.threshold import EqualErrorThreshold
from proxcode.weights import GradientWeights

SLOW = ("PPC-paper",)  # a support vector machine of thousands of points for each bit: hours on 59,000 points
PAPER_SAMPLES = 5000  # points that each SVM of the paper's method is trained on, of more


def one_fit(n_bits: int, n_classes: int) -> int:
    """Serve all lengths: a shorter code is the beginning of a longer one."""
    return 0


def fit_each(n_bits: int, n_classes: int) -> int:
    """Serve one length."""
    return n_bits


def one_hot_fits(n_bits: int, n_classes: int) -> int:
    """Serve all lengths that hold a bit for each class: the bits after those are 0."""
    return max(n_classes - n_bits, 0)


PARAMETERS: dict[str, dict[str, Any]] = {
    "Sign": {"centred": True}  # coordinates of GIST are never negative
}
FITS: dict[str, Callable[[int, int], int]] = {
    "LSH": one_fit,  # not the same bits at each length, but equally random ones
    "Sign": one_fit,
    "AGH": one_fit,
    "IMH-LE": one_fit,
    "TSH": one_fit,
    "Hadamard": lambda n_bits, n_classes: hadamard_order(n_classes, n_bits),
    "ClassifierCode": one_hot_fits,
}


class Method(NamedTuple):
    """A way to make codes.

    Attributes
    ----------
    make : function of n_bits, seed and proximity
        Gives an object with fit and transform.
    fit_of : function of n_bits and the number of classes
        Lengths for which it gives the same number are served by one fit, that of the longest.
    needs_labels : bool
    """

    make: Callable[[int, int, Proximity | None], Any]
    fit_of: Callable[[int, int], int]
    needs_labels: bool = False

    def groups(self, bits: Sequence[int], n_classes: int) -> list[list[int]]:
        """Return the lengths that each fit serves, in rising order.

        Examples
        --------
        >>> METHODS["Hadamard"].groups([12, 127, 128], n_classes=10)
        [[12, 127], [128]]
        """
        served: dict[int, list[int]] = {}
        for n_bits in sorted(bits):
            served.setdefault(self.fit_of(n_bits, n_classes), []).append(n_bits)
        return list(served.values())

    def can(self, split: Split) -> bool:
        """Whether the method can learn from a split."""
        return split.labels is not None or not self.needs_labels


def _ppc(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
    return ProximityPreservingCode(n_bits, proximity=proximity, random_state=seed)


def _ppc_of_the_paper(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
    return ProximityPreservingCode(
        n_bits,
        proximity=proximity,
        threshold=EqualErrorThreshold(),
        weights=GradientWeights(),
        hash_function=SVMHash(max_samples=PAPER_SAMPLES),
        cut_points=2 * PAPER_SAMPLES,
        random_state=seed,
    )


def _peer(name: str) -> Method:
    peer = {**PEERS, **QUANTISERS}[name]

    def make(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
        return peer(n_bits=n_bits, random_state=seed, **PARAMETERS.get(name, {}))

    return Method(make, FITS.get(name, fit_each), issubclass(peer, SupervisedPeer))


METHODS: dict[str, Method] = {
    "PPC": Method(_ppc, one_fit),
    "PPC-paper": Method(_ppc_of_the_paper, one_fit),
    **{name: _peer(name) for name in PEERS},
    **{name: _peer(name) for name in (QUANTISERS if find_spec("faiss") else ())},
}
