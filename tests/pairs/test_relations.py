"""Relations against dense n x n matrices."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proxcode.pairs.relations import ListedNear, ListedPairs, SameClass, SharedClass

from proxcode.hamming import GrowingCode, pack, to_words


def same_class(rng, n):
    classes = rng.integers(0, 4, n)
    return SameClass(classes), np.where(classes[:, None] == classes, 1, -1)


def shared_class(rng, n):
    indicator = rng.random((n, 70)) < 0.02
    return SharedClass(to_words(pack(indicator))), np.where(indicator @ indicator.T, 1, -1)


def listed_near(rng, n):
    near = np.triu(rng.random((n, n)) < 0.1, 1)
    return ListedNear(*np.nonzero(near), n), np.where(near | near.T, 1, -1)


def listed_pairs(rng, n):
    Y = np.triu(rng.choice([-1, 0, 1], size=(n, n)), 1)
    first, second = np.nonzero(Y)
    return ListedPairs(first, second, Y[first, second] > 0, n), Y + Y.T


RELATIONS = [same_class, shared_class, listed_near, listed_pairs]
N_BITS = [1, 63, 64, 65, 130]
seeds = st.integers(0, 2**32 - 1)


def make_case(relation, seed, n, n_bits, n_distinct=7):
    """Return a relation, a code with many duplicates, its dense near/far matrix Y and its Hamming distances H."""
    rng = np.random.default_rng(seed)
    rel, Y = relation(rng, n)
    Y = Y.copy()
    np.fill_diagonal(Y, 0)
    bits = rng.integers(0, 2, (n_distinct, n_bits))[rng.integers(0, n_distinct, n)]
    H = (bits[:, None] != bits).sum(axis=2)
    near, far = rng.uniform(0.1, 1, n_bits + 1), -rng.uniform(0.1, 1, n_bits + 1)
    units = rel.units(GrowingCode.from_packed(pack(bits), n_bits))
    W = np.where(Y > 0, near[H], np.where(Y < 0, far[H], 0.0))
    return units, units.graph(near, far), Y, H, W


def random_side(rng, n):
    return rng.choice(np.array([-1, 1], np.int8), n)


@pytest.fixture
def set_threads():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one core")
    before = numba.get_num_threads()
    yield numba.set_num_threads
    numba.set_num_threads(before)


@pytest.mark.parametrize("relation", [same_class, shared_class])
def test_duplicates_are_merged_into_units(relation):
    units, *_ = make_case(relation, 0, 90, 20)
    assert units.size.max() > 1
    assert units.size.sum() == 90
    np.testing.assert_array_equal(np.bincount(units.unit_of), units.size)


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_counts(relation, n_bits):
    units, _, Y, H, _ = make_case(relation, 1, 90, n_bits)
    upper = np.triu_indices(90, 1)
    near, far = units.counts()
    np.testing.assert_array_equal(near, np.bincount(H[upper][Y[upper] > 0], minlength=n_bits + 1))
    np.testing.assert_array_equal(far, np.bincount(H[upper][Y[upper] < 0], minlength=n_bits + 1))


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_products_degrees_and_value(relation, n_bits, rng):
    _, graph, _, _, W = make_case(relation, 2, 90, n_bits)
    x, side = rng.normal(size=90), random_side(rng, 90)
    np.testing.assert_allclose(graph.matvec(x), W @ x, atol=1e-11)
    np.testing.assert_allclose(graph.absolute_degrees(), np.abs(W).sum(axis=1))
    np.testing.assert_allclose(graph.local_fields(side, graph.field(side)), W @ side, atol=1e-11)
    assert graph.value(side) == pytest.approx(side @ W @ side, abs=1e-9)


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_kept_field_equals_a_fresh_one_after_flips(relation, n_bits, rng):
    _, graph, _, _, W = make_case(relation, 3, 90, n_bits)
    side = random_side(rng, 90)
    expected, field = side.copy(), graph.field(side)
    for point in rng.integers(0, 90, 300):
        graph.flip(int(point), side, field)
        expected[point] *= -1
    np.testing.assert_array_equal(side, expected)
    np.testing.assert_allclose(field, graph.field(side), atol=1e-10)
    np.testing.assert_allclose(graph.local_fields(side, field), W @ side, atol=1e-10)


@pytest.mark.parametrize("relation", RELATIONS)
def test_next_improving_is_the_first_point_whose_flip_gains(relation, rng):
    _, graph, _, _, W = make_case(relation, 4, 90, 20)
    side = random_side(rng, 90)
    field = graph.field(side)
    gains = np.flatnonzero(side * (W @ side) < -0.5)
    assert 0 < len(gains) < 90
    for start in range(91):
        expected = gains[gains >= start].min(initial=90)
        assert graph.next_improving(side, field, np.full(90, 0.5), start) == expected


@settings(deadline=None, max_examples=25)
@given(seeds, st.integers(1, 40), st.sampled_from([0, 1, 8, 63, 64, 65, 128, 130]), st.integers(1, 40))
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_entry_of_the_matrix(relation, seed, n, n_bits, n_distinct):
    _, graph, _, _, W = make_case(relation, seed, n, n_bits, n_distinct)
    np.testing.assert_allclose(np.column_stack([graph.matvec(column) for column in np.eye(n)]), W, atol=1e-12)


@pytest.mark.parametrize("relation", RELATIONS)
def test_small_weights_keep_their_digits_beside_the_largest(relation, rng):
    bits = np.tril(np.ones((30, 30), int))
    H = (bits[:, None] != bits).sum(axis=2)
    rel, Y = relation(rng, 30)
    table = np.exp(-40.0 * np.arange(31))
    W = np.where(np.eye(30), 0, np.abs(Y)) * table[H]
    x = rng.uniform(1, 2, 30)
    graph = rel.units(GrowingCode.from_packed(pack(bits), 30)).graph(table, table)
    np.testing.assert_allclose(graph.matvec(x), W @ x, rtol=1e-12, atol=0)


@pytest.mark.parametrize("n_bits", [20, 130])
@pytest.mark.parametrize("relation", RELATIONS)
def test_same_results_for_any_number_of_threads(relation, n_bits, set_threads):
    def results(n_threads):
        set_threads(n_threads)
        rng = np.random.default_rng(6)
        units, graph, *_ = make_case(relation, 5, 600, n_bits, n_distinct=300)
        x, side = rng.normal(size=600), random_side(rng, 600)
        return *units.counts(), graph.matvec(x), graph.absolute_degrees(), graph.field(side)

    for one, two in zip(results(1), results(2), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("relation", RELATIONS)
def test_graph_stays_valid_when_the_code_grows(relation, rng):
    rel, _ = relation(rng, 30)
    code = GrowingCode.from_packed(pack(rng.integers(0, 2, (30, 64))), 64)
    graph = rel.units(code).graph(np.ones(65), -np.ones(65))
    x = rng.normal(size=30)
    before = graph.matvec(x)
    code.append(random_side(rng, 30))
    np.testing.assert_array_equal(graph.matvec(x), before)
