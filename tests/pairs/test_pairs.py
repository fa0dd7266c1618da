"""Near and far pairs against dense n x n matrices."""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcode.hamming import GrowingCode, pack, to_words
from proxcode.pairs import FoundPairs, ListedPairs, NearLists, SameClassPairs, SharedLabelPairs
from proxcode.proximity import GivenPairs, SameLabel, SharedLabel, WithinRadius
from proxcode.utils.labels import label_masks
from proxcode.weights import DifferenceWeights


def same_class(rng, n):
    classes = rng.integers(0, 4, n)
    return SameClassPairs(classes), np.where(classes[:, None] == classes, 1, -1)


def shared_label(rng, n):
    indicator = rng.random((n, 70)) < 0.02
    return SharedLabelPairs(to_words(pack(indicator))), np.where(indicator @ indicator.T, 1, -1)


def near_lists(rng, n):
    near = np.triu(rng.random((n, n)) < 0.1, 1)
    return NearLists(*np.nonzero(near), n), np.where(near | near.T, 1, -1)


def listed_pairs(rng, n):
    Y = np.triu(rng.choice([-1, 0, 1], size=(n, n)), 1)
    first, second = np.nonzero(Y)
    return ListedPairs(first, second, Y[first, second] > 0, n), Y + Y.T


KINDS = [same_class, shared_label, near_lists, listed_pairs]
N_BITS = [1, 63, 64, 65, 130]
seeds = st.integers(0, 2**32 - 1)


def make_case(kind, seed, n, n_bits, n_distinct=7):
    """Return coded pairs with many equal codes, their graph, and dense: near and far Y, distances H, weights W."""
    rng = np.random.default_rng(seed)
    pairs, Y = kind(rng, n)
    Y = Y.copy()
    np.fill_diagonal(Y, 0)
    bits = rng.integers(0, 2, (n_distinct, n_bits))[rng.integers(0, n_distinct, n)]
    H = (bits[:, None] != bits).sum(axis=2)
    near, far = rng.uniform(0.1, 1, n_bits + 1), -rng.uniform(0.1, 1, n_bits + 1)
    coded = pairs.with_code(GrowingCode.from_packed(pack(bits), n_bits))
    W = np.where(Y > 0, near[H], np.where(Y < 0, far[H], 0.0))
    return coded, coded.graph(near, far), Y, H, W


def random_partition(rng, n):
    return rng.choice(np.array([-1, 1], np.int8), n)


@pytest.mark.parametrize("kind", [same_class, shared_label])
def test_equal_samples_are_merged_into_groups(kind):
    groups, *_ = make_case(kind, 0, 90, 20)
    assert groups.size.max() > 1
    assert groups.size.sum() == 90
    np.testing.assert_array_equal(np.bincount(groups.group_of), groups.size)


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("kind", KINDS)
def test_counts(kind, n_bits):
    coded, _, Y, H, _ = make_case(kind, 1, 90, n_bits)
    upper = np.triu_indices(90, 1)
    near, far = coded.counts()
    np.testing.assert_array_equal(near, np.bincount(H[upper][Y[upper] > 0], minlength=n_bits + 1))
    np.testing.assert_array_equal(far, np.bincount(H[upper][Y[upper] < 0], minlength=n_bits + 1))


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("kind", KINDS)
def test_products_degrees_and_value(kind, n_bits, rng):
    _, graph, _, _, W = make_case(kind, 2, 90, n_bits)
    x, partition = rng.normal(size=90), random_partition(rng, 90)
    np.testing.assert_allclose(graph.matvec(x), W @ x, atol=1e-11)
    np.testing.assert_allclose(graph.absolute_degrees(), np.abs(W).sum(axis=1))
    np.testing.assert_allclose(graph.local_fields(partition, graph.field(partition)), W @ partition, atol=1e-11)
    assert graph.value(partition) == pytest.approx(partition @ W @ partition, abs=1e-9)


