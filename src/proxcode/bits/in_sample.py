"""Codes of given nodes or samples alone, without a hash function: from near and far pairs, no vectors needed.

1. Read the near and far pairs of a signed graph, or find those of a proximity.
2. Learn bit after bit (`loop.py`); each bit is the cut itself.
3. Stop when the share of misplaced pairs has reached the target, by default when every pair is on the right side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_array

from proxcode.bits.loop import BitLoop
from proxcode.bits.rules import MAX_BITS, CutSearch, Rules, is_done
from proxcode.cut import as_graph
from proxcode.cut.graph import ExplicitGraph
from proxcode.hamming import Codes, GrowingCode
from proxcode.hashing import NoHash
from proxcode.metrics import BitRecord
from proxcode.pairs import ListedPairs, NearLists, Pairs
from proxcode.proximity import Proximity
from proxcode.threshold import Threshold
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.progress import ProgressDisplay
from proxcode.utils.validation import check_integer, check_number, check_seed
from proxcode.weights import Weights


@dataclass(frozen=True)
class InSampleCode:
    """A code of given nodes or samples.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n_nodes, ceil(n_bits / 8))
        Packed codes, one row for each node.
    n_bits : int
        Number of bits learned: fewer than asked for where the target was met.
    alpha : float
        Threshold on twice the Hamming distance; by the default rule it is negative for some short codes, as `alpha_`.
    radius : int
        Hamming distance up to which two codes count as near: floor(alpha / 2), at least 0.
    history : list of BitRecord
        Figures of each bit; `history[-1].loss` is the share of pairs that the best threshold misplaces.
    nodes : list or None
        Names of the nodes in the order of `codes`: those of the graph, or row numbers where only some of the samples
        take part in pairs. None: numbers from 0.
    """

    codes: Codes
    n_bits: int
    alpha: float
    radius: int
    history: list[BitRecord]
    nodes: list[Any] | None


def in_sample_code(
    near: Any,
    X: ArrayLike | None = None,
    y: Any = None,
    *,
    n_bits: int = 64,
    others: str = "unknown",
    threshold: Threshold | None = None,
    weights: Weights | None = None,
    cut: CutSearch | None = None,
    loss_target: float | None = 0.0,
    random_state: Any = None,
    verbose: bool = False,
) -> InSampleCode:
    """Learn a code of the nodes of a signed graph, or of given samples, from near and far pairs alone.

    There is no hash function: each bit is a cut of the signed graph, as in the paper's figures, and new samples get no
    codes. All pairs enter every bit, so that a set of more than some ten thousand samples takes long.

    Parameters
    ----------
    near : signed graph, Proximity or Pairs
        A graph in any form that `signed_cut` reads: an array, DataFrame, scipy.sparse matrix, networkx graph or list of
        edges. An edge of positive weight is a near pair, one of negative weight a far pair; only signs count. Or a
        proximity such as `SameLabel()` or `WithinRadius()`, with X and y.
    X : array of shape (n_samples, n_features), default=None
        Samples, for a proximity of distances.
    y : labels, default=None
        For `SameLabel` and `SharedLabel`, which need no X.
    n_bits : int, default=64
        Largest code length, 1 to 1024.
    others : {"unknown", "far"}, default="unknown"
        Whether pairs of nodes without an edge are unknown or far. Ignored for a proximity.
    threshold, weights, cut : components, default=None
        As in `ProximityPreservingCode`.
    loss_target : float, default=0.0
        Share of misplaced pairs at which learning stops. None learns all bits.
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False
        Whether to show progress on standard error.

    Returns
    -------
    InSampleCode

    Examples
    --------
    Two groups of friends; members of different groups are enemies. One bit satisfies all pairs.

    >>> from proxcode import in_sample_code, unpack
    >>> friends, enemies = [(0, 1, 1), (1, 2, 1), (3, 4, 1)], [(0, 3, -1), (2, 4, -1)]
    >>> code = in_sample_code(friends + enemies, random_state=0)
    >>> code.n_bits, code.history[-1].loss
    (1, 0.0)
    >>> bit = unpack(code.codes, code.n_bits)[:, 0]
    >>> bool(bit[0] == bit[1] == bit[2] != bit[3] == bit[4])
    True

    Labels need no vectors either.

    >>> from proxcode import SameLabel
    >>> in_sample_code(SameLabel(), y=list("aabbccdd"), random_state=0).n_bits
    2
    """
    n_bits = check_integer("n_bits", n_bits, 1, MAX_BITS)
    target = -math.inf if loss_target is None else check_number("loss_target", loss_target)
    if others not in ("unknown", "far"):
        raise ValueError(f"others={others!r}: expected 'unknown' or 'far'.")
    rules = Rules.resolved(threshold, weights, cut)
    pairs, nodes = _read_pairs(near, X, y, others)
    code, seed = GrowingCode(pairs.n_samples), int(check_seed(random_state).randint(2**31))
    loop = BitLoop(pairs, NoHash(), rules, max_samples=pairs.n_samples, seed=seed, code=code)
    history: list[BitRecord] = []
    with ProgressDisplay("learned", "bits", n_bits, shown=verbose) as progress, one_blas_thread:
        while not is_done(history, n_bits, target):
            history.append(loop.step())
            progress.update(note=f"share of misplaced pairs {history[-1].loss:.4f}")
    last = history[-1]
    return InSampleCode(
        codes=code.packed(),
        n_bits=len(history),
        alpha=last.alpha,
        radius=last.radius,
        history=history,
        nodes=nodes,
    )


def _read_pairs(near: Any, X: ArrayLike | None, y: Any, others: str) -> tuple[Pairs, list[Any] | None]:
    """Return the pairs and the names of their nodes."""
    if isinstance(near, Pairs):
        return near, None
    if not isinstance(near, Proximity):
        if X is not None or y is not None:
            raise TypeError(f"X and y belong to a proximity, but near is of type {type(near).__name__}: pass it alone.")
        return _graph_pairs(near, others)
    if X is None and (y is None or near.read(y) is None):
        raise ValueError(f"X=None: {type(near).__name__} needs samples X; SameLabel and SharedLabel need y alone.")
    samples = np.empty((np.shape(y)[0], 0)) if X is None else check_array(X)
    taking_part, pairs = clone(near).fit(samples, y).find_pairs(samples, y)
    return pairs, None if len(taking_part) == len(samples) else taking_part.tolist()


def _graph_pairs(W: Any, others: str) -> tuple[Pairs, list[Any] | None]:
    """Return the pairs of a signed graph and the names of its nodes."""
    graph = as_graph(W)
    if not isinstance(graph, ExplicitGraph):
        raise ValueError(f"{type(graph).__name__} does not store its weights: pass a matrix or a list of edges.")
    edges = sp.coo_array(sp.triu(sp.csr_array(graph.weights), k=1))
    edges.eliminate_zeros()
    first, second, is_near = edges.row.astype(np.int64), edges.col.astype(np.int64), edges.data > 0
    if others == "far":
        return NearLists(first[is_near], second[is_near], graph.n_nodes), graph.nodes
    for kind, present in (("positive", is_near.any()), ("negative", not is_near.all())):
        if not present:
            raise ValueError(
                f"the graph has no edge of {kind} weight, but a code needs near and far pairs: add some, or pass "
                "others='far' where the near pairs are complete."
            )
    return ListedPairs(first, second, is_near, graph.n_nodes), graph.nodes
