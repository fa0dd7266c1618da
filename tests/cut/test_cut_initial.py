"""A partition of the user's own, and initial guesses given to `signed_cut`."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cut_graphs import HiddenGraph, best_value, random_weights, seeds, signed_matrices
from proxcode.cut import (
    Annealing,
    GivenGuess,
    NoUpdate,
    RandomGuess,
    Restarts,
    VectorUpdate,
    as_graph,
    frustration,
    ising_ground_state,
    max_cut,
    signed_cut,
    sparse_graph,
)
from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.annealing.walks import GraphWalk, SparseWalk

SEARCHES = [
    None,
    Annealing(n_sweeps=1, enumerate_up_to=0),
    Annealing(n_sweeps=50),
    Restarts(),
    Restarts(update=VectorUpdate(), n_starts=3),
    Restarts(update=NoUpdate()),
]
FORMS = [np.asarray, sp.csr_array, HiddenGraph]


def random_partition(rng, n):
    return rng.choice([-1, 1], n)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@settings(deadline=None, max_examples=30)
@given(W=signed_matrices(), seed=seeds, form=st.sampled_from(FORMS))
def test_result_is_never_worse_than_the_given_partition(search, W, seed, form):
    partition = random_partition(np.random.default_rng(seed), len(W))
    cut = signed_cut(form(W), search=search, initial=partition, random_state=seed)
    assert cut.value >= as_graph(form(W)).value(partition)
    assert cut.value == pytest.approx(cut.partition @ W @ cut.partition, rel=1e-9, abs=1e-9 * np.abs(W).sum())
    assert cut.value <= cut.upper_bound


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_an_optimal_partition_stays_optimal(form, search, rng):
    W = np.rint(4 * random_weights(rng, 12, 0.7))
    partitions = 1 - 2 * (np.arange(2**11) >> np.arange(12)[:, None] & 1)
    best = partitions[:, np.argmax((partitions * (W @ partitions)).sum(axis=0))]
    cut = signed_cut(form(W), search=search, initial=best, random_state=0)
    assert cut.value == best_value(W)


@pytest.mark.parametrize("form", [sp.csr_array, HiddenGraph])
def test_annealing_starts_from_the_given_partition(form, rng, monkeypatch):
    """On the reduced graph, and on a graph whose weights are not stored."""
    W = np.zeros((300, 300))
    W[:200, :200] = random_weights(rng, 200, 0.05)
    for leaf in range(200, 300):
        W[leaf, leaf - 200] = W[leaf - 200, leaf] = 1.0
    partition, placed = random_partition(rng, 300), []
    kind = SparseWalk if form is sp.csr_array else GraphWalk

    def place(walk, given, place=kind.place):
        placed.append(np.array(given))
        place(walk, given)

    monkeypatch.setattr(kind, "place", place)
    signed_cut(form(W), search=Annealing(n_sweeps=1), initial=partition, random_state=0)
    nodes = np.arange(300) if form is HiddenGraph else Reduction.of(as_graph(W)).nodes
    assert len(nodes) == 300 if form is HiddenGraph else 100 < len(nodes) <= 200
    assert any(np.array_equal(start, partition[nodes]) for start in placed)


def test_a_good_partition_is_not_lost_by_few_sweeps(rng):
    """One sweep from scratch does not reach a partition that took many."""
    n = 2000
    edges = rng.integers(0, n, (2, 3 * n))
    graph = sparse_graph(n, *edges, rng.choice([-1.0, 1.0], 3 * n))
    good = signed_cut(graph, search=Annealing(n_sweeps=3000), random_state=0)
    short = Annealing(n_sweeps=1)
    assert signed_cut(graph, search=short, random_state=1).value < good.value
    improved = signed_cut(graph, search=short, initial=good.partition, random_state=1)
    assert improved.value >= good.value


def test_ctrl_c_before_the_first_step_returns_the_given_partition(rng, monkeypatch):
    W = random_weights(rng, 60)
    good = signed_cut(W, search=Annealing(n_sweeps=500), random_state=0)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("proxcode.cut.annealing.runs.Schedule.of", interrupted)
    cut = signed_cut(W, initial=good.partition, random_state=0)
    assert cut.status == "interrupted"
    assert cut.value >= good.value
    assert cut.value == pytest.approx(cut.partition @ W @ cut.partition)


def test_restarts_go_on_with_random_starts(rng):
    W, partition = random_weights(rng, 80), random_partition(rng, 80)
    one = signed_cut(W, search=Restarts(), initial=partition, random_state=0)
    many = signed_cut(W, search=Restarts(n_starts=30), initial=partition, random_state=0)
    assert many.value > one.value
    assert many.history[0].value == one.value


def test_the_users_search_and_partition_are_not_changed(rng):
    W, partition = random_weights(rng, 30), random_partition(rng, 30)
    before = partition.copy()
    for search in (Annealing(n_sweeps=20, enumerate_up_to=0), Restarts(RandomGuess())):
        given = search.initial
        signed_cut(W, search=search, initial=partition, random_state=0)
        assert search.initial is given
    np.testing.assert_array_equal(partition, before)


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda p: np.array(p, np.float32)])
def test_a_partition_in_any_form(form):
    assert signed_cut([(0, 1), (1, 2, -1)], search=Restarts(update=NoUpdate()), initial=form([1, 1, -1])).value == 4


def test_guesses_are_given_to_any_search(rng):
    called = []

    class Noted(RandomGuess):
        def guess(self, graph, draws):
            called.append(graph.n_nodes)
            return super().guess(graph, draws)

    W = random_weights(rng, 40)
    for search in (None, Annealing(n_sweeps=10), Restarts(n_starts=2)):
        signed_cut(W, search=search, initial=Noted(), random_state=0)
    assert called == [40] * 4
    by_search = signed_cut(W, search=Restarts(initial=RandomGuess()), random_state=0)
    by_argument = signed_cut(W, search=Restarts(), initial=RandomGuess(), random_state=0)
    np.testing.assert_array_equal(by_search.partition, by_argument.partition)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([1, -1], r"initial has shape \(2,\): expected one entry, -1 or \+1, for each of 3 nodes"),
        ([[1, -1, 1]], r"initial has shape \(1, 3\)"),
        (1, r"initial has shape \(\)"),
        ([1, 0, -1], r"initial holds .*0.*: expected -1 or \+1 for each of the 3 nodes"),
        ([1, -1, np.nan], "initial holds .*nan"),
        ([True, False, True], "initial holds .*True"),
        (["a", "b", "c"], "initial holds .*a"),
    ],
)
@pytest.mark.parametrize("form", [lambda p: p, GivenGuess])
@pytest.mark.parametrize("search", [Annealing(), Restarts()], ids=repr)
def test_bad_partitions_are_refused(search, form, initial, message):
    with pytest.raises(ValueError, match=message):
        signed_cut([(0, 1), (1, 2)], search=search, initial=form(initial))


def test_a_search_without_initial_is_refused():
    class Other:
        def solve(self, graph, rng, time_limit=None):
            return Restarts().solve(graph, rng)

    with pytest.raises(TypeError, match="has no parameter `initial`"):
        signed_cut([(0, 1)], search=Other(), initial=[1, 1])


def test_the_search_alone_chooses_update_and_starts():
    for name in ("update", "n_starts"):
        with pytest.raises(TypeError, match=name):
            signed_cut([(0, 1)], **{name: 1})


def test_other_problems_start_from_a_partition_too(rng):
    W = np.sign(random_weights(rng, 40))
    given = random_partition(rng, 40)
    still = {"search": Restarts(update=NoUpdate()), "initial": given}
    apart = np.triu(given[:, None] != given, 1)
    assert max_cut(W, **still).weight == W[apart].sum()
    assert frustration(W, **still).index == (np.where(apart, W > 0, W < 0) & np.triu(np.ones((40, 40), bool), 1)).sum()
    ground = ising_ground_state(np.ones(40), W, **still)
    np.testing.assert_array_equal(ground.spins, given)
    assert ground.energy == given.sum() + given @ W @ given / 2
    with pytest.raises(
        ValueError, match=r"initial has shape \(41,\): expected one entry, -1 or \+1, for each of 40 spins"
    ):
        ising_ground_state(np.ones(40), W, initial=np.ones(41))
