"""Metrics against brute force."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from proxcode import metrics
from proxcode.hamming import pack
from proxcode.metrics import area_under_curve, mean_average_precision, precision_recall, ranking_counts


@st.composite
def histograms(draw):
    p = draw(st.integers(0, 20))
    counts = st.lists(st.integers(0, 9), min_size=p + 1, max_size=p + 1)
    return np.array(draw(counts.filter(any))), np.array(draw(counts))


def threshold_curve(near, far):
    """Precision, recall and t, pair by pair, for every threshold t that finds a pair."""
    distance = np.concatenate([np.repeat(np.arange(len(near)), near), np.repeat(np.arange(len(far)), far)])
    is_near = np.arange(len(distance)) < near.sum()
    thresholds = [t for t in range(len(near)) if (distance <= t).any()]
    found = [distance <= t for t in thresholds]
    return [is_near[f].mean() for f in found], [is_near[f].sum() / is_near.sum() for f in found], thresholds


@given(histograms())
def test_precision_recall_pair_by_pair(counts):
    curve = precision_recall(*counts)
    precision, recall, threshold = threshold_curve(*counts)
    np.testing.assert_allclose(curve.precision, precision)
    np.testing.assert_allclose(curve.recall, recall)
    np.testing.assert_array_equal(curve.threshold, threshold)


@given(histograms())
def test_area_under_curve_trapezoid_by_trapezoid(counts):
    precision, recall, _ = threshold_curve(*counts)
    precision, recall = [precision[0], *precision], [0.0, *recall]
    area = sum((recall[i] - recall[i - 1]) * (precision[i] + precision[i - 1]) / 2 for i in range(1, len(recall)))
    assert area_under_curve(precision_recall(*counts)) == pytest.approx(area)


def test_area_of_a_perfect_and_of_a_blind_code():
    assert area_under_curve(precision_recall(np.array([5, 0]), np.array([0, 5]))) == 1.0
    assert area_under_curve(precision_recall(np.array([5, 0]), np.array([15, 0]))) == 0.25


@pytest.mark.parametrize("n_queries", [3, 300])
@pytest.mark.parametrize("names", [np.arange(4), np.array(["a", "b", "c", "d"])])
def test_ranking_counts_one_by_one(n_queries, names, rng):
    queries, base = rng.integers(0, 2, (n_queries, 11)), rng.integers(0, 2, (40, 11))
    query_labels, base_labels = rng.choice(names, n_queries), rng.choice(names, 40)
    near, far = ranking_counts(pack(queries), pack(base), query_labels, base_labels)
    assert near.shape == far.shape == (n_queries, 17)
    for q in range(n_queries):
        distance, same = (queries[q] != base).sum(axis=1), base_labels == query_labels[q]
        np.testing.assert_array_equal(near[q], np.bincount(distance[same], minlength=17))
        np.testing.assert_array_equal(far[q], np.bincount(distance[~same], minlength=17))


@pytest.mark.parametrize("n_base", [1, 40])
@pytest.mark.parametrize("n_queries", [1, metrics.QUERY_BLOCK, 2 * metrics.QUERY_BLOCK + 1])
def test_count_pairs_of_arbitrary_levels_one_by_one(n_queries, n_base, rng):
    level = rng.integers(0, 6, (n_queries, n_base))
    is_near = rng.random((n_queries, n_base)) < 0.3
    own = rng.integers(0, n_base, n_queries)
    blocks = []

    def near_rows(block):
        blocks.append(range(n_queries)[block])
        return is_near[block]

    near, far = metrics.count_pairs(n_queries, 6, near_rows, level.__getitem__)
    assert [query for block in blocks for query in block] == list(range(n_queries))
    assert max(map(len, blocks)) <= metrics.QUERY_BLOCK
    near_others, far_others = metrics.count_pairs(n_queries, 6, is_near.__getitem__, level.__getitem__, own)
    assert near.dtype == far.dtype == near_others.dtype == far_others.dtype == np.int64
    for q in range(n_queries):
        others = np.arange(n_base) != own[q]
        for kind, counts, counts_of_others in ((is_near[q], near, near_others), (~is_near[q], far, far_others)):
            np.testing.assert_array_equal(counts[q], np.bincount(level[q][kind], minlength=6))
            np.testing.assert_array_equal(counts_of_others[q], np.bincount(level[q][kind & others], minlength=6))


@pytest.mark.parametrize("n", [5, 300])
def test_a_query_is_not_counted_with_itself_in_the_same_set(n, rng):
    codes, labels = pack(rng.integers(0, 2, (n, 8))), rng.integers(0, 3, n)
    near, far = ranking_counts(codes, codes, labels, labels)
    near_others, far_others = ranking_counts(codes, codes, labels, labels, same_set=True)
    itself = np.zeros_like(near)
    itself[:, 0] = 1
    np.testing.assert_array_equal(near_others, near - itself)
    np.testing.assert_array_equal(far_others, far)


def average_precision(ranking):
    hits = np.flatnonzero(ranking) + 1
    return np.mean(np.arange(1, len(hits) + 1) / hits)


def expected_average_precision(near, far):
    """Mean over all orders of the codes at equal distance."""
    groups = [[1] * r + [0] * f for r, f in zip(near, far, strict=True)]
    rankings = product(*(permutations(group) for group in groups))
    return np.mean([average_precision(np.concatenate(ranking)) for ranking in rankings])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3).filter(
        lambda g: any(np.transpose(g)[0])
    )
)
def test_mean_average_precision_over_all_orders_of_ties(groups):
    near, far = np.transpose(groups)
    assert mean_average_precision(near[None], far[None]) == pytest.approx(expected_average_precision(near, far))


@pytest.mark.parametrize(("r", "f"), [(1, 0), (1, 5), (3, 3), (5, 1), (6, 0)])
def test_mean_average_precision_of_one_group_of_ties(r, f):
    near, far = np.array([[0, r]]), np.array([[1, f]])
    assert mean_average_precision(near, far) == pytest.approx(expected_average_precision(near[0], far[0]))


def test_mean_average_precision_without_ties_is_that_of_sklearn(rng):
    is_near = rng.random((6, 50)) < 0.3
    expected = np.mean([average_precision_score(row, -np.arange(50)) for row in is_near])
    assert mean_average_precision(is_near.astype(int), (~is_near).astype(int)) == pytest.approx(expected)


def test_queries_without_a_near_code_are_left_out():
    near, far = np.array([[1, 1], [0, 0]]), np.array([[0, 2], [1, 1]])
    assert mean_average_precision(near, far) == mean_average_precision(near[:1], far[:1])


def test_perfect_ranking_scores_one():
    assert mean_average_precision(np.array([[3, 0], [7, 0]]), np.array([[0, 9], [0, 0]])) == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: precision_recall(np.zeros(3, int), np.ones(3, int)), "near has no pairs"),
        (lambda: mean_average_precision(np.zeros((2, 3), int), np.ones((2, 3), int)), "no query has a near code"),
        (lambda: ranking_counts(pack(np.eye(8)), pack(np.eye(9)), np.arange(8), np.arange(9)), "expected equal widths"),
        (lambda: ranking_counts(np.eye(8), pack(np.eye(8)), np.arange(8), np.arange(8)), "uint8"),
        (
            lambda: ranking_counts(pack(np.eye(8)), pack(np.eye(8))[:5], np.arange(8), np.arange(5), same_set=True),
            "same_set=True with 8 queries and 5 base codes; pass the same codes",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("n_query_labels", "n_base_labels"), [(8, 7), (8, 1), (7, 8), (1, 8), (9, 8)])
def test_labels_of_another_number_than_codes_are_refused(n_query_labels, n_base_labels):
    codes = pack(np.eye(8))
    with pytest.raises(ValueError, match=r"codes but . labels; pass one label per code"):
        ranking_counts(codes, codes, np.zeros(n_query_labels), np.zeros(n_base_labels))


def rankings(near, far):
    """All orders of one query's codes that agree with their distances, as sequences of near (1) and far (0)."""
    groups = [permutations([1] * r + [0] * f) for r, f in zip(near, far, strict=True)]
    return [[code for part in parts for code in part] for parts in product(*map(list, groups))]


