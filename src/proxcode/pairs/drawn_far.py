"""Far pairs drawn for refinement, where nearly all pairs are far and most of them hardly count.

The weight of a far pair falls quickly with its Hamming distance h. The pairs that decide are many fewer than all, but
which ones they are changes with every bit:

1. The samples are put into a random circle. Each sample is compared with those that follow it, up to `MAX_COMPARED`: a
   random choice of all pairs, and all of them where there are few samples.
2. A far pair among these is drawn with a probability in proportion to its weight, at most 1, and counts with its weight
   divided by the probability. The sum over the pairs drawn is unbiased. Pairs with a probability below 1 have the same
   weight once they are drawn: none of them stands for many others.
3. Near pairs are few and listed: all of them count.
"""

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.graph import QuadraticForm, Vector
from proxcode.hamming import GrowingCode
from proxcode.pairs._count_kernels import draw_far
from proxcode.pairs._field_kernels import add_listed_field
from proxcode.pairs.base import Table
from proxcode.pairs.groups import pair_distances, sum_fields
from proxcode.utils.rows import Index
from proxcode.utils.threads import in_threads

# Samples that each sample is compared with.
MAX_COMPARED = 2500
# Far pairs that are drawn for each sample.
FAR_PER_SAMPLE = 100
# Pairs that one thread compares at a time; all of them may be drawn.
BLOCK_PAIRS = 1_000_000


class DrawnForm(QuadraticForm):
    """All near pairs of a list, and far pairs drawn at random.

    Parameters
    ----------
    near_pairs : tuple of two ndarrays of int
        The near pairs.
    lists : tuple of two ndarrays of int
        `indptr` and `indices`: row by row, the near samples of each sample in ascending order.
    code : GrowingCode
    near, far : ndarrays of shape (n_bits + 1,)
        Weights by Hamming distance.
    n_far : ndarray of shape (n_bits + 1,)
        Numbers of far pairs by Hamming distance; an estimate will do.
    rng : Generator
    """

    def __init__(
        self,
        near_pairs: tuple[Index, Index],
        lists: tuple[Index, Index],
        code: GrowingCode,
        near: Table,
        far: Table,
        n_far: Vector,
        rng: np.random.Generator,
    ) -> None:
        self.n_nodes = n = code.words.shape[1]
        n_compared = min(MAX_COMPARED, n // 2)
        # One over the share of all pairs that are compared.
        factor = (n - 1) / (2 * n_compared)
        share = shares(-far, n_far / factor, FAR_PER_SAMPLE * n)
        circle = rng.permutation(n)
        circle = np.concatenate([circle, circle[:n_compared]])
        words = np.ascontiguousarray(code.words[:, circle])
        starts = rng.random(n)
        n_rows = max(1, BLOCK_PAIRS // n_compared)

        def draw(first_row: int) -> NDArray[np.int32]:
            last_row = min(first_row + n_rows, n)
            drawn = np.empty((3, (last_row - first_row) * n_compared), np.int32)
            n_drawn = draw_far(words, circle, n_compared, share, *lists, starts, first_row, last_row, *drawn)
            return drawn[:, :n_drawn].copy()

        first, second, distance = np.hstack(in_threads(draw, range(0, n, n_rows)))
        far_weights = factor * np.divide(far, share, out=np.zeros_like(far), where=share > 0)
        near_weights = near[pair_distances(code.words, *near_pairs)]
        self.first = np.concatenate([near_pairs[0].astype(np.int32), first])
        self.second = np.concatenate([near_pairs[1].astype(np.int32), second])
        self.weight = np.concatenate([near_weights, far_weights[distance]])

    def matvec(self, x: Vector) -> Vector:
        def add_field(stripe: int, n_stripes: int, out: Vector) -> None:
            m = len(self.weight)
            start, stop = stripe * m // n_stripes, (stripe + 1) * m // n_stripes
            add_listed_field(self.first, self.second, self.weight, start, stop, x, out)

        # A listed pair takes about as long as ten pairs of a matrix, whose samples are read in order.
        return sum_fields(add_field, self.n_nodes, 10 * len(self.weight))


def shares(weight: Table, counts: Table, n_drawn: float) -> Table:
    """Return the probabilities, in proportion to `weight` and at most 1, with which `n_drawn` pairs are drawn."""
    share, is_whole = (weight > 0).astype(np.float64), np.zeros(len(weight), bool)
    # Every round but the last finds another weight whose pairs are all drawn.
    for _ in range(len(weight) + 1):
        rest, mass = n_drawn - counts[is_whole].sum(), (weight * counts)[~is_whole].sum()
        if rest <= 0 or mass <= rest * np.finfo(float).tiny:
            return share
        share = np.where(is_whole, 1.0, weight * (rest / mass))
        if (share <= 1).all():
            return share
        is_whole |= share > 1
        share = np.minimum(share, 1.0)
    return share
