"""Parts: what several partitions agree on, as the points of a smaller graph.

Where good partitions that were found apart agree on both ends of an edge, same side or not, the best one is likely to
do so too. Points joined by such edges make a part, and only whole parts are still to be flipped: the graph of parts is
small, and its best partition combines what is good in each of them (Houdayer and Martin call this renormalization).
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from proxcode.cut.graph import SparseGraph
from proxcode.cut.result import Side


def graph_of_parts(graph: SparseGraph, found: list[Side]) -> tuple[SparseGraph, NDArray[np.int32]]:
    """Return the graph of parts, and the part of each point.

    Its weights are such that all parts together stand for found[0]: a partition c of the parts is the partition
    found[0] * c[part] of the points, and its value is less by what lies within parts.
    """
    W, n = graph.weights, graph.n_points
    rows, columns = np.repeat(np.arange(n), np.diff(W.indptr)), W.indices
    agrees = np.ones(len(columns), bool)
    for side in found[1:]:
        turned = side * found[0]
        agrees &= turned[rows] == turned[columns]
    joined = sp.csr_array((agrees[agrees], (rows[agrees], columns[agrees])), shape=(n, n))
    n_parts, part = connected_components(joined, directed=False)
    weights = W.data * found[0][rows] * found[0][columns]
    between = part[rows] != part[columns]
    ends = part[rows[between]], part[columns[between]]
    return SparseGraph(sp.csr_array((weights[between], ends), shape=(n_parts, n_parts))), part
