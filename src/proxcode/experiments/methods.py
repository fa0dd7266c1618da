"""The methods that the experiments compare, and which code lengths a single fit of each method covers."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from proxcode.code import ProximityPreservingCode
from proxcode.hashing import ReconstructionHash, SVMHash
from proxcode.peers import PEERS, QUANTISERS
from proxcode.peers._base import Peer, SupervisedPeer
from proxcode.peers.hadamard import hadamard_order
from proxcode.peers.quantisers import FaissOPQ, FaissRQ
from proxcode.proximity import Nearest, Proximity, SameLabel
from proxcode.search import FloatQueries

# Methods that would take hours for all cells: a support vector machine or 200 boosted trees for each bit.
SLOW = ("PPC-paper", "FastHash")
# Largest number of samples that each support vector machine of the paper's method is trained on.
PAPER_SAMPLES = 5000

# A function of code length and number of classes. Code lengths with the same value share one fit, at the longest.
FitKey = Callable[[int, int], int]


def one_fit(n_bits: int, n_classes: int) -> int:
    """Share one fit between all code lengths: a shorter code is a prefix of a longer one."""
    return 0


def fit_each(n_bits: int, n_classes: int) -> int:
    """Fit each code length separately."""
    return n_bits


# Peers whose code lengths share fits; all others are fitted at each code length.
FITS: dict[str, FitKey] = {
    # A shorter code has other bits than a prefix of a longer one, but equally random ones.
    "LSH": one_fit,
    "Sign": one_fit,
    "AGH": one_fit,
    "IMH-LE": one_fit,
    "TSH": one_fit,
    "FastHash": one_fit,
    "Hadamard": lambda n_bits, n_classes: hadamard_order(n_classes, n_bits),
    # The bits after those of the classes are 0.
    "ClassifierCode": lambda n_bits, n_classes: max(n_classes - n_bits, 0),
}


class Method(NamedTuple):
    """A hashing method: an estimator made from code length, seed and proximity, and its groups of code lengths."""

    make: Callable[[int, int, Proximity | None], Any]
    fit_key: FitKey
    needs_labels: bool = False

    def groups(self, bits: Sequence[int], n_classes: int) -> list[list[int]]:
        """Return the code lengths of each fit, in increasing order.

        Examples
        --------
        >>> METHODS["Hadamard"].groups([12, 127, 128], n_classes=10)
        [[12, 127], [128]]
        """
        lengths: dict[int, list[int]] = {}
        for n_bits in sorted(bits):
            lengths.setdefault(self.fit_key(n_bits, n_classes), []).append(n_bits)
        return list(lengths.values())


def _ppc(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
    return ProximityPreservingCode(n_bits, proximity=proximity, random_state=seed)


def _ppc_of_the_paper(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
    hash_function = SVMHash(max_samples=PAPER_SAMPLES)
    return ProximityPreservingCode.paper(
        n_bits, proximity=proximity, hash_function=hash_function, max_samples=2 * PAPER_SAMPLES, random_state=seed
    )


class FloatQueryModel:
    """A model whose codes are compared with float queries: its own, or for a peer its margins as weights of bits.

    Parameters
    ----------
    model : ProximityPreservingCode or Peer
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model."""
        return self.model.get_params(deep=deep)

    def fit(self, X: Any, y: Any = None) -> "FloatQueryModel":
        """Fit the model."""
        self.model.fit(X, y)
        return self

    def encode(self, X: Any) -> Any:
        """Return packed codes."""
        return self.model.encode(X)

    def distances(self, X: Any, codes: Any) -> Any:
        """Return the distances of float queries to codes."""
        is_peer = isinstance(self.model, Peer)
        queries = FloatQueries.from_weights(self.model.scores(X)) if is_peer else self.model.query(X)
        return queries.distances(codes)


def _job(proximity: Proximity, hash_function: Any = None, *, float_queries: bool = False) -> Method:
    def make(n_bits: int, seed: int, ignored: Proximity | None) -> Any:
        model = ProximityPreservingCode(n_bits, proximity=proximity, hash_function=hash_function, random_state=seed)
        return FloatQueryModel(model) if float_queries else model

    needs_labels = isinstance(proximity, SameLabel)
    return Method(make, fit_each, needs_labels)


def _peer(name: str, peer: type[Any]) -> Method:
    # Features of GIST are never negative.
    parameters = {"centred": True} if name == "Sign" else {}

    def make(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
        return peer(n_bits=n_bits, random_state=seed, **parameters)

    return Method(make, FITS.get(name, fit_each), issubclass(peer, SupervisedPeer))


METHODS: dict[str, Method] = {
    "PPC": Method(_ppc, one_fit),
    "PPC-paper": Method(_ppc_of_the_paper, one_fit),
    **{name: _peer(name, peer) for name, peer in {**PEERS, **(QUANTISERS if find_spec("faiss") else {})}.items()},
}
# Methods for other jobs than those of the paper: top-k search without labels, float queries, classes not in fit.
JOBS: dict[str, Method] = {
    "PPC-nearest": _job(Nearest()),
    "PPC-nearest-float": _job(Nearest(), float_queries=True),
    "PPC-reconstruction": _job(Nearest(), ReconstructionHash(), float_queries=True),
    # Signs of all centred coordinates: the number of bits is that of the features.
    "Sign-float": Method(
        lambda n_bits, seed, ignored: FloatQueryModel(PEERS["Sign"](n_bits=n_bits, centred=True)), fit_each
    ),
    "PPC-new-classes": _job(SameLabel(new_classes=True)),
    **({"FAISS-OPQ": _peer("", FaissOPQ), "FAISS-RQ": _peer("", FaissRQ)} if find_spec("faiss") else {}),
}


def method_named(name: str) -> Method:
    """Return a method of the paper's experiments, of another job or of the ablations."""
    from proxcode.experiments.variants import VARIANTS

    return {**METHODS, **JOBS, **VARIANTS}[name]