@pytest.mark.parametrize(("near", "far"), [([1, 0, 2], [2, 1, 1]), ([0, 3, 0], [2, 1, 0]), ([2, 1, 1], [0, 0, 2])])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 50])
def test_figures_at_k_are_expectations_over_all_orders_of_equal_distances(near, far, k):
    orders = rankings(near, far)
    hits = np.mean([sum(order[:k]) for order in orders])
    precisions = [
        sum(sum(order[: q + 1]) / (q + 1) for q in range(min(k, len(order))) if order[q]) / min(k, sum(near))
        for order in orders
    ]
    counts = np.array([near]), np.array([far])
    assert metrics.precision_at(*counts, k) == pytest.approx(hits / k)
    assert metrics.recall_at(*counts, k) == pytest.approx(hits / sum(near))
    assert metrics.mean_average_precision(*counts, k) == pytest.approx(np.mean(precisions))


def test_precision_within_a_radius_counts_empty_queries_as_zero():
    near, far = np.array([[1, 0, 1, 5], [0, 0, 0, 9]]), np.array([[0, 1, 1, 0], [0, 0, 0, 1]])
    assert metrics.precision_within(near, far) == pytest.approx((2 / 4 + 0) / 2)
    assert metrics.precision_within(near, far, radius=0) == pytest.approx((1 + 0) / 2)


def test_f1_is_the_harmonic_mean_at_each_threshold():
    curve = metrics.precision_recall(np.array([0, 0, 3, 1]), np.array([0, 0, 1, 3]))
    np.testing.assert_allclose(curve.f1, [0.75, 2 * 0.5 / 1.5])
    np.testing.assert_allclose(curve.f1[curve.threshold == 2], 0.75)


def test_precision_at_counts_queries_without_a_near_code_and_recall_at_does_not():
    near, far = np.array([[2, 0], [0, 0]]), np.array([[0, 2], [1, 3]])
    assert metrics.precision_at(near, far, 2) == 0.5
    assert metrics.recall_at(near, far, 2) == metrics.mean_average_precision(near, far, 2) == 1.0


def test_rankings_without_near_codes_are_refused():
    nothing = np.zeros((2, 3), int)
    for figure in (metrics.mean_average_precision, lambda *counts: metrics.recall_at(*counts, 5)):
        with pytest.raises(ValueError, match="no query has a near code"):
            figure(nothing, nothing + 1)


@pytest.mark.parametrize("figure", [metrics.precision_at, metrics.recall_at, mean_average_precision])
@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, ValueError, "k=0: .*at least 1"),
        (-1, ValueError, "k=-1: .*at least 1"),
        (2.5, TypeError, r"k=2\.5: "),
    ],
)
def test_k_must_be_a_positive_integer(figure, k, error, message):
    with pytest.raises(error, match=message):
        figure(np.ones((2, 3), int), np.ones((2, 3), int), k)
