"""Distances of a given rank and pairs within a radius against the list of all distances."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise_distances

import proxcode.pairs.within_radius as module
from proxcode import WithinRadius
from proxcode.pairs.within_radius import PairDistances

METRICS = ["euclidean", "l2", "manhattan", "cosine", "chebyshev"]


def normal(rng, n=70, d=6):
    return rng.normal(size=(n, d))


def with_duplicates(rng):
    return np.repeat(rng.normal(size=(14, 6)), 5, axis=0)


def integers(rng):
    return rng.integers(0, 3, (70, 4)).astype(float) + np.array([1, 0, 0, 0])


def equal_distances(rng):
    """Return the corners of a simplex: all distances are equal."""
    return np.eye(40)


def all_equal(rng):
    return np.full((40, 3), 0.1)


def far_from_the_origin(rng):
    return 1e6 + rng.normal(size=(70, 6))


def with_an_outlier(rng):
    X = rng.normal(size=(70, 6))
    X[13] = 1e8
    return X


def one_feature(rng):
    return rng.normal(size=(70, 1))


def two_samples(rng):
    return rng.normal(size=(2, 3))


DATA = [
    normal,
    with_duplicates,
    integers,
    equal_distances,
    all_equal,
    far_from_the_origin,
    with_an_outlier,
    one_feature,
    two_samples,
]


def all_pairs(X, metric="euclidean"):
    """Return all pairs first < second and their distances; Euclidean ones from differences."""
    first, second = np.triu_indices(len(X), 1)
    if metric in {"euclidean", "l2"}:
        return first, second, np.linalg.norm(X[first].astype(np.float64) - X[second], axis=1)
    # Two arrays, as the product of an array with itself may be rounded differently.
    return first, second, pairwise_distances(X.copy(), X.copy(), metric=metric)[first, second]


def ranks_of(n_pairs, n_ranks=15):
    return np.unique(np.linspace(1, n_pairs, n_ranks).astype(int))


def listed(pairs):
    return set(zip(*(part.tolist() for part in pairs), strict=True))


@pytest.fixture(params=["one block", "many blocks and passes"])
def limits(request, monkeypatch):
    """Run a test with the real limits, and with limits at which all steps of the algorithm are taken."""
    if request.param == "many blocks and passes":
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 500)
        monkeypatch.setattr(module, "MAX_SORTED", 3)
        monkeypatch.setattr(module, "N_BINS", 4)
        monkeypatch.setattr(module, "SAMPLE_ROWS", 5)
        monkeypatch.setattr(module, "MEASURED_PAIRS", 7)


# distance_of_rank


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", DATA)
def test_euclidean_distances_of_rank_are_the_sorted_list(make, dtype, limits, rng):
    X = make(rng).astype(dtype)
    expected = np.sort(all_pairs(X)[2])
    distances = PairDistances(X, "euclidean", None)
    for rank in ranks_of(len(expected)):
        found = distances.distance_of_rank(int(rank))
        assert isinstance(found, float)
        assert found == expected[rank - 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("make", [normal, with_duplicates, integers, equal_distances])
def test_distances_of_rank_of_other_metrics_are_the_sorted_list(make, metric, dtype, rng):
    X = make(rng).astype(dtype)
    expected = np.sort(all_pairs(X, metric)[2])
    distances = PairDistances(X, metric, None)
    for rank in ranks_of(len(expected)):
        assert distances.distance_of_rank(int(rank)) == expected[rank - 1]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [normal, with_duplicates, integers, equal_distances])
def test_the_distance_of_a_rank_is_the_smallest_within_which_there_are_as_many_pairs(make, metric, limits, rng):
    X = make(rng)
    # Products of blocks of different shapes may be rounded differently.
    expected = np.sort(all_pairs(X, metric)[2])
    distances = PairDistances(X, metric, None)
    for rank in ranks_of(len(expected), 7):
        found = distances.distance_of_rank(int(rank))
        assert found == pytest.approx(expected[rank - 1], rel=1e-12, abs=1e-14)
        assert len(distances.pairs_within(found)[0]) >= rank
        assert len(distances.pairs_within(np.nextafter(found, -1.0))[0]) < rank or found == 0


def test_every_rank_of_few_samples(limits, rng):
    X = integers(rng)[:15]
    expected = np.sort(all_pairs(X)[2])
    found = [PairDistances(X, "euclidean", None).distance_of_rank(rank) for rank in range(1, len(expected) + 1)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1e-200, 1e-162, 1e-160, 1e-150, 1e150])
@pytest.mark.parametrize("make", [normal, integers])
def test_squared_distances_at_the_limits_of_float64(make, size, limits, rng):
    X = make(rng)
    # Squares of the scaled samples would vanish or overflow.
    expected = size * np.sort(all_pairs(X)[2])
    for rank in ranks_of(len(expected), 7):
        found = PairDistances(size * X, "euclidean", None).distance_of_rank(int(rank))
        assert found == pytest.approx(expected[rank - 1], rel=1e-12, abs=0)


def test_several_passes_and_blocks_are_made(limits, rng, monkeypatch, request):
    counted = []
    count = PairDistances._count
    monkeypatch.setattr(PairDistances, "_count", lambda self, edges: counted.append(edges) or count(self, edges))
    X = normal(rng)
    PairDistances(X, "euclidean", None).distance_of_rank(1200)
    is_small = "many" in request.node.name
    assert (len(counted) > 2) is is_small
    assert all((np.diff(edges) > 0).all() for edges in counted)
    widths = [edges[-1] - edges[0] for edges in counted]
    assert (np.diff(widths) < 0).all()


def test_a_first_sample_that_holds_no_large_distance_is_no_limit(monkeypatch, rng):
    """The rank lies beyond all edges where the rows of the first sample are close together."""
    monkeypatch.setattr(module, "SAMPLE_ROWS", 1)
    monkeypatch.setattr(module, "MAX_SORTED", 10)
    X = np.concatenate([np.zeros((60, 1)), [[1e3], [2e3], [-5e3]]])
    distances = PairDistances(X, "euclidean", None)
    monkeypatch.setattr(distances, "_first_edges", lambda rank: np.array([0.0, 1.0]), raising=False)
    expected = np.sort(all_pairs(X)[2])
    for rank in (1, 1770, 1771, 1900, len(expected)):
        assert distances.distance_of_rank(rank) == expected[rank - 1]


# pairs_within


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", DATA)
def test_euclidean_pairs_within_a_radius_are_those_of_the_list(make, dtype, limits, rng):
    X = make(rng).astype(dtype)
    first, second, distance = all_pairs(X)
    for rank in ranks_of(len(distance), 8):
        radius = float(np.sort(distance)[rank - 1])
        for limit in (radius, np.nextafter(radius, -1.0), radius * 1.01):
            found = PairDistances(X, "euclidean", None).pairs_within(limit)
            within = distance <= limit
            assert len(found[0]) == within.sum()
            assert listed(found) == listed((first[within], second[within]))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_pairs_within_a_radius_of_other_metrics_are_those_of_the_list(metric, limits, rng):
    X = normal(rng)
    first, second, distance = all_pairs(X, metric)
    for share in (0.0, 0.1, 0.5, 1.0):
        radius = float(np.quantile(distance, share)) + 1e-9
        within = distance <= radius
        assert listed(PairDistances(X, metric, None).pairs_within(radius)) == listed((first[within], second[within]))


def test_parameters_of_the_metric_are_used(rng):
    X = normal(rng)
    expected = np.sort(pairwise_distances(X, metric="minkowski", p=3)[np.triu_indices(len(X), 1)])
    proximity = WithinRadius(mean_neighbors=4, metric="minkowski", metric_params={"p": 3}).fit(X)
    assert proximity.radius_ == expected[2 * len(X) - 1]


@pytest.mark.parametrize("radius", [1e154, 1e200])
def test_all_pairs_are_within_a_huge_radius(radius, rng):
    assert len(PairDistances(normal(rng), "euclidean", None).pairs_within(radius)[0]) == 70 * 69 // 2


def test_no_pair_may_be_within_a_radius(rng):
    first, second = PairDistances(normal(rng), "euclidean", None).pairs_within(0.0)
    assert len(first) == len(second) == 0


# Memory


def unit_rows(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def peak_of(function, *args):
    tracemalloc.start()
    try:
        result = function(*args)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_concentrated_distances_are_ranked_without_the_list_of_them(monkeypatch):
    """Random unit vectors in many dimensions: nearly all distances are close to sqrt(2)."""
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 1 << 18)
    monkeypatch.setattr(module, "MAX_SORTED", 1 << 16)
    X = unit_rows(4000, 100)
    n_pairs = 4000 * 3999 // 2
    full_list = 8 * n_pairs
    distances = PairDistances(X, "euclidean", None)
    for rank in (1, 200_000, n_pairs // 2, n_pairs):
        found, peak = peak_of(distances.distance_of_rank, rank)
        assert peak < full_list / 2
        within = len(distances.pairs_within(found)[0])
        assert within == rank


def test_many_equal_distances_are_ranked_without_the_list_of_them(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 1 << 17)
    monkeypatch.setattr(module, "MAX_SORTED", 1 << 12)
    X = np.random.default_rng(0).integers(0, 2, (3000, 3)).astype(float)
    distances = PairDistances(X, "euclidean", None)
    found, peak = peak_of(distances.distance_of_rank, 2_000_000)
    assert peak < 8 * 3000 * 2999 / 2 / 1.5
    assert found in {1.0, np.sqrt(2)}
    assert found == np.sort(all_pairs(X)[2])[2_000_000 - 1]


# Errors


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_too_many_near_pairs_are_refused_before_they_are_listed(metric, monkeypatch, rng):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 500)
    monkeypatch.setattr(module, "MAX_PAIRS", 1000)
    distances = PairDistances(normal(rng), metric, None)
    assert len(distances.pairs_within(distances.distance_of_rank(1000))[0]) == 1000
    message = r"radius=100: more than 1,000 pairs of 70 samples are near; set a smaller radius or fewer mean_neighbors"
    with pytest.raises(ValueError, match=message):
        distances.pairs_within(100.0)


def test_a_metric_that_is_not_defined_for_all_samples_is_refused(rng):
    X = normal(rng)
    X[3] = 2.0
    proximity = WithinRadius(metric="correlation")
    with pytest.raises(
        ValueError, match="metric='correlation' is not defined for all samples of X: drop constant rows"
    ):
        proximity.fit(X)
    with pytest.raises(ValueError, match="metric='correlation' is not defined for all samples of X"):
        WithinRadius(radius=0.5, metric="correlation").fit(X).find_pairs(X)


@pytest.mark.parametrize("size", [1e154, 1e200, 1e308])
def test_squared_norms_may_overflow(size):
    X = size * np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, 1.0]])
    assert WithinRadius(mean_neighbors=1).fit(X).radius_ == pytest.approx(np.sqrt(2) * size, rel=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_distances_that_overflow_are_refused(metric):
    X = np.array([[1e308, 0.0], [-1e308, 1.0], [0.0, 2.0], [3.0, 4.0]])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=f"metric='{metric}': distances of X overflow"):
        WithinRadius(mean_neighbors=1, metric=metric).fit(X)


@pytest.mark.parametrize("n_outliers", [1, 3])
def test_outliers_do_not_blur_the_distances_of_other_samples(rng, n_outliers):
    X = rng.normal(size=(300, 5))
    X[:n_outliers] *= 1e7
    expected = np.sort(pdist(X))
    found = PairDistances(X, "euclidean", None)
    # Without the outliers' norms in it, the rounding is far below the distances of the others.
    assert found.rounding < 1e-9
    for rank in (1, 1000, len(expected) // 2, len(expected)):
        assert found.distance_of_rank(rank) == pytest.approx(expected[rank - 1], rel=1e-14)
    assert len(found.pairs_within(1.5)[0]) == (expected <= 1.5).sum()


def test_samples_beside_many_duplicates_are_no_outliers(rng):
    X = np.vstack([np.zeros((80, 4)), rng.normal(size=(40, 4))])
    found = PairDistances(X, "euclidean", None)
    assert len(found.outliers) == 0
    assert found.distance_of_rank(5000) == pytest.approx(np.sort(pdist(X))[4999], rel=1e-14)
