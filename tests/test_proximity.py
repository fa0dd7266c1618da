"""Which pairs each proximity finds near, far and unknown."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import clone

from proxcode.hamming import GrowingCode
from proxcode.pairs import FoundPairs, SameClassPairs
from proxcode.proximity import GivenPairs, Nearest, Proximity, SameLabel, SharedLabel, WithinRadius, default_proximity
from proxcode.storage.state import State
from proxcode.utils.labels import class_numbers

seeds = st.integers(0, 2**32 - 1)


def signs(proximity, n, y=None, X=None):
    """Return the samples that take part and their dense matrix of +1 near, -1 far, 0 unknown."""
    X = np.zeros((n, 1)) if X is None else X
    samples, pairs = proximity.fit(X, y).find_pairs(X, y)
    graph = pairs.with_code(GrowingCode(len(samples))).graph(np.ones(1), -np.ones(1))
    return samples, np.column_stack([graph.matvec(column) for column in np.eye(len(samples))]).astype(int)


def near_far(near):
    near = np.asarray(near, dtype=bool)
    return np.where(near, 1, -1) * ~np.eye(len(near), dtype=bool)


def near_by_radius(proximity, X):
    return signs(proximity, len(X), X=X)[1] > 0


# SameLabel


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 1, 3],
        np.array([1, 2, 1, 3], np.uint8),
        np.array([1.5, 2.0, 1.5, 3.0]),
        ["a", "b", "a", "c"],
        np.array(["a", "b", "a", "c"]),
        np.array(["a", "b", "a", "c"], object),
        [("a", 1), ("b", 1), ("a", 1), ("a", 2)],
        [("a",), ("a", "b"), ("a",), ()],
        np.array([[1], [2], [1], [3]]),
        pd.Series([1, 2, 1, 3], index=[9, 8, 7, 6]),
        pd.Series(["a", "b", "a", "c"], dtype="category"),
        pd.DataFrame({"label": ["a", "b", "a", "c"]}),
        pl.Series([1, 2, 1, 3]),
        pl.Series(["a", "b", "a", "c"]),
    ],
)
def test_equal_labels_are_near_whatever_they_are(y):
    samples, Y = signs(SameLabel(), 4, y)
    np.testing.assert_array_equal(samples, range(4))
    np.testing.assert_array_equal(Y, near_far([[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]))


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "a", "b"],
        ["a", float("nan"), "a", "b"],
        ["a", pd.NA, "a", "b"],
        [("a", 1), None, ("a", 1), ("b", 1)],
        np.array(["a", None, "a", "b"], object),
        np.array([1.0, np.nan, 1.0, 2.0]),
        np.array([1.0, np.nan, 1.0, 2.0], np.float32),
        pd.Series([1, pd.NA, 1, 2], dtype="Int64"),
        pd.Series(["a", None, "a", "b"]),
        pd.Series(["a", None, "a", "b"], dtype="category"),
        pl.Series([1, None, 1, 2]),
        pl.Series(["a", None, "a", "b"]),
    ],
)
def test_missing_labels_take_no_part(y):
    samples, Y = signs(SameLabel(), 4, y)
    np.testing.assert_array_equal(samples, [0, 2, 3])
    np.testing.assert_array_equal(Y, near_far([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))


@pytest.mark.parametrize(
    "form", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y, float), lambda y: np.array(y, np.int8)]
)
def test_minus_one_means_no_label_unless_declared_otherwise(form):
    y = form([-1, 0, -1, 0, 7])
    np.testing.assert_array_equal(SameLabel().read(y), [-1, 0, -1, 0, 1])
    np.testing.assert_array_equal(signs(SameLabel(), 5, y)[0], [1, 3, 4])
    as_class = SameLabel(unlabelled=None)
    np.testing.assert_array_equal(signs(as_class, 5, y)[0], range(5))
    assert signs(as_class, 5, y)[1][0, 2] == 1


@pytest.mark.parametrize("form", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y)[:, None]])
@pytest.mark.parametrize("y", [[-1, 1, 1, -1], [-1, 0], [-1.0, 5.0, np.nan], [1, -1, 1]])
def test_minus_one_and_one_other_label_are_refused(form, y):
    X, y = np.zeros((len(y), 1)), form(y)
    with pytest.raises(ValueError, match=r"^y holds -1 and one other label.*SameLabel\(unlabelled=None\), on the comm"):
        SameLabel().find_pairs(X, y)
    pairs = SameLabel(unlabelled=None).find_pairs(X, y).pairs
    assert sorted(set(pairs.classes.tolist())) == [0, 1]


def test_minus_one_and_other_labels_are_refused_only_where_one_class_would_be_left():
    for y in ([3, 3], [3, None], ["-1", "b"], [0, 1], [True, False], [-2, 3], [-1, 3, 4]):
        SameLabel().find_pairs(np.zeros((len(y), 1)), y)
    for y in (["a", -1], [-1, (1, 2), -1], [None, -1, "a", ""]):
        with pytest.raises(ValueError, match="y holds -1 and one other label"):
            SameLabel().find_pairs(np.zeros((len(y), 1)), y)
    # Any other value is named on purpose.
    np.testing.assert_array_equal(SameLabel(unlabelled=0).find_pairs(np.zeros((3, 1)), [0, 1, 1]).samples, [1, 2])


def test_a_later_batch_may_have_samples_of_one_class_and_some_without_a_label():
    fitted = SameLabel().fit(np.zeros((4, 1)), [3, 4, -1, 4])
    numbers, labels = fitted.numbered([-1, 4, "", 5])
    assert (numbers.tolist(), labels) == ([-1, 1, -1, 2], [3, 4, 5])
    assert fitted.numbered([-1, 4])[0].tolist() == [-1, 1]


BLANKS = [["", "a", "b", "a"], ["  ", "a", "b", "a"], ["\t\n", "a", "b", "a"]]


@pytest.mark.parametrize("y", BLANKS)
@pytest.mark.parametrize("unlabelled", [-1, None, "?", ""])
def test_blank_strings_are_missing_labels_in_all_forms(y, unlabelled):
    forms = [list, tuple, np.array, pd.Series, pl.Series, lambda y: np.array(y, object), lambda y: np.array(y, "S")]
    forms += [lambda y: np.array(y, np.dtypes.StringDType()), lambda y: [label.encode() for label in y], pd.Categorical]
    for form in forms:
        np.testing.assert_array_equal(SameLabel(unlabelled).read(form(y)), [-1, 0, 1, 0])


def test_spaces_around_a_label_are_part_of_it():
    for form in (list, np.array):
        np.testing.assert_array_equal(SameLabel().read(form([" a", "a", "a "])), [0, 1, 2])


def missing_by_definition(label, unlabelled):
    """The rule of `SameLabel` in words of Python, for one label."""
    is_nan, is_blank = isinstance(label, float) and math.isnan(label), isinstance(label, str) and not label.strip()
    return label is None or is_nan or is_blank or (unlabelled is not None and label == unlabelled)


LABELS = st.one_of(st.none(), st.integers(-2, 2), st.just(float("nan")), st.text("a ", max_size=2), st.just(-1.0))


@given(st.lists(LABELS, max_size=8), st.sampled_from([None, -1, "a", 0]))
def test_missing_labels_are_those_of_the_definition(y, unlabelled):
    missing = [missing_by_definition(label, unlabelled) for label in y]
    given_labels = {label for label, is_missing in zip(y, missing, strict=True) if not is_missing}
    classes = SameLabel(unlabelled).read(y)
    assert ((classes == -1) == missing).all()
    assert len(set(classes.tolist()) - {-1}) == len(given_labels)
    if unlabelled == -1 and len(given_labels) == 1 and -1 in y:
        with pytest.raises(ValueError, match="one other label"):
            SameLabel(unlabelled).find_pairs(np.zeros((len(y), 1)), y)


@pytest.mark.parametrize("unlabelled", ["?", 7, ("x", 1)])
def test_unlabelled_of_another_type_than_the_labels_matches_none(unlabelled):
    for y in ([1, 2], ["a", "b"], np.array([1, 2]), np.array(["a", "b"])):
        np.testing.assert_array_equal(class_numbers(y, unlabelled), [0, 1])


def test_unlabelled_may_be_a_string():
    np.testing.assert_array_equal(class_numbers(np.array(["?", "a", "?", "b"]), "?"), [-1, 0, -1, 1])
    np.testing.assert_array_equal(class_numbers(["?", "a", "?", "b"], "?"), [-1, 0, -1, 1])


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3), st.text("ab", max_size=1), st.tuples(st.booleans()))))
def test_class_numbers_are_equal_where_labels_are(y):
    classes = class_numbers(y)
    for i, a in enumerate(y):
        assert (classes[i] == -1) == (a in (None, ""))
        for j, b in enumerate(y):
            assert (classes[i] == classes[j]) == (a == b or {a, b} == {None, ""})


def test_rare_classes_are_named():
    y, X = np.repeat(["red", "green", "blue", "grey"], [100, 100, 19, 100]), np.zeros((319, 1))
    named = r"classes blue \(19\) have few samples beside a median of 100 .*SameLabel\(balanced=True\)"
    for labels in (y, y.tolist(), pd.Series(y, index=np.arange(319) + 7), y[:, None], [*y[1:], None]):
        with pytest.warns(UserWarning, match=r"blue \(19\)|" + named):
            SameLabel().fit(X, labels)
    with pytest.warns(UserWarning, match=named):
        SameLabel().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SameLabel(balanced=True).fit(X, y)
        SameLabel(unlabelled="blue").fit(X, y)
        SameLabel().fit(X, np.arange(319))
        SameLabel().fit(X, np.append(y[1:], "blue"))


def test_many_rare_classes_are_counted():
    y = np.concatenate([np.repeat(np.arange(20), 100), np.arange(100, 112)])
    with pytest.warns(UserWarning, match=r"109 \(1\) and 2 more have few"):
        SameLabel().fit(np.zeros((len(y), 1)), y)


# SharedLabel


FORMS = [np.asarray, np.ndarray.tolist, sp.csr_array, sp.csc_matrix, sp.coo_array, pd.DataFrame]


@pytest.mark.parametrize("n_labels", [1, 3, 63, 64, 65, 130])
@pytest.mark.parametrize("form", FORMS)
def test_a_shared_label_is_near(n_labels, form, rng):
    y = (rng.random((30, n_labels)) < 2 / (n_labels + 2)).astype(int)
    samples, Y = signs(SharedLabel(), 30, form(y))
    np.testing.assert_array_equal(samples, range(30))
    np.testing.assert_array_equal(Y, near_far(y @ y.T > 0))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32])
@pytest.mark.parametrize("form", FORMS)
def test_an_indicator_may_have_any_real_dtype(form, dtype):
    y = np.array([[1, 0], [1, 1], [0, 1]], dtype)
    np.testing.assert_array_equal(signs(SharedLabel(), 3, form(y))[1], [[0, 1, -1], [1, 0, 1], [-1, 1, 0]])


def test_a_sample_without_label_is_far_from_all():
    y = np.array([[0, 0], [0, 0], [1, 0], [1, 1]])
    np.testing.assert_array_equal(
        signs(SharedLabel(), 4, y)[1], near_far([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    )


def test_the_last_of_many_labels_counts():
    y = np.zeros((3, 200), int)
    y[[0, 2], 199] = 1
    assert signs(SharedLabel(), 3, y)[1][0].tolist() == [0, -1, 1]


def test_stored_zeros_are_no_labels():
    y = sp.csr_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([0, 0]))), shape=(2, 1))
    assert y.nnz == 2
    assert signs(SharedLabel(), 2, y)[1][0, 1] == -1


# WithinRadius


@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "cosine"])
def test_given_radius(metric, n_features, rng):
    X = rng.normal(size=(60, n_features))
    distance = pdist(X, metric)
    radius = np.median(distance) + 1e-6
    near = near_by_radius(WithinRadius(radius=radius, metric=metric), X)
    np.testing.assert_array_equal(near, squareform(distance <= radius))


def test_a_pair_at_the_very_radius_is_near():
    corners = np.array(np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])).reshape(3, 8).T
    for squared in (1, 2, 3):
        near = near_by_radius(WithinRadius(radius=np.sqrt(squared)), corners)
        np.testing.assert_array_equal(near, squareform(pdist(corners, "sqeuclidean") <= squared))


@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_samples_are_near_at_any_radius(n_features, dtype, rng):
    X = np.repeat(rng.normal(size=(20, n_features)), 3, axis=0).astype(dtype)
    near = near_by_radius(WithinRadius(radius=1e-3), X)
    np.testing.assert_array_equal(near, squareform(pdist(X) == 0))


@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "cosine"])
@pytest.mark.parametrize("mean_neighbors", [1, 4, 6])
def test_found_radius_gives_exactly_the_mean_number_of_neighbors(metric, mean_neighbors, n_features):
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(60, n_features))
        proximity = WithinRadius(mean_neighbors=mean_neighbors, metric=metric)
        near = near_by_radius(proximity, X)
        assert near.sum(axis=1).mean() == mean_neighbors
        nearest = np.sort(pdist(X, metric))[: 30 * mean_neighbors]
        assert proximity.radius_ == pytest.approx(nearest[-1])
        np.testing.assert_allclose(np.sort(cdist(X, X, metric)[np.triu(near)]), nearest)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(2, 40), st.integers(1, 3), st.floats(0.1, 10), st.sampled_from(["euclidean", "cityblock"]))
@example(seed=161, n=23, d=2, mean_neighbors=2.0, metric="euclidean")
def test_found_radius_is_the_smallest_that_gives_enough_on_samples_with_many_ties(seed, n, d, mean_neighbors, metric):
    X = np.random.default_rng(seed).integers(0, 4, (n, d)).astype(float)
    distance = pdist(X, metric)
    mean_neighbors = min(mean_neighbors, n - 1)
    n_pairs = max(1, round(mean_neighbors * n / 2))
    smallest = np.sort(distance)[n_pairs - 1]
    proximity = WithinRadius(mean_neighbors=mean_neighbors, metric=metric)
    near = near_by_radius(proximity, X)
    assert proximity.radius_ == pytest.approx(smallest)
    np.testing.assert_array_equal(near, squareform(distance <= smallest + 1e-9))


@pytest.mark.parametrize("n_features", [3, 20])
def test_found_radius_takes_all_duplicates_or_none(n_features, rng):
    X = np.repeat(rng.normal(size=(20, n_features)), 5, axis=0)
    near = near_by_radius(WithinRadius(mean_neighbors=2), X)
    np.testing.assert_array_equal(near, squareform(pdist(X) == 0))


@pytest.mark.parametrize("n_features", [3, 20])
def test_all_samples_equal(n_features):
    X = np.full((30, n_features), 0.1)
    assert WithinRadius().fit(X).radius_ == pytest.approx(0, abs=1e-6)


def test_a_small_set_has_a_tenth_of_its_samples_as_neighbors(rng):
    X = rng.normal(size=(80, 3))
    assert near_by_radius(WithinRadius(metric="cityblock"), X).sum(axis=1).mean() == 8


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_tiny_set_has_one_near_pair(n, rng):
    assert near_by_radius(WithinRadius(metric="cityblock"), rng.normal(size=(n, 2))).sum() == 2


def test_one_sample_is_refused_with_a_reason():
    with pytest.raises(ValueError, match=r"mean_neighbors=0.1: expected at most 0 for 1 samples"):
        WithinRadius().fit(np.zeros((1, 2)))


def test_radius_found_in_fit_holds_for_other_samples(rng):
    proximity = WithinRadius(mean_neighbors=3).fit(rng.normal(size=(50, 2)))
    X = rng.normal(size=(40, 2))
    pairs = proximity.find_pairs(X).pairs
    near, _ = pairs.with_code(GrowingCode(40)).counts()
    assert near.sum() == (pdist(X) <= proximity.radius_).sum()


def test_parameters_are_those_of_an_estimator():
    proximity = clone(WithinRadius()).set_params(radius=2, metric="cityblock")
    expected = {"radius": 2, "mean_neighbors": None, "metric": "cityblock", "metric_params": None}
    assert proximity.get_params() == expected


# GivenPairs

LISTED = [(0, 1, 1), (3, 1, -1), (3, 4, 1)]
LISTED_SIGNS = np.array([[0, 1, 0, 0], [1, 0, -1, 0], [0, -1, 0, 1], [0, 0, 1, 0]])


def as_matrix(pairs, n, scale=1.0):
    i, j, sign = np.transpose(pairs)
    return sp.coo_array((scale * sign, (i, j)), shape=(n, n))


@pytest.mark.parametrize(
    "pairs",
    [
        LISTED,
        np.array(LISTED, float),
        np.array(LISTED, np.int8),
        LISTED + [(j, i, sign) for i, j, sign in LISTED],
        LISTED + LISTED,
        [*LISTED, (2, 2, 1), (1, 1, -1)],
        as_matrix(LISTED, 6),
        as_matrix(LISTED, 6, scale=0.25).tocsr(),
        sp.csr_matrix(as_matrix(LISTED, 6) + as_matrix(LISTED, 6).T),
        as_matrix([*LISTED, (2, 2, 1), (2, 5, 0)], 6),
    ],
)
def test_listed_pairs_however_they_are_listed(pairs):
    samples, Y = signs(GivenPairs(pairs), 6)
    np.testing.assert_array_equal(samples, [0, 1, 3, 4])
    np.testing.assert_array_equal(Y, LISTED_SIGNS)


@pytest.mark.parametrize("pairs", [LISTED, as_matrix(LISTED, 6)])
def test_others_far(pairs):
    samples, Y = signs(GivenPairs(pairs, others="far"), 6)
    expected = np.zeros((6, 6), bool)
    expected[[0, 1, 3, 4], [1, 0, 4, 3]] = True
    np.testing.assert_array_equal(samples, range(6))
    np.testing.assert_array_equal(Y, near_far(expected))


@pytest.mark.parametrize("pairs", [[(0, 1), (4, 3)], [(0, 1, 1), (3, 4, 1)], as_matrix([(0, 1, 1), (3, 4, 1)], 6)])
def test_others_are_far_where_near_pairs_alone_are_listed(pairs):
    samples, Y = signs(GivenPairs(pairs), 6)
    # Two near and four far pairs: a near pair weighs as much as two far ones.
    expected = np.array([[0, 2, -1, -1], [2, 0, -1, -1], [-1, -1, 0, 2], [-1, -1, 2, 0]])
    np.testing.assert_array_equal(samples, [0, 1, 3, 4])
    np.testing.assert_array_equal(Y, expected)
    np.testing.assert_array_equal(signs(GivenPairs(pairs, others="unknown"), 6)[1], np.maximum(expected, 0) / 2)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(2, 15))
def test_any_list_of_pairs_in_any_direction(seed, n):
    rng = np.random.default_rng(seed)
    Y = np.triu(rng.choice([-1, 0, 1], size=(n, n)), 1)
    Y[0, 1] = 1
    i, j = np.nonzero(Y)
    swap = rng.random(len(i)) < 0.5
    pairs = rng.permutation(np.column_stack([np.where(swap, j, i), np.where(swap, i, j), Y[i, j]]))
    samples, found = signs(GivenPairs(pairs, others="unknown"), n)
    np.testing.assert_array_equal(samples, np.unique([i, j]))
    np.testing.assert_array_equal(found, (Y + Y.T)[np.ix_(samples, samples)])


def test_nan_in_a_pair_matrix_is_refused():
    with pytest.raises(ValueError, match=r"(?i)nan"):
        signs(GivenPairs(sp.csr_array([[0, np.nan, 1], [0, 0, 0], [0, 0, 0]])), 3)


# Common to all


@pytest.mark.parametrize(
    ("proximity", "y", "text"),
    [
        (SameLabel(), [0, 1, 1], "the same label"),
        (SharedLabel(), np.eye(3), "at least one label in common"),
        (WithinRadius(radius=0.123456), None, "euclidean distance of at most 0.1235"),
        (WithinRadius(radius=2, metric="cosine"), None, "cosine distance of at most 2"),
        (
            GivenPairs([(0, 1, 1)]),
            None,
            "listed as near; pairs not listed are unknown, or mostly far if no far pair is listed",
        ),
        (GivenPairs([(0, 1, 1)], others="unknown"), None, "listed as near; pairs not listed are unknown"),
        (GivenPairs([(0, 1, 1)], others="far"), None, "listed as near; pairs not listed are far"),
    ],
)
def test_a_proximity_describes_itself(proximity, y, text):
    assert proximity.fit(np.arange(3.0)[:, None], y).describe() == text


def test_a_proximity_of_ones_own_needs_find_pairs_alone():
    class EvenAndOdd(Proximity):
        def find_pairs(self, X, y=None):
            return FoundPairs(np.arange(len(X)), SameClassPairs(X[:, 0].astype(int) % 2))

    X = np.arange(5.0)[:, None]
    assert signs(EvenAndOdd(), 5, X=X)[1][0].tolist() == [0, -1, 1, -1, 1]
    assert EvenAndOdd().read([1, 2]) is None
    assert EvenAndOdd().describe() == "EvenAndOdd()"
    assert EvenAndOdd().state() == State()


def test_the_content_of_y_does_not_depend_on_its_form():
    for y in (np.array([7, 3, 7]), ["b", "a", "b"], pd.Series(["x", "y", "x"]), np.array([[1], [2], [1]])):
        np.testing.assert_array_equal(SameLabel().read(y), [0, 1, 0])
    indicator = np.array([[1, 0, 1], [0, 1, 0]])
    for form in FORMS:
        np.testing.assert_array_equal(SharedLabel().read(form(indicator)), [[5, 2]])


def test_the_state_of_a_radius_is_restored(rng):
    fitted, other = WithinRadius(mean_neighbors=2).fit(rng.normal(size=(30, 2))), WithinRadius(mean_neighbors=2)
    other.restore(fitted.state())
    assert other.radius_ == fitted.radius_


# The default


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (None, Nearest),
        ([0, 1, 1], SameLabel),
        (["a", "b", "b"], SameLabel),
        ([("a",), ("a", "b"), ()], SameLabel),
        (np.array([[0], [1], [1]]), SameLabel),
        (pl.Series([0, 1, 1]), SameLabel),
        (pd.Series([0, 1, 1]), SameLabel),
        ([[0, 1], [1, 0], [1, 1]], SharedLabel),
        (np.eye(3), SharedLabel),
        (sp.csr_array(np.eye(3)), SharedLabel),
        (pd.DataFrame(np.eye(3)), SharedLabel),
    ],
)
def test_default_depends_on_the_kind_of_y(y, expected):
    proximity = default_proximity(y)
    assert type(proximity) is expected
    if y is not None:
        signs(proximity, 3, y)


def test_default_understands_one_column_given_as_lists():
    y = [[0], [1], [1]]
    np.testing.assert_array_equal(signs(default_proximity(y), 3, y)[1], [[0, -1, -1], [-1, 0, 1], [-1, 1, 0]])


# Errors name the value and the remedy


@pytest.mark.parametrize(
    ("proximity", "y", "named"),
    [
        (SameLabel(), None, ["y=None", "labels", "fit(X, y)", "WithinRadius()"]),
        (SameLabel(), [0, 1], ["3 samples", "2 labels", "one label per sample"]),
        (SameLabel(), [None, None, None], ["all 3", "unlabelled", "WithinRadius()"]),
        (SameLabel(), [-1, -1, -1], ["all 3", "unlabelled", "WithinRadius()"]),
        (SameLabel(unlabelled=None), ["", " ", ""], ["all 3", "unlabelled", "WithinRadius()"]),
        (SameLabel(), np.eye(3), ["(3, 3)", "SharedLabel()"]),
        (SameLabel(), np.array(1), ["()", "one label per sample"]),
        (SameLabel(), [[1, 7], [2], [3]], ["[1, 7]", "SharedLabel()"]),
        (SameLabel(), [{1, 7}, {2}, {3}], ["{1, 7}", "SharedLabel()"]),
        (SharedLabel(), None, ["y=None", "indicator matrix", "(n_samples, n_labels)"]),
        (SharedLabel(), [0, 1, 0], ["(3, n_labels)", "(3,)"]),
        (SharedLabel(), np.eye(2), ["(3, n_labels)", "(2, 2)"]),
        (SharedLabel(), 7 * np.eye(3), ["7", "0 and 1", "MultiLabelBinarizer"]),
        (SharedLabel(), sp.csr_array(7 * np.eye(3)), ["7", "0 and 1", "MultiLabelBinarizer"]),
        (SharedLabel(), np.full((3, 2), np.nan), ["nan", "0 and 1", "MultiLabelBinarizer"]),
        (SharedLabel(), [("a", "b"), ("a", "c"), ("b", "c")], ["0 and 1", "SameLabel()"]),
        (WithinRadius(radius=-2), None, ["radius=-2", "at least 0"]),
        (WithinRadius(radius=np.nan), None, ["radius=nan", "at least 0"]),
        (WithinRadius(mean_neighbors=0), None, ["mean_neighbors=0", "above 0"]),
        (WithinRadius(metric="nearness"), None, ["nearness", "euclidean"]),
        (GivenPairs(LISTED, others="near"), None, ["others='near'", "'unknown'", "'far'"]),
        (GivenPairs(), None, ["pairs", "(i, j, +1 or -1)"]),
        (GivenPairs([]), None, ["pairs", "(i, j, +1 or -1)", "(0,)"]),
        (GivenPairs([(0,)]), None, ["(i, j, +1 or -1)", "(1, 1)"]),
        (GivenPairs([(0, 1)]), None, ["all pairs of the 2 listed samples are near", "list pairs of more samples"]),
        (GivenPairs([(0, 1), (1, 2), (2, 0)]), None, ["all pairs of the 3 listed samples are near"]),
        (GivenPairs([(0, 3)]), None, ["0 to 2", "3"]),
        (GivenPairs([("0", "1", "near")]), None, ["(i, j, +1 or -1)", "<U4"]),
        (GivenPairs([(0, 1, 5)]), None, ["third column", "+1 or -1", "5"]),
        (GivenPairs([(0, 1, 0)]), None, ["has 0 in its third column", "+1 or -1"]),
        (GivenPairs([(0, 3, 1)]), None, ["0 to 2", "3"]),
        (GivenPairs([(-1, 2, 1)]), None, ["0 to 2", "-1"]),
        (GivenPairs([(0.5, 2, 1)]), None, ["row number", "0.5"]),
        (GivenPairs([(1, 1, 1)]), None, ["no pair", "at least one near pair"]),
        (GivenPairs([(0, 1, 1), (1, 0, -1)]), None, ["(0, 1)", "near and as far", "keep one"]),
        (GivenPairs(as_matrix([(0, 1, 1), (1, 0, -1)], 3)), None, ["(0, 1)", "near and as far", "keep one"]),
        (GivenPairs(as_matrix(LISTED, 6)), None, ["(6, 6)", "3 samples", "(3, 3)"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Proximity) else None,
)
def test_errors_name_the_value_and_the_remedy(proximity, y, named):
    with pytest.raises(ValueError) as caught:
        signs(proximity, 3, y)
    assert all(word in str(caught.value) for word in named), str(caught.value)


@pytest.mark.parametrize(
    ("proximity", "message"),
    [
        (WithinRadius(radius="far"), "radius='far': expected a number of at least 0"),
        (WithinRadius(radius=True), "radius=True: expected a number of at least 0"),
        (WithinRadius(mean_neighbors="many"), "mean_neighbors='many': expected a number above 0"),
    ],
)
def test_values_of_a_wrong_type_are_type_errors(proximity, message):
    with pytest.raises(TypeError, match=message):
        signs(proximity, 3)


@pytest.mark.parametrize("mean_neighbors", [2.1, 100])
def test_more_neighbors_than_other_samples_are_refused(mean_neighbors):
    message = f"mean_neighbors={mean_neighbors}: expected at most 2 for 3 samples"
    with pytest.raises(ValueError, match=message):
        WithinRadius(mean_neighbors=mean_neighbors).fit(np.arange(3.0)[:, None])


def test_an_infinite_radius_is_refused():
    with pytest.raises(ValueError, match="radius=inf: expected a number of at least 0"):
        WithinRadius(radius=np.inf).fit(np.zeros((3, 1)))


@pytest.mark.parametrize("y", [np.empty((4, 0)), [[1, 0], [1], [0, 1], [1, 1]]], ids=["no labels", "ragged"])
def test_indicators_without_columns_or_with_ragged_rows_are_refused(y):
    with pytest.raises(ValueError, match="indicator matrix"):
        SharedLabel().find_pairs(np.zeros((4, 2)), y)


def test_nat_is_a_missing_label():
    assert class_numbers([pd.NaT, 1, pd.NaT]).tolist() == [-1, 0, -1]


def test_parameters_of_the_euclidean_metric_count(rng):
    X = rng.normal(size=(60, 3))
    squared = WithinRadius(radius=2.0, metric_params={"squared": True}).fit(X).find_pairs(X).pairs
    plain = WithinRadius(radius=2.0**0.5).fit(X).find_pairs(X).pairs
    assert sorted(zip(squared.first, squared.second, strict=True)) == sorted(
        zip(plain.first, plain.second, strict=True)
    )
