"""Near and far pairs of samples, without an n x n matrix.

1. A `Pairs` object knows which pairs of n samples are near, far or unknown: `SameClassPairs` by class,
   `SharedLabelPairs` by sets of labels, `NearLists` by a list of near pairs (all others are far) and `ListedPairs` by a
   list of near and of far pairs (all others are unknown).
2. `pairs.with_code(code)` adds the Hamming distances of a code and gives a `CodedPairs` object, which computes what
   the method needs: `counts` of pairs by distance (Step I), the signed `graph` of their weights (Step II) and the
   quadratic `form` that refinement maximises.
3. `pairs.sampled(code, n_samples, rng)` does the same over a random subset of the samples.

A pair weighs near[h] or far[h], two lookup tables over its Hamming distance h. Samples with equal rows of W form a
group (`groups.py`), and sums run over groups with their sizes.
"""

from proxcode.pairs.base import CodedPairs, FoundPairs, ListedNear, Pairs
from proxcode.pairs.labels import SameClassPairs, SharedLabelPairs
from proxcode.pairs.lists import ListedPairs, NearLists
from proxcode.pairs.near_only import NearOnlyPairs

__all__ = [
    "CodedPairs",
    "FoundPairs",
    "ListedNear",
    "ListedPairs",
    "NearLists",
    "NearOnlyPairs",
    "Pairs",
    "SameClassPairs",
    "SharedLabelPairs",
]
