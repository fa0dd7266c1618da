"""The graph of parts: sets of nodes on which several partitions agree become the nodes of a smaller graph.

If good partitions that were found independently agree on an edge, in that all of them cut it or none does, the best
partition is likely to agree too. Nodes joined by such edges form a part, and only whole parts are flipped from then on:
the graph of parts is small, and its best partition combines the best of all partitions (Houdayer and Martin call this
renormalization).
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from proxcode.cut.graph import SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.result import Partition


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
