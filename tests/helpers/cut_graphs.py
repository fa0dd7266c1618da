"""Graphs and a clock that several tests of the cut share."""

import numpy as np
from hypothesis import strategies as st

from proxcode.cut import DenseGraph, SignedGraph

seeds = st.integers(0, 2**32 - 1)


class HiddenGraph(SignedGraph):
    """A graph whose weights are not stored: only the interface of `SignedGraph` is visible."""

    def __init__(self, W):
        self.hidden = DenseGraph(W)
        self.n_nodes = len(W)

    def matvec(self, x):
        return self.hidden.matvec(x)

    def absolute_degrees(self):
        return self.hidden.absolute_degrees()

    def field(self, partition):
        return self.hidden.field(partition)

    def local_fields(self, partition, field):
        return field

    def next_improving(self, partition, field, tolerance, start):
        return self.hidden.next_improving(partition, field, tolerance, start)

    def flip(self, node, partition, field):
        self.hidden.flip(node, partition, field)


@st.composite
def signed_matrices(draw):
    n = draw(st.integers(1, 16))
    rng = np.random.default_rng(draw(seeds))
    density = draw(st.sampled_from([0.1, 0.3, 0.6, 1.0]))
    kind = draw(st.sampled_from(["normal", "sign", "negative", "whole", "wide"]))
    weights = {
        "normal": lambda: rng.normal(size=(n, n)),
        "sign": lambda: rng.choice([-1.0, 1.0], (n, n)),
        "negative": lambda: -np.ones((n, n)),
        "whole": lambda: rng.integers(-3, 4, (n, n)).astype(float),
        "wide": lambda: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-8, 8, (n, n)),
    }[kind]()
    W = np.triu(weights * (rng.random((n, n)) < density), 1)
    return W + W.T


def assert_no_flip_improves(cut, W):
    assert (cut.partition * (W @ cut.partition) >= -1e-9 * np.abs(W).sum(axis=1)).all()


class Ticks:
    """A clock that advances by `tick` at each call."""

    def __init__(self, tick=1.0):
        self.now, self.tick = 0.0, tick

    def __call__(self):
        self.now += self.tick
        return self.now


def random_weights(rng, n, density=1.0):
    """Symmetric normal weights without a diagonal."""
    W = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), 1)
    return W + W.T


def best_value(W):
    """Return the largest b'Wb by trying all partitions."""
    n = len(W)
    b = 1.0 - 2.0 * (np.arange(2 ** (n - 1)) >> np.arange(n)[:, None] & 1)
    return (b * (W @ b)).sum(axis=0).max()
