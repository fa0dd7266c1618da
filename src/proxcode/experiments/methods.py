"""The methods that the experiments compare, and which code lengths a single fit of each method covers."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from proxcode.code import ProximityPreservingCode
from proxcode.hashing import LinearHash, ReconstructionHash, SVMHash
from proxcode.peers import COSDISH, PEERS, QUANTISERS, SDH, TSH, Hadamard
from proxcode.peers._base import Peer, SupervisedPeer
from proxcode.peers.hadamard import hadamard_order
from proxcode.peers.ksh import LinearKSH
from proxcode.peers.quantisers import FaissOPQ, FaissRQ
from proxcode.proximity import Nearest, Proximity, SameLabel
from proxcode.search import FloatQueries

# Methods that would take hours for all cells: 200 boosted trees for each bit.
SLOW = ("FastHash",)
# Largest number of samples that each support vector machine of the paper's method is trained on.
PAPER_SAMPLES = 20_000
# Memory in megabytes for the kernel values of all samples with these, at most 70,000 samples.
PAPER_MEMORY = 5500

# A function of code length and number of classes. Code lengths with the same value share one fit, at the longest.
FitKey = Callable[[int, int], int]


def one_fit(n_bits: int, n_classes: int) -> int:
    """Share one fit between all code lengths: a shorter code is a prefix of a longer one."""
    return 0


def fit_each(n_bits: int, n_classes: int) -> int:
    """Fit each code length separately."""
    return n_bits


def same_order(n_bits: int, n_classes: int) -> int:
    """Share one fit between code lengths of class codes from the same Hadamard matrix."""
    return hadamard_order(n_classes, n_bits)


def whole_classes(n_bits: int, n_classes: int) -> int:
    """Share one fit between code lengths with a bit for each class: the bits after those are 0."""
    return max(n_classes - n_bits, 0)


# Peers whose code lengths share fits; all others are fitted at each code length.
FITS: dict[str, FitKey] = {
    # A shorter code has other bits than a prefix of a longer one, but equally random ones.
    "LSH": one_fit,
    "Sign": one_fit,
    "AGH": one_fit,
    "IMH-LE": one_fit,
    "TSH": one_fit,
    "FastHash": one_fit,
    "Hadamard": same_order,
    "ClassifierCode": whole_classes,
}


class Method(NamedTuple):
    """A hashing method: an estimator made from code length, seed and proximity, and its groups of code lengths."""

    make: Callable[[int, int, Proximity | None], Any]
    fit_key: FitKey
    needs_labels: bool = False
    on_posteriors: bool = False
    # The only code lengths that tables have of a slow method; empty: all.
    only: tuple[int, ...] = ()

    def lengths(self, bits: Sequence[int]) -> tuple[int, ...]:
        """Return those of some code lengths that tables have of the method.

        Examples
        --------
        >>> FAIR["SDH+"].lengths([12, 16]), FAIR["KSH+"].lengths([12, 16])
        ((16,), (12, 16))
        """
        return tuple(n_bits for n_bits in bits if not self.only or n_bits in self.only)

    def protocol(self, name: str) -> str:
        """Return the protocol to run the method under: with posteriors as samples if the method asks for them.

        Examples
        --------
        >>> FAIR["KSH+"].protocol("labels digits"), FAIR["SDH+"].protocol("labels digits")
        ('posteriors digits', 'labels digits')
        """
        return name.replace("labels ", "posteriors ", 1) if self.on_posteriors else name

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
    hash_function = SVMHash(max_samples=PAPER_SAMPLES, cache_size=PAPER_MEMORY)
    return ProximityPreservingCode.paper(n_bits, proximity=proximity, hash_function=hash_function, random_state=seed)


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


def _peer(name: str, peer: type[Any], on_posteriors: bool = False, **parameters: Any) -> Method:
    def make(n_bits: int, seed: int, proximity: Proximity | None) -> Any:
        return peer(n_bits=n_bits, random_state=seed, **parameters)

    return Method(make, FITS.get(name, fit_each), issubclass(peer, SupervisedPeer), on_posteriors)


METHODS: dict[str, Method] = {
    "PPC": Method(_ppc, one_fit),
    "PPC-paper": Method(_ppc_of_the_paper, one_fit),
    **{name: _peer(name, peer) for name, peer in {**PEERS, **(QUANTISERS if find_spec("faiss") else {})}.items()},
    # Features of GIST are never negative.
    "Sign": _peer("Sign", PEERS["Sign"], centred=True),
}
# Peers with what PPC has: SDH with as many anchors as PPC has landmarks with labels, AGH with as many as without, the
# others with the functions that PPC's bits are directions of, learned from all samples and labels.
FAIR: dict[str, Method] = {
    "AGH+": _peer("AGH", PEERS["AGH"], n_anchors=None),
    "SDH+": _peer("SDH", SDH, n_anchors=None)._replace(only=(16, 32, 64)),
    "KSH+": _peer("KSH", LinearKSH, on_posteriors=True, n_anchors=None, n_labelled=5000),
    "COSDISH+": _peer("COSDISH", COSDISH, on_posteriors=True),
    "TSH+": _peer("TSH", TSH, on_posteriors=True, hash_function=LinearHash()),
    "Hadamard+": _peer("Hadamard", Hadamard, on_posteriors=True, hash_function=LinearHash()),
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
