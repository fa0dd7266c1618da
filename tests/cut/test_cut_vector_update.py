"""Vector update with a limit of its steps and with a diagonal of the user's own."""

import numpy as np
import pytest
from sklearn.base import clone

from helpers.cut_graphs import HiddenGraph, best_value, random_weights
from proxcode.cut import DenseGraph, Restarts, VectorUpdate, as_graph, signed_cut


class Counted(DenseGraph):
    """A graph that keeps the partitions that it is multiplied by."""

    def __init__(self, W):
        super().__init__(W)
        self.visited = []

    def matvec(self, x):
        self.visited.append(x.copy())
        return super().matvec(x)


def random_partition(rng, n):
    return rng.choice(np.array([-1, 1], np.int8), n)


def positive_semidefinite(rng, n, rank):
    X = rng.normal(size=(n, rank))
    return X @ X.T


def transcribed(W, b, diagonal, max_iter):
    """Return the partitions of Algorithm 1, in plain NumPy."""
    visited = [b]
    for _ in range(max_iter):
        b = np.where((W + np.diag(diagonal)) @ b * b < 0, -b, b)
        visited.append(b)
    return visited


@pytest.mark.parametrize("shift", [None, 0, 0.5, 3.0])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 7])
def test_steps_are_limited(shift, max_iter, rng):
    for _ in range(10):
        graph = as_graph(random_weights(rng, 60))
        update = VectorUpdate(max_iter=max_iter, shift=shift).improve(graph, random_partition(rng, 60), rng)
        assert 1 <= update.sweeps <= max_iter


def test_a_cycle_of_partitions_ends_at_the_limit():
    # Two enemies on the same side: both change sides in each step.
    graph, together = Counted(np.array([[0.0, -1.0], [-1.0, 0.0]])), np.ones(2, np.int8)
    update = VectorUpdate(max_iter=50, shift=0).improve(graph, together, np.random.default_rng(0))
    assert (update.sweeps, update.flips, update.value) == (50, 100, -2.0)
    assert len(graph.visited) <= 52
    apart = VectorUpdate(shift=0).improve(graph, np.array([1, -1], np.int8), np.random.default_rng(0))
    assert (apart.sweeps, apart.value) == (1, 2.0)


@pytest.mark.parametrize("form", [DenseGraph, HiddenGraph])
@pytest.mark.parametrize("shift", [None, 0, 0.1, 1.0, 20.0])
def test_the_result_is_the_best_partition_visited(shift, form, rng):
    for max_iter in (1, 2, 5, 40):
        W, start = np.rint(3 * random_weights(rng, 30)), random_partition(rng, 30)
        update = VectorUpdate(max_iter=max_iter, shift=shift).improve(form(W), start.copy(), rng)
        diagonal = np.full(30, -np.linalg.eigvalsh(W)[0] + 1e-6 if shift is None else shift)
        visited = transcribed(W, start, diagonal, max_iter)
        assert update.value == max(b @ W @ b for b in visited) >= start @ W @ start
        assert update.value == update.partition @ W @ update.partition


def test_small_shifts_do_lower_the_value_on_the_way(rng):
    # Otherwise the test above would show nothing.
    lowered = 0
    for _ in range(20):
        W, start = random_weights(rng, 30), random_partition(rng, 30)
        values = [b @ W @ b for b in transcribed(W, start, np.zeros(30), 40)]
        lowered += values[-1] < max(values) - 1e-9
    assert lowered > 5


def test_own_diagonal_of_a_positive_semidefinite_matrix_ends_in_a_fixed_point():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W, start = positive_semidefinite(rng, 40, 15), random_partition(rng, 40)
        graph = Counted(W)
        update = VectorUpdate(shift=W.diagonal()).improve(graph, start, rng)
        # With its own diagonal, W needs no shift: b <- sign(Wb).
        assert (update.partition * (W @ update.partition) >= -1e-9).all()
        values = [b @ W @ b for b in graph.visited]
        assert (np.diff(values) >= -1e-8).all()
        assert 1 < update.sweeps < 1000


def test_shift_of_zero_on_positive_semidefinite_weights_ends_as_the_default_does():
    # Without a diagonal only W = 0 is positive semidefinite: no node has a reason to change.
    start = np.array([1, -1, 1, 1, -1], np.int8)
    for shift in (None, 0):
        update = VectorUpdate(shift=shift).improve(as_graph(np.zeros((5, 5))), start, np.random.default_rng(0))
        np.testing.assert_array_equal(update.partition, start)
        assert update.sweeps == 1


def test_the_smallest_eigenvalue_as_a_number_is_the_default(rng):
    W = random_weights(rng, 50)
    for _ in range(10):
        start = random_partition(rng, 50)
        by_default = VectorUpdate().improve(as_graph(W), start, rng)
        by_number = VectorUpdate(shift=-np.linalg.eigvalsh(W)[0] + 1e-8).improve(as_graph(W), start, rng)
        np.testing.assert_array_equal(by_default.partition, by_number.partition)
        assert by_default.sweeps == by_number.sweeps


def test_one_number_is_the_same_as_one_for_each_node(rng):
    W, start = random_weights(rng, 40), random_partition(rng, 40)
    found = [VectorUpdate(shift=shift).improve(as_graph(W), start, rng) for shift in (2, [2.0] * 40)]
    np.testing.assert_array_equal(found[0].partition, found[1].partition)


def test_a_given_shift_needs_no_eigenvalue(rng, monkeypatch):
    monkeypatch.setattr("proxcode.cut.restarts.diagonal_shift", None)
    W = random_weights(rng, 12)
    cut = signed_cut(W, search=Restarts(update=VectorUpdate(shift=1.0), n_starts=20), random_state=0)
    assert cut.value <= best_value(W) + 1e-9


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"max_iter": 0}, ValueError, "max_iter=0: expected an integer of at least 1"),
        ({"max_iter": 2.5}, TypeError, "max_iter=2.5: expected an integer"),
        ({"shift": -1}, ValueError, "shift=-1: expected a number of at least 0"),
        ({"shift": np.nan}, ValueError, "shift=nan: expected a number of at least 0"),
        ({"shift": "large"}, TypeError, "shift='large': expected a number"),
        ({"shift": [1.0, 2.0]}, ValueError, r"shift has shape \(2,\): expected one number, or one for each of 3 nodes"),
        ({"shift": [1.0, -2.0, 1.0]}, ValueError, "shift holds -2.0: expected numbers of at least 0"),
        ({"shift": [1.0, np.inf, 1.0]}, ValueError, "shift holds inf"),
        ({"shift": ["a", "b", "c"]}, TypeError, "shift has the type"),
    ],
)
def test_wrong_parameters_are_refused(parameters, error, message, rng):
    with pytest.raises(error, match=message):
        VectorUpdate(**parameters).improve(as_graph(random_weights(rng, 3)), np.ones(3, np.int8), rng)


def test_clones_keep_the_parameters():
    update = clone(VectorUpdate(max_iter=5, shift=0.5))
    assert (update.max_iter, update.shift) == (5, 0.5)
