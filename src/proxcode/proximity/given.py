"""Near and far as listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.pairs import FoundPairs, ListedPairs, NearLists, NearOnlyPairs
from proxcode.pairs.near_only import held_back_of_both, hold_back
from proxcode.proximity.base import Proximity


class GivenPairs(Proximity):
    """Near and far as listed.

    Parameters
    ----------
    pairs : array of shape (m, 2) or (m, 3), or scipy.sparse matrix of shape (n, n)
        Rows (i, j) for near pairs of samples, given by their row numbers in X; or rows (i, j, +1) for near and
        (i, j, -1) for far pairs; or a matrix whose positive entries are near and whose negative entries are far pairs.
        A pair may be given in one direction or in both. Pairs (i, i) are ignored.
    others : {"unknown", "far"}, default=None
        Whether all other pairs are unknown, or all of them far: then the list is complete. None is "unknown" where far
        pairs are listed. Where only near pairs are, such as items clicked together, the list is taken for a sample of
        all near pairs, and most of the others for far.

    Notes
    -----
    Where only near pairs are listed, far pairs are sampled: two samples of near pairs, put together at random. They
    have the same total weight as the near pairs, a tenth of which is held back from learning. `radius_` of the model
    balances the near pairs held back that lie beyond it and the far pairs within it: see `near_within` and `far_within`
    of its last `BitRecord`. Samples in no pair take no part in learning; they get codes as new samples do. Some
    thousand pairs are needed before codes learned from them are better than those of distances.

    Of a list of at least 1,000 near and 1,000 far pairs a tenth is held back in the same way.
    """

    def __init__(self, pairs: Any = None, others: str | None = None) -> None:
        self.pairs = pairs
        self.others = others

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the listed pairs, and all others as far pairs if `others` says so."""
        if self.others not in (None, "unknown", "far"):
            raise ValueError(f"others={self.others!r}: expected 'unknown' or 'far'.")
        first, second, near = self._listed(len(X))
        if self.others == "far":
            return FoundPairs(np.arange(len(X)), NearLists(first[near], second[near], len(X)))
        samples, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second = place.reshape(2, -1)
        if self.others is None and near.all():
            if len(samples) * (len(samples) - 1) // 2 == len(near):
                raise ValueError(
                    f"all pairs of the {len(samples)} listed samples are near, but a code needs far pairs too: list "
                    "pairs of more samples."
                )
            return FoundPairs(samples, NearOnlyPairs(hold_back(np.vstack([first, second])), len(samples)))
        return FoundPairs(samples, ListedPairs(first, second, near, len(samples), held_back_of_both(near)))

    def describe(self) -> str:
        kind = "unknown, or mostly far if no far pair is listed" if self.others is None else self.others
        return f"listed as near; pairs not listed are {kind}"

    def _listed(self, n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return the distinct pairs first < second and whether they are near."""
        i, j, sign = self._triples(n)
        keep = (i != j) & (sign != 0)
        key = np.minimum(i, j)[keep] * n + np.maximum(i, j)[keep]
        if len(key) == 0:
            raise ValueError("pairs has no pair of different samples: list at least one near pair.")
        distinct, where = np.unique(key, return_inverse=True)
        near_votes = np.bincount(where, weights=sign[keep] > 0)
        votes = np.bincount(where)
        if (torn := (near_votes > 0) & (near_votes < votes)).any():
            a, b = divmod(int(distinct[torn][0]), n)
            raise ValueError(f"pair ({a}, {b}) is listed both as near and as far: keep one of the two.")
        return distinct // n, distinct % n, near_votes > 0

    def _triples(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        if sp.issparse(self.pairs):
            if self.pairs.shape != (n, n):
                raise ValueError(f"pairs has shape {self.pairs.shape}: expected ({n}, {n}) for {n} samples.")
            matrix = sp.coo_array(self.pairs)
            if not np.isfinite(matrix.data).all():
                raise ValueError(
                    "pairs contains NaN or infinity: use positive entries for near and negative ones for far pairs."
                )
            return matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data
        pairs = np.asarray(self.pairs)
        if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
            raise ValueError(
                f"pairs is an array of {pairs.dtype} of shape {pairs.shape}: expected rows (i, j) of near pairs, or "
                "rows (i, j, +1 or -1)."
            )
        i, j, sign = pairs.T if pairs.shape[1] == 3 else (*pairs.T, np.ones(len(pairs), np.int64))
        if not np.isin(sign, (-1, 1)).all():
            raise ValueError(f"pairs has {sign[~np.isin(sign, (-1, 1))][0]} in its third column: expected +1 or -1.")
        samples = pairs[:, :2]
        if not ((samples >= 0) & (samples < n) & (samples == np.floor(samples))).all():
            raise ValueError(
                f"pairs has row numbers from {samples.min()} to {samples.max()}: expected integers from 0 to {n - 1}."
            )
        return i.astype(np.int64), j.astype(np.int64), sign
