"""Exact reduction of sparse graphs: fewer points, the same best partitions.

While one of these rules applies to a point v,

1. dominating edge: where |w_vu| is at least the sum of v's other |w_vk|, some best partition has b_v = sign(w_vu) b_u;
   v is merged into u, its other edges with it. Points with one or two edges always have such an edge;
2. star-triangle: where v has three edges, its best side makes |a b1 + b b2 + c b3|, which for all sides of its three
   neighbours is a constant plus three weights between them; v is replaced by these;
3. a point without edges is put aside.

Undone in reverse order, every point takes the side its neighbours ask for. The best value of the smaller graph plus a
constant is that of the whole one, and a partition that no flip improves stays so.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.annealing._reduction_kernels import reduce_edges, restore_sides
from proxcode.cut.graph import SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.result import Partition

DENSE_REDUCIBLE = 2000  # points up to which dense graphs are tried for dominating edges: it takes a list of all edges
SCAN_LIMIT = 512  # rule 1 is tried on points with up to so many edges: a hub would be read again for each neighbour


@dataclass(frozen=True)
class Reduction:
    """A graph made smaller, and the way back.

    Attributes
    ----------
    graph : SparseGraph or None
        What is left; None where nothing is.
    points : ndarray of int
        Its points in the whole graph.
    n_nodes : int
        Points of the whole graph.
    taken, neighbors, deciding : ndarrays
        The points taken away in order, up to three neighbours of each, and the weights that decide its side.
    """

    graph: SparseGraph | None
    points: NDArray[np.int64]
    n_nodes: int
    taken: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    deciding: NDArray[np.float64]

    @classmethod
    def of(cls, graph: SignedGraph) -> "Reduction":
        """Reduce a graph."""
        first, second, weight = graph.edges()
        weight = weight.copy()
        taken, neighbors, deciding, is_left, target = reduce_edges(graph.n_nodes, first, second, weight, SCAN_LIMIT)
        is_kept = np.ones(graph.n_nodes, bool)
        is_kept[taken] = False
        points = np.flatnonzero(is_kept)
        number = np.cumsum(is_kept) - 1
        ends = number[target.reshape(-1, 2)[is_left]]
        left = sparse_graph(len(points), ends[:, 0], ends[:, 1], weight[is_left]) if len(points) else None
        return cls(left, points, graph.n_nodes, taken, neighbors, deciding)

    def restore(self, partition: Partition) -> Partition:
        """Return the partition of the whole graph that belongs to one of what is left."""
        whole = np.ones(self.n_nodes, np.int8)
        whole[self.points] = partition
        restore_sides(self.taken, self.neighbors, self.deciding, whole)
        return whole

    def constant(self, graph: SignedGraph) -> float:
        """Return what b'Wb of the whole graph is above that of what is left, for restored partitions."""
        partition = np.ones(len(self.points), np.int8)
        left = self.graph.value(partition) if self.graph is not None else 0.0
        return graph.value(self.restore(partition)) - left
