"""Parts: what several partitions agree on, as the points of a smaller graph.

Where good partitions that were found apart agree on both ends of an edge, same side or not, the best one is likely to
do so too. Points joined by such edges make a part, and only whole parts are still to be flipped: the graph of parts is
small, and its best partition combines what is good in each of them (Houdayer and Martin call this renormalization).
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from proxcode.cut.graph import SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.result import Partition


def graph_of_parts(graph: SignedGraph, found: list[Partition]) -> tuple[SparseGraph, NDArray[np.int32]]:
    """Return the graph of parts, and the part of each point.

    Its weights are such that all parts together stand for found[0]: a partition c of the parts is the partition
    found[0] * c[part] of the points, and its value is less by what lies within parts.
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