@pytest.mark.parametrize("n_bits", N_BITS)
@pytest.mark.parametrize("kind", KINDS)
def test_kept_field_equals_a_fresh_one_after_flips(kind, n_bits, rng):
    _, graph, _, _, W = make_case(kind, 3, 90, n_bits)
    partition = random_partition(rng, 90)
    expected, field = partition.copy(), graph.field(partition)
    for node in rng.integers(0, 90, 300):
        graph.flip(int(node), partition, field)
        expected[node] *= -1
    np.testing.assert_array_equal(partition, expected)
    np.testing.assert_allclose(field, graph.field(partition), atol=1e-10)
    np.testing.assert_allclose(graph.local_fields(partition, field), W @ partition, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_next_improving_is_the_first_sample_whose_flip_gains(kind, rng):
    _, graph, _, _, W = make_case(kind, 4, 90, 20)
    partition = random_partition(rng, 90)
    field = graph.field(partition)
    gains = np.flatnonzero(partition * (W @ partition) < -0.5)
    assert 0 < len(gains) < 90
    for start in range(91):
        expected = gains[gains >= start].min(initial=90)
        assert graph.next_improving(partition, field, np.full(90, 0.5), start) == expected


@pytest.mark.parametrize("n_bits", [20, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_flips_each_sample_in_turn_that_gains(kind, n_bits, rng):
    _, graph, _, _, W = make_case(kind, 5, 90, n_bits)
    tolerance = np.full(90, 0.5)
    for _ in range(5):
        partition = random_partition(rng, 90)
        expected, field, n_flips = partition.astype(float), graph.field(partition), 0
        for node in range(90):
            if expected[node] * (W[node] @ expected) < -0.5:
                expected[node] *= -1
                n_flips += 1
        assert graph.sweep(partition, field, tolerance) == n_flips > 0
        np.testing.assert_array_equal(partition, expected)
        np.testing.assert_allclose(graph.local_fields(partition, field), W @ partition, atol=1e-10)


@settings(deadline=None, max_examples=25)
@given(seeds, st.integers(1, 40), st.sampled_from([0, 1, 8, 63, 64, 65, 128, 130]), st.integers(1, 40))
@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_of_the_matrix(kind, seed, n, n_bits, n_distinct):
    _, graph, _, _, W = make_case(kind, seed, n, n_bits, n_distinct)
    np.testing.assert_allclose(np.column_stack([graph.matvec(column) for column in np.eye(n)]), W, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_small_weights_keep_their_digits_bepartition_the_largest(kind, rng):
    bits = np.tril(np.ones((30, 30), int))
    H = (bits[:, None] != bits).sum(axis=2)
    pairs, Y = kind(rng, 30)
    table = np.exp(-40.0 * np.arange(31))
    W = np.where(np.eye(30), 0, np.abs(Y)) * table[H]
    x = rng.uniform(1, 2, 30)
    graph = pairs.with_code(GrowingCode.from_packed(pack(bits), 30)).graph(table, table)
    np.testing.assert_allclose(graph.matvec(x), W @ x, rtol=1e-12, atol=0)


@pytest.mark.parametrize("n_bits", [20, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_same_results_for_any_number_of_threads(kind, n_bits, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.groups.PARALLEL_PAIRS", 0)
    monkeypatch.setattr("proxcode.pairs.groups.LISTED_PAIRS", 1000)

    def results(n_threads):
        monkeypatch.setattr(joblib, "cpu_count", lambda: n_threads)
        rng = np.random.default_rng(6)
        coded, graph, *_ = make_case(kind, 5, 600, n_bits, n_distinct=300)
        x, partition = rng.normal(size=600), random_partition(rng, 600)
        return *coded.counts(), graph.matvec(x), graph.absolute_degrees(), graph.field(partition)

    for one, two, three in zip(results(1), results(2), results(3), strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("kind", KINDS)
def test_work_in_stripes_and_in_pieces_sums_over_all_pairs(kind, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.groups.PARALLEL_PAIRS", 0)
    # Rows of more than two pieces of 512 columns; a group for nearly every sample.
    coded, graph, Y, H, W = make_case(kind, 3, 1300, 40, n_distinct=1200)
    x, partition = np.random.default_rng(0).normal(size=1300), random_partition(np.random.default_rng(1), 1300)
    np.testing.assert_allclose(graph.matvec(x), W @ x, rtol=1e-10, atol=1e-10)
    for counts, sign in zip(coded.counts(), (1, -1), strict=True):
        np.testing.assert_array_equal(counts, np.bincount(H[np.triu(sign == Y, 1)], minlength=41))
    field = graph.field(partition)
    for node in (0, 511, 512, 513, 700, 1299):
        graph.flip(node, partition, field)
    np.testing.assert_allclose(graph.local_fields(partition, field), W @ partition, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_graph_stays_valid_when_the_code_grows(kind, rng):
    pairs, _ = kind(rng, 30)
    code = GrowingCode.from_packed(pack(rng.integers(0, 2, (30, 64))), 64)
    graph = pairs.with_code(code).graph(np.ones(65), -np.ones(65))
    x = rng.normal(size=30)
    before = graph.matvec(x)
    code.append(random_partition(rng, 30))
    np.testing.assert_array_equal(graph.matvec(x), before)


@pytest.mark.parametrize("kind", KINDS)
def test_forms_of_all_samples_are_their_graphs(kind, rng):
    pairs, _ = kind(rng, 30)
    coded = pairs.with_code(GrowingCode.from_packed(pack(rng.integers(0, 2, (30, 9))), 9))
    tables = DifferenceWeights().tables(0.0, 9)
    form, samples = coded.form(*tables)
    x = rng.normal(size=30)
    assert samples == coded.samples == slice(None)
    np.testing.assert_array_equal(form.matvec(x), coded.graph(*tables).matvec(x))


@pytest.mark.parametrize(
    "proximity", [SameLabel(), SharedLabel(), WithinRadius(radius=1.0), GivenPairs()], ids=lambda p: type(p).__name__
)
def test_pairs_of_a_subset_are_a_part_of_all_pairs(proximity, rng):
    X = rng.normal(size=(80, 2))
    y = (rng.random((80, 5)) < 0.3).astype(int) if isinstance(proximity, SharedLabel) else rng.integers(0, 4, 80)
    if isinstance(proximity, GivenPairs):
        signs = np.triu(rng.choice([-1, 0, 1], size=(80, 80)), 1)
        proximity = GivenPairs(sp.csr_array(signs))
    pairs = proximity.fit(X, y).find_pairs(X, y).pairs
    code = GrowingCode.from_packed(pack(rng.integers(0, 2, (80, 3))), 3)
    samples = np.sort(rng.choice(80, 30, replace=False))
    tables = DifferenceWeights().tables(0.0, 3)

    def dense(pairs, code):
        graph = pairs.with_code(code).graph(*tables)
        return np.column_stack([graph.matvec(column) for column in np.eye(pairs.n_samples)])

    whole, part = dense(pairs, code), dense(pairs.take(samples), code.take(samples))
    np.testing.assert_allclose(part, whole[np.ix_(samples, samples)], atol=1e-12)


@pytest.mark.parametrize("kind", [same_class, shared_label, near_lists])
def test_near_rows(kind, rng):
    pairs, Y = kind(rng, 40)
    queries = np.array([3, 39, 0, 3])
    near = pairs.near_rows(queries)
    assert near.shape == (4, 40)
    apart = queries[:, None] != np.arange(40)
    np.testing.assert_array_equal(near[apart], (Y[queries] > 0)[apart])


def test_near_rows_are_not_defined_where_pairs_are_unknown(rng):
    assert listed_pairs(rng, 10)[0].near_rows(np.arange(3)) is None


def test_labels_of_classes_are_their_indicator(rng):
    classes = rng.integers(0, 7, 50)
    labels = SameClassPairs(classes).labels()
    assert sp.issparse(labels)
    np.testing.assert_array_equal(labels.toarray(), classes[:, None] == np.arange(classes.max() + 1))


@pytest.mark.parametrize("n_labels", [3, 64, 70, 130])
def test_labels_of_label_sets_are_their_indicator_without_empty_columns(n_labels, rng):
    indicator = rng.random((50, n_labels)) < 0.2
    indicator[:, 1] = False
    labels = SharedLabelPairs(label_masks(indicator)).labels()
    assert sp.issparse(labels)
    np.testing.assert_array_equal(labels.toarray(), indicator[:, indicator.any(axis=0)])


@pytest.mark.parametrize("kind", [near_lists, listed_pairs])
def test_listed_pairs_have_no_labels(kind, rng):
    assert kind(rng, 10)[0].labels() is None


@pytest.mark.parametrize(
    ("kind", "n_cuts"),
    [
        (same_class, [8, 8, 4, 1, 1]),
        (shared_label, [8, 8, 4, 1, 1]),
        (listed_pairs, [8, 8, 4, 1, 1]),
        (near_lists, [1] * 5),
    ],
)
def test_fewer_cuts_are_tried_for_later_bits_and_one_for_near_lists(kind, n_cuts, rng):
    pairs, _ = kind(rng, 10)
    assert [pairs.n_cuts(n_bits) for n_bits in (0, 7, 15, 63, 200)] == n_cuts


def test_found_pairs_are_those_of_the_samples_that_take_part():
    pairs = NearLists(np.array([0]), np.array([1]), 5)
    with pytest.raises(ValueError, match="pairs of 5 samples, but 4 samples take part"):
        FoundPairs(np.arange(4), pairs)
