"""Exact reduction of sparse graphs: fewer nodes, the same optimal value up to a constant.

These rules are applied to any node v as long as possible:

1. dominating edge: if |w_vu| is at least the sum of v's other |w_vk|, some optimal partition has b_v = sign(w_vu) b_u;
   v is merged into u together with its other edges. Nodes with one or two edges always have such an edge;
2. star-triangle: if v has three edges, its best sign contributes |a b1 + b b2 + c b3|, which for all signs of its three
   neighbours equals a constant plus three weights between them; v is replaced by these weights;
3. a node without edges is removed.

The rules are undone in reverse order, and every node takes the best sign given its neighbours. A restored partition is
therefore at least as good as any other partition that agrees with it on the nodes left. Its value is that of the
reduced graph plus a constant, and a partition that no flip improves keeps that property.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.annealing._reduction_kernels import reduce_edges, restore_signs
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.graph import SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.result import Partition


@dataclass(frozen=True)
class Reduction:
    """A reduced graph, and the steps to restore a partition of the whole graph.

    Attributes
    ----------
    graph : SparseGraph or None
        The reduced graph; None if no node is left.
    nodes : ndarray of int
        Nodes of the whole graph that are left, in the order of the reduced graph.
    n_nodes : int
        Number of nodes of the whole graph.
    removed, neighbors, deciding : ndarrays
        The removed nodes in order, up to three neighbours of each, and the weights that decide its sign.
    """

    graph: SparseGraph | None
    nodes: NDArray[np.int64]
    n_nodes: int
    removed: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    deciding: NDArray[np.float64]

    @classmethod
    def of(cls, graph: SignedGraph) -> "Reduction":
        """Reduce a graph."""
        first, second, weight = graph.edges()
        weight = weight.copy()
        removed, neighbors, deciding, is_left, target = reduce_edges(
            graph.n_nodes, first, second, weight, TUNING.scan_limit
        )
        is_kept = np.ones(graph.n_nodes, bool)
        is_kept[removed] = False
        nodes = np.flatnonzero(is_kept)
        number = np.cumsum(is_kept) - 1
        ends = number[target.reshape(-1, 2)[is_left]]
        left = sparse_graph(len(nodes), ends[:, 0], ends[:, 1], weight[is_left]) if len(nodes) else None
        return cls(
            graph=left, nodes=nodes, n_nodes=graph.n_nodes, removed=removed, neighbors=neighbors, deciding=deciding
        )

    def restore(self, partition: Partition) -> Partition:
        """Return the best partition of the whole graph that agrees with a partition of the reduced graph."""
        whole = np.ones(self.n_nodes, np.int8)
        whole[self.nodes] = partition
        restore_signs(self.removed, self.neighbors, self.deciding, whole)
        return whole

    def constant(self, graph: SignedGraph) -> float:
        """Return the difference of b'Wb between the whole and the reduced graph, for restored partitions."""
        partition = np.ones(len(self.nodes), np.int8)
        left = self.graph.value(partition) if self.graph is not None else 0.0
        return graph.value(self.restore(partition)) - left
