"""Random graphs, one of each kind: lattices, random graphs, hubs, classes, heavy tails, fields.

Each pair of nodes is listed once, the smaller number first; weights are those of a max-cut.
"""

import numpy as np
from scipy.spatial import cKDTree


def unique_pairs(n, first, second):
    """Return each pair of two different nodes once, as two arrays."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    codes = np.unique((low * n + high)[low < high])
    return codes // n, codes % n


def torus(*sizes):
    nodes = np.arange(np.prod(sizes)).reshape(sizes)
    neighbors = [np.roll(nodes, 1, axis).ravel() for axis in range(len(sizes))]
    return unique_pairs(nodes.size, np.tile(nodes.ravel(), len(sizes)), np.concatenate(neighbors))


def regular(n, degree, rng):
    """Join random pairs of half-edges, so that nearly all nodes have this degree."""
    ends = rng.permutation(np.repeat(np.arange(n), degree))
    return unique_pairs(n, ends[::2], ends[1::2])


def random_pairs(n, m, rng):
    first, second = unique_pairs(n, *rng.integers(0, n, (2, 2 * m)))
    chosen = np.sort(rng.permutation(len(first))[:m])
    return first[chosen], second[chosen]


def hubs(n, degree, rng):
    """Join each new node to `degree` random ends of earlier edges (preferential attachment)."""
    ends = list(range(degree))
    pairs = []
    for node in range(degree, n):
        chosen = [ends[k] for k in rng.integers(0, len(ends), degree)]
        pairs += [(node, other) for other in chosen]
        ends += [node, *chosen]
    return unique_pairs(n, *np.array(pairs).T)


def neighbors(n, k, rng):
    """Join nodes with random positions in space if one of them is among the k nearest of the other."""
    positions = rng.normal(size=(n, 3))
    nearest = cKDTree(positions).query(positions, k + 1)[1][:, 1:]
    return unique_pairs(n, np.repeat(np.arange(n), k), nearest.ravel())


def complete(n):
    return np.triu_indices(n, 1)


def gaussian(m, rng):
    return rng.normal(size=m)


def signs(m, rng, positive=0.5):
    return np.where(rng.random(m) < positive, 1.0, -1.0)


def ones(m, rng):
    return np.ones(m)


def integers(m, rng):
    return rng.integers(-50, 51, m).astype(np.float64)


def cauchy(m, rng):
    return rng.standard_cauchy(m)


def mostly_alike(m, rng):
    """Return the weights of a signed network in which one edge in five is hostile."""
    return signs(m, rng, 0.2)


def of_classes(n, k, pairs):
    """Return weights of k classes: attraction within classes, and as much repulsion in total between them."""

    def weights(m, rng):
        labels = rng.integers(0, k, n)
        return np.where(labels[pairs[0]] == labels[pairs[1]], 1.0 - k, 1.0)

    return weights


def binary_program(n, m, rng):
    """Maximise x'Qx over x in {0, 1}^n, Q of integers up to 100; the linear part joins all nodes to one more node."""
    first, second = random_pairs(n, m, rng)
    quadratic, linear = rng.integers(-100, 101, m) / 4.0, rng.integers(-100, 101, n) / 2.0
    for ends in (first, second):
        np.add.at(linear, ends, quadratic)
    pairs = np.concatenate([first, np.arange(n)]), np.concatenate([second, np.full(n, n)])
    return n + 1, pairs, -np.concatenate([quadratic, linear])


def two_camps(n, m, noise=0.14, seed=0):
    """Return a signed network with hubs as rows (i, j, sign): two camps, a tenth of the nodes in one, and noise."""
    rng = np.random.default_rng(seed)
    first, second = hubs(n, 8, rng)
    chosen = np.sort(rng.permutation(len(first))[:m])
    first, second = first[chosen], second[chosen]
    camp = np.where(rng.random(n) < 0.9, 1, -1)
    sign = camp[first] * camp[second] * np.where(rng.random(len(first)) < noise, -1, 1)
    return np.column_stack([first, second, sign])


def made_graphs(seed=0):
    """Yield name, number of nodes and edges (first, second, weight)."""
    rng = np.random.default_rng(seed)
    classes = random_pairs(4000, 60_000, rng)
    kinds = [
        ("torus 60 x 60, Gaussian", 3600, torus(60, 60), gaussian),
        ("torus 20 x 20 x 20, signs", 8000, torus(20, 20, 20), signs),
        ("degree 3", 3000, regular(3000, 3, rng), ones),
        ("degree 10, Gaussian", 2000, regular(2000, 10, rng), gaussian),
        ("complete, Gaussian", 500, complete(500), gaussian),
        ("complete, signs", 1500, complete(1500), signs),
        ("random", 5000, random_pairs(5000, 100_000, rng), ones),
        ("random, whole numbers", 2000, random_pairs(2000, 20_000, rng), integers),
        ("random, Cauchy", 3000, random_pairs(3000, 30_000, rng), cauchy),
        ("random, large, signs", 100_000, random_pairs(100_000, 300_000, rng), signs),
        ("hubs", 3000, hubs(3000, 20, rng), ones),
        ("hubs, signs", 10_000, hubs(10_000, 5, rng), signs),
        ("hubs, mostly alike", 10_000, hubs(10_000, 5, rng), mostly_alike),
        ("neighbours, signs", 5000, neighbors(5000, 8, rng), signs),
        ("neighbours, mostly alike", 5000, neighbors(5000, 8, rng), mostly_alike),
        ("eight classes", 4000, classes, of_classes(4000, 8, classes)),
    ]
    for name, n, pairs, weights in kinds:
        yield name, n, (*pairs, weights(len(pairs[0]), rng))
    n, pairs, weight = binary_program(2500, 300_000, rng)
    yield "binary program", n, (*pairs, weight)
