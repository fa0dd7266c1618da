"""Smaller graphs: the exact reduction of sparse graphs, and the graph of parts.

The reduction has fewer nodes and the same optimal value up to a constant.

These rules are applied to any node v as long as possible:

1. dominating edge: if |w_vu| is at least the sum of v's other |w_vk|, some optimal partition has b_v = sign(w_vu) b_u;
   v is merged into u together with its other edges. Nodes with one or two edges always have such an edge;
2. star-triangle: if v has three edges, its best sign contributes |a b1 + b b2 + c b3|, which for all signs of its three
   neighbours equals a constant plus three weights between them; v is replaced by these weights;
3. a node without edges is removed.

The rules are undone in reverse order, and every node takes the best sign given its neighbours. A restored partition is
therefore at least as good as any other partition that agrees with it on the nodes left. Its value is that of the
reduced graph plus a constant, and a partition that no flip improves keeps that property.

The graph of parts: if good partitions that were found independently agree on an edge, in that all of them cut it or
none does, the best partition is likely to agree too. Nodes joined by such edges form a part, and only whole parts are
flipped from then on: the graph of parts is small, and its best partition combines the best of all partitions (Houdayer
and Martin call this renormalization).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from proxcode.cut.annealing._reduction_kernels import reduce_edges, restore_signs
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.graph import SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.result import Partition


@dataclass(frozen=True)
class Reduction:
    """A reduced graph, and the steps to restore a partition of the whole graph."""

    # None if no node is left.
    graph: SparseGraph | None
    # Nodes of the whole graph that are left, in the order of the reduced graph.
    nodes: NDArray[np.int64]
    # Number of nodes of the whole graph.
    n_nodes: int
    # The removed nodes in order, up to three neighbours of each, and the weights that decide its sign.
    steps: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

    @classmethod
    def of(cls, graph: SignedGraph) -> "Reduction":
        """Reduce a graph."""
        n, (first, second, weight) = graph.n_nodes, graph.edges()
        weight = weight.copy()
        removed, neighbors, deciding, is_left, target = reduce_edges(n, first, second, weight, TUNING.scan_limit)
        is_kept = np.ones(n, bool)
        is_kept[removed] = False
        nodes = np.flatnonzero(is_kept)
        number = np.cumsum(is_kept) - 1
        ends = number[target.reshape(-1, 2)[is_left]]
        left = sparse_graph(len(nodes), ends[:, 0], ends[:, 1], weight[is_left]) if len(nodes) else None
        return cls(graph=left, nodes=nodes, n_nodes=n, steps=(removed, neighbors, deciding))

    def restore(self, partition: Partition) -> Partition:
        """Return the best partition of the whole graph that agrees with a partition of the reduced graph."""
        whole = np.ones(self.n_nodes, np.int8)
        whole[self.nodes] = partition
        restore_signs(*self.steps, whole)
        return whole

    def constant(self, graph: SignedGraph) -> float:
        """Return the difference of b'Wb between the whole and the reduced graph, for restored partitions."""
        partition = np.ones(len(self.nodes), np.int8)
        left = self.graph.value(partition) if self.graph is not None else 0.0
        return graph.value(self.restore(partition)) - left


def graph_of_parts(graph: SignedGraph, found: list[Partition]) -> tuple[SparseGraph, NDArray[np.int32]]:
    """Return the graph of parts, and the number of the part of each node.

    A partition c of the parts represents the partition found[0] * c[part] of the nodes. Its value is smaller by the
    weights within parts, which are the same for all c.
    """
    first, second, weight = graph.edges()
    agrees = np.ones(len(weight), bool)
    for partition in found[1:]:
        turned = partition * found[0]
        agrees &= turned[first] == turned[second]
    joined = sp.coo_array((agrees[agrees], (first[agrees], second[agrees])), shape=2 * (graph.n_nodes,))
    n_parts, part = connected_components(joined, directed=False)
    weight = weight * found[0][first] * found[0][second]
    between = part[first] != part[second]
    return sparse_graph(n_parts, part[first[between]], part[second[between]], weight[between]), part
