"""The methods that experiments compare, and which code lengths one fit of each serves."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from proxcode.code import ProximityPreservingCode
from proxcode.experiments.protocols import Split
from proxcode.hashing import SVMHash
from proxcode.peers import PEERS, QUANTISERS
from proxcode.peers._base import SupervisedPeer
from proxcode.proximity import Proximity
from proxcode.threshold import EqualErrorThreshold
from proxcode.weights import GradientWeights

PAPER_SAMPLES = 5000  # points that each SVM of the paper's method is trained on, of more


def one_fit(bits: Sequence[int]) -> list[list[int]]:
    """Serve all lengths: a shorter code is the beginning of a longer one."""
    return [list(bits)]


def fit_each(bits: Sequence[int]) -> list[list[int]]:
    """Serve one length."""
    return [[n_bits] for n_bits in bits]


class Method(NamedTuple):
    """A way to make codes: `make(n_bits, seed, proximity)` gives an object with fit and transform."""

    make: Callable[[int, int, Proximity | None], Any]
    fits: Callable[[Sequence[int]], list[list[int]]]
    needs_labels: bool = False

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
        parameters = {"n_bits": n_bits, "random_state": seed}
        known = peer._get_param_names()
        return peer(**{key: value for key, value in parameters.items() if key in known})

    return Method(make, one_fit if name in ("LSH", "Sign") else fit_each, issubclass(peer, SupervisedPeer))


METHODS: dict[str, Method] = {
    "PPC": Method(_ppc, one_fit),
    "PPC-paper": Method(_ppc_of_the_paper, one_fit),
    **{name: _peer(name) for name in PEERS},
    **{name: _peer(name) for name in (QUANTISERS if find_spec("faiss") else ())},
}
