"""The temperatures of annealing, and partitions that are combined from two."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from helpers.cut_graphs import random_weights
from proxcode.cut import BitUpdate, DenseGraph, RandomGuess, SparseGraph
from proxcode.cut.annealing.schedule import Schedule
from proxcode.cut.annealing.walks import SparseWalk, walk_on

SCHEDULE = Schedule(scale=2.0, cold=0.1, melting=5.0)


def test_a_cooling_falls_from_hot_to_cold_in_equal_steps():
    temperatures = SCHEDULE.cooling(50)
    assert (len(temperatures), temperatures[0], temperatures[-1]) == (50, 0.45 * 2.0, 0.1)
    np.testing.assert_allclose(np.diff(temperatures), (0.1 - 0.9) / 49)


def test_melting_comes_first_where_it_is_hotter():
    temperatures = SCHEDULE.melting_and_cooling(50)
    assert (len(temperatures), temperatures[0], temperatures[-1]) == (50, 5.0, 0.1)
    assert (np.diff(temperatures) < 0).all()
    np.testing.assert_array_equal(temperatures[5:], SCHEDULE.cooling(45))
    colder = Schedule(scale=2.0, cold=0.1, melting=0.5)
    np.testing.assert_array_equal(colder.melting_and_cooling(50), colder.cooling(50))


def test_a_reheat_starts_at_a_lower_temperature_and_falls_to_cold(rng):
    starts = []
    for _ in range(100):
        temperatures = SCHEDULE.reheated(20, rng)
        assert (len(temperatures), temperatures[-1]) == (20, 0.1)
        assert (np.diff(temperatures) < 0).all()
        starts.append(temperatures[0])
    assert 0.3 <= min(starts) < 0.32
    assert 0.58 < max(starts) <= 0.6


def test_the_better_one_of_two_partitions_is_adopted_in_each_part_of_a_graph(rng):
    blocks = [random_weights(rng, 16) for _ in range(12)]
    W = scipy.linalg.block_diag(*blocks)
    walk = walk_on(SparseGraph(sp.csr_array(W)), rng)
    assert isinstance(walk, SparseWalk)

    def local_maximum():
        return BitUpdate().improve(DenseGraph(W), RandomGuess().guess(DenseGraph(W), rng), rng).partition

    for _ in range(5):
        # No flip improves them: what is adopted of either stays as it is.
        partitions = [local_maximum() for _ in range(2)]
        values = [[b @ V @ b for b, V in zip(np.split(p, 12), blocks, strict=True)] for p in partitions]
        best = np.max(values, axis=0).sum()
        assert best > np.sum(values, axis=1).max()
        combined = walk.combine(*partitions)
        np.testing.assert_allclose(combined @ W @ combined, best)
        np.testing.assert_allclose(walk.value, best)
