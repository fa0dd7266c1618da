"""`evaluate_search` against direct computation: all orders of ties, sorted distances, and sets of true neighbours."""

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import StandardScaler

from proxcode import CodePipeline, HammingIndex, ProximityPreservingCode, SameLabel, WithinRadius
from proxcode.evaluation import SearchRow, evaluate, evaluate_search, rankings
from proxcode.evaluation import measures as measures_module
from proxcode.evaluation.distances import CosineDistances, EuclideanDistances, own_rows
from proxcode.evaluation.measures import Measures
from proxcode.evaluation.rankings import CosineRanking, HammingRanking, float_counts
from proxcode.evaluation.relevance import NearestRelevance, SameLabelRelevance
from proxcode.hamming import pack
from proxcode.peers import ITQ, LSH, WCWITQ, Hadamard

NO_ONE = -np.ones(400, np.int64)


@pytest.fixture(scope="module")
def by_label(train):
    return ProximityPreservingCode(n_bits=20, random_state=0).fit(*train)


@pytest.fixture(scope="module")
def by_radius(train):
    return ProximityPreservingCode(n_bits=12, proximity=WithinRadius(), random_state=0).fit(train[0])


@pytest.fixture(scope="module")
def nearest(train):
    return ProximityPreservingCode(n_bits=24, random_state=0).fit(train[0])


def one_order(is_relevant, k):
    """Precision, recall and average precision of one ranking; None where there is nothing relevant."""
    found = [bool(relevant) for relevant in is_relevant]
    n_relevant = sum(found)
    precision = Fraction(sum(found[:k]), k)
    if not n_relevant:
        return precision, None, None
    hits = [Fraction(sum(found[: place + 1]), place + 1) for place, hit in enumerate(found) if hit]
    return precision, Fraction(sum(found[:k]), n_relevant), sum(hits, Fraction(0)) / n_relevant


def all_orders(distance, is_relevant, k):
    """Means over all orders that sort the distances."""
    rows = [
        one_order([is_relevant[j] for j in order], k)
        for order in permutations(range(len(distance)))
        if all(distance[a] <= distance[b] for a, b in pairwise(order))
    ]
    return [None if column[0] is None else sum(column) / len(column) for column in zip(*rows, strict=True)]


def means(distance, is_relevant, k):
    """Measures of several queries by `all_orders`: queries without anything relevant count in precision alone."""
    rows = [all_orders(*query, k) for query in zip(distance, is_relevant, strict=True)]
    columns = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    return [float(sum(column) / len(column)) for column in columns]


def expected_measures(distance, is_relevant, k):
    """Measures of larger sets, position by position: a sample of a tie is at each of its positions equally often."""
    precision, recall, average = [], [], []
    for of_query, relevant in zip(distance, is_relevant, strict=True):
        first = gain = found_before = 0.0
        position = 0
        for value in np.unique(of_query):
            tied = relevant[of_query == value]
            n, r = len(tied), int(tied.sum())
            for place in range(n):
                position += 1
                first += r / n if position <= k else 0
                before = found_before + place * (r - 1) / max(n - 1, 1)
                gain += r / n * (before + 1) / position
            found_before += r
        precision.append(first / k)
        if relevant.any():
            recall.append(first / relevant.sum())
            average.append(gain / relevant.sum())
    return np.mean(precision), np.mean(recall), np.mean(average)


def measured(row, k):
    return row.precision[k], row.recall[k], row.map


def find(result, method, bits=None):
    return next(row for row in result.rows if (row.method, row.bits) == (method, bits))


# Ties and small sets


@pytest.mark.parametrize("k", [1, 2, 4, 9])
@pytest.mark.parametrize("seed", range(4))
def test_codes_with_ties_against_all_orders(seed, k):
    rng = np.random.default_rng(seed)
    bits, query_bits = rng.integers(0, 2, (6, 3)), rng.integers(0, 2, (5, 3))
    labels, query_labels = rng.integers(0, 3, 6), rng.integers(0, 4, 5)
    query_labels[0] = labels[0]
    own = np.array([-1, 2, -1, 5, 0])
    relevance = SameLabelRelevance(own, labels, query_labels)
    ranking = HammingRanking(pack(bits), pack(query_bits), 3, 1)
    [total] = measures_module.measure([ranking], relevance, [k], 6)
    kept = [[j for j in range(6) if j != left_out] for left_out in own]
    distance = [(bits[rows] != query).sum(axis=1) for rows, query in zip(kept, query_bits, strict=True)]
    relevant = [labels[rows] == label for rows, label in zip(kept, query_labels, strict=True)]
    expected = means(distance, relevant, k)
    np.testing.assert_allclose([total.precision[k], total.recall[k], total.map], expected)
    assert total.n_with_relevant == sum(rows.any() for rows in relevant)


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_float_distances_with_ties_against_all_orders(seed, k):
    rng = np.random.default_rng(seed)
    distance = rng.integers(0, 3, (4, 6)).astype(np.float32)
    grades = rng.integers(0, 2, (4, 6)).astype(np.uint8)
    grades[0], grades[1, 2] = 1, 2  # nothing relevant; one sample left out
    total = Measures(SameLabelRelevance(NO_ONE[:4], None, None), [k])
    for row, grade in zip(distance, grades, strict=True):
        total.add(float_counts(row, grade, 2)[None])
    ranked = [row[grade < 2] for row, grade in zip(distance, grades, strict=True)]
    relevant = [grade[grade < 2] == 0 for grade in grades]
    np.testing.assert_allclose([total.precision[k], total.recall[k], total.map], means(ranked, relevant, k))
    assert (total.n_queries, total.n_with_relevant) == (4, sum(rows.any() for rows in relevant))


def test_true_neighbours_with_ties_any_of_which_will_do():
    base, asked = np.array([[0.0], [1.0], [-1.0], [1.0], [5.0]]), np.array([[0.0], [5.0]])
    grades = NearestRelevance(NO_ONE[:2], base, asked, [1, 2, 4]).grades(slice(None))
    # Three samples are the second nearest of the first query, two the second nearest of the other one.
    np.testing.assert_array_equal(grades, [[0, 1, 1, 1, 3], [3 - 1, 1, 3, 1, 0]])
    without_self = NearestRelevance(np.array([0, 4]), base, asked, [1, 4]).grades(slice(None))
    np.testing.assert_array_equal(without_self, [[3, 0, 0, 0, 1], [1, 0, 1, 0, 3]])


# Real codes


@pytest.mark.parametrize("block", [1, 7, 128])
def test_labels_against_direct_computation(by_label, train, new, block, monkeypatch):
    monkeypatch.setattr(measures_module, "BLOCK", block)
    X, y = new
    asked, labels = X[:60], np.where(np.arange(60) % 20, y[:60], 77)  # a few have a label that nobody has
    result = evaluate_search(by_label, *(train[0], asked), train[1], labels, k=(10, 1, 10), peers=())
    assert result.k == [1, 10]
    assert result.n_without_relevant == 3
    relevant = labels[:, None] == train[1]
    for n_bits in (8, 16, 20):
        stored, bits = by_label.transform(train[0])[:, :n_bits], by_label.transform(asked)[:, :n_bits]
        distance = (bits[:, None] != stored[None]).sum(axis=2)
        for k in (1, 10):
            expected = expected_measures(distance, relevant, k)
            np.testing.assert_allclose(measured(find(result, "proxcode", n_bits), k), expected, rtol=1e-9)
    exact = expected_measures(pairwise_distances(asked, train[0], metric="cosine"), relevant, 10)
    np.testing.assert_allclose(measured(find(result, "float cosine"), 10), exact, rtol=1e-5)
    floats = by_label.query(asked).distances(by_label.encode(train[0]))
    expected = expected_measures(floats, relevant, 10)
    np.testing.assert_allclose(measured(find(result, "proxcode, float queries", 20), 10), expected, rtol=1e-9)


def test_shared_labels_against_direct_computation(by_label, train, new):
    def indicator(y):
        return np.stack([y % 2 == 0, y % 3 == 0, y > 6, *(y == number for number in range(70))], axis=1)[:, :66] * 1

    labels, asked = indicator(train[1]), indicator(new[1][:50])
    labels[:9] = 0  # relevant to nobody
    result = evaluate_search(by_label, train[0], new[0][:50], labels, asked, k=10, peers=())
    relevant = asked @ labels.T > 0
    expected = expected_measures(pairwise_distances(new[0][:50], train[0], metric="cosine"), relevant, 10)
    np.testing.assert_allclose(measured(find(result, "float cosine"), 10), expected, rtol=1e-5)
    assert result.relevant == "at least one label in common"


def test_true_neighbours_against_sets(nearest, train, new):
    # Pixels are integers: noise leaves no samples at equal distance.
    X = train[0] + np.random.default_rng(0).normal(size=train[0].shape)
    asked = new[0][:40]
    result = evaluate_search(nearest, X, asked, k=(5, 20), peers=())
    assert result.is_nearest
    floats = nearest.query(asked).distances(nearest.encode(X))
    distance = pairwise_distances(asked, X)
    cosine = pairwise_distances(asked, X, metric="cosine")
    by_codes = (nearest.transform(asked)[:, None] != nearest.transform(X)).sum(axis=2)
    for k in (5, 20):
        true, found = ([set(row[:k]) for row in np.argsort(values, axis=1)] for values in (distance, cosine))
        recall = np.mean([len(a & b) / k for a, b in zip(true, found, strict=True)])
        row = find(result, "float cosine")
        np.testing.assert_allclose([row.recall[k], row.precision[k]], recall)
        relevant = distance <= np.sort(distance, axis=1)[:, [k - 1]]
        for method, values in (("proxcode, float queries", floats), ("proxcode", by_codes)):
            expected = expected_measures(values, relevant, k)
            np.testing.assert_allclose(find(result, method, 24).recall[k], expected[0])
            np.testing.assert_allclose(find(result, method, 24).precision[k], expected[0])
    # The relevant samples of mAP are those of the largest k.
    np.testing.assert_allclose(
        find(result, "proxcode, float queries", 24).map, expected_measures(floats, relevant, 1)[2]
    )
    # Of unit rows, the nearest have the largest cosine.
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, asked)]
    exact = find(evaluate_search(nearest, *units, k=(5, 20), peers=()), "float cosine")
    np.testing.assert_allclose([exact.recall[5], exact.recall[20], exact.map], 1)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_model_of_a_radius_goes_by_its_radius_and_metric(metric, train, new):
    proximity = WithinRadius(mean_neighbors=20, metric=metric)
    model = ProximityPreservingCode(n_bits=8, proximity=proximity, random_state=0).fit(train[0])
    result = evaluate_search(model, train[0], new[0], k=10, peers=())
    relevant = pairwise_distances(new[0], train[0], metric=metric) <= model.proximity_.radius_
    expected = expected_measures(pairwise_distances(new[0], train[0], metric="cosine"), relevant, 10)
    np.testing.assert_allclose(measured(find(result, "float cosine"), 10), expected, rtol=1e-5)
    assert result.n_without_relevant == (~relevant.any(axis=1)).sum() > 0
    assert result.relevant == f"{metric} distance of at most {model.proximity_.radius_:.4g}"
    assert not result.is_nearest


def test_peers_are_fitted_to_train_and_its_labels(by_label, train, new):
    X, y = new
    known = {"train": train[0], "train_labels": train[1]}
    result = evaluate_search(by_label, X[50:], X[:50], y[50:], y[:50], k=10, lengths=[8], **known)
    methods = ["proxcode", "proxcode, float queries", "float cosine", "LSH", "ITQ", "Hadamard", "WCW-ITQ"]
    assert [row.method for row in result.rows] == methods
    assert [row.is_peer for row in result.rows] == [False] * 3 + [True] * 4
    assert result.peers_fitted_to == "train"
    relevant = y[:50, None] == y[50:]
    for name, peer in (("LSH", LSH), ("ITQ", ITQ), ("Hadamard", Hadamard), ("WCW-ITQ", WCWITQ)):
        fitted = peer(n_bits=8, random_state=0).fit(*train)
        distance = (fitted.transform(X[:50])[:, None] != fitted.transform(X[50:])).sum(axis=2)
        expected = expected_measures(distance, relevant, 10)
        np.testing.assert_allclose(measured(find(result, name, 8), 10), expected, rtol=1e-9)
    on_database = evaluate_search(by_label, X[50:], X[:50], y[50:], y[:50], k=10, lengths=[8], peers=["LSH"])
    assert on_database.peers_fitted_to == "database"
    fitted = LSH(n_bits=8, random_state=0).fit(X[50:])
    distance = (fitted.transform(X[:50])[:, None] != fitted.transform(X[50:])).sum(axis=2)
    expected = expected_measures(distance, relevant, 10)
    np.testing.assert_allclose(measured(find(on_database, "LSH", 8), 10), expected, rtol=1e-9)


def test_peers_without_a_code_are_left_out_with_a_reason(by_label, train, new):
    result = evaluate_search(by_label, *(train[0], new[0]), train[1], new[1], train=train[0][:10], lengths=[8, 16])
    assert set(result.left_out) == {("ITQ", 16)}
    assert "expected an integer from 1 to 10" in result.left_out["ITQ", 16]
    without = evaluate_search(by_label, *(train[0], new[0]), train[1], new[1], lengths=[8], peers=["Hadamard"])
    assert "pass one label per sample" in without.left_out["Hadamard", 8]


def test_a_code_without_prefixes_has_one_length(nearest, train, new):
    result = evaluate_search(nearest, train[0], new[0][:5], peers=["LSH"])
    assert [row.bits for row in result.rows] == [24, 24, None, 24]
    assert result.k == [1, 10, 100]


# Queries in the database


def test_a_query_of_the_database_does_not_find_itself(by_label, new):
    X, y = new
    found = evaluate_search(by_label, X, X, y, y, k=1, peers=())
    assert (found.n_self, found.exclude_self) == (400, False)
    assert find(found, "float cosine").precision[1] == 1
    result = evaluate_search(by_label, X, X, y, y, k=5, peers=(), exclude_self=True)
    assert (result.n_self, result.exclude_self) == (400, True)
    others = ~np.eye(400, dtype=bool)
    distance = pairwise_distances(X, metric="cosine")[others].reshape(400, 399)
    relevant = (y[:, None] == y)[others].reshape(400, 399)
    np.testing.assert_allclose(measured(find(result, "float cosine"), 5), expected_measures(distance, relevant, 5))
    nearest_others = evaluate_search(by_label, X, X, k=5, peers=(), exclude_self=True)
    distance = pairwise_distances(X)[others].reshape(400, 399)
    limit = np.sort(distance, axis=1)[:, [4]]
    cosine = pairwise_distances(X, metric="cosine")[others].reshape(400, 399)
    expected = expected_measures(cosine, distance <= limit + 1e-9, 5)[0]
    np.testing.assert_allclose(find(nearest_others, "float cosine").recall[5], expected)


def test_the_row_of_a_query_is_found_in_any_order_and_precision():
    base = np.array([[1.5, -0.0], [2, 0], [1.5, 0], [3, 1]], np.float32)
    assert own_rows(base, np.array([[1.5, 0.0], [3, 1], [3, 2]])).tolist() == [0, 3, -1]
    # Equal sets: each row is its own, also where rows are equal.
    assert own_rows(base, base).tolist() == [0, 1, 2, 3]


def test_one_row_of_several_equal_ones_is_left_out(by_label, train):
    X, y = np.vstack([train[0][:30], train[0][:1]]), np.append(train[1][:30], train[1][0])
    result = evaluate_search(by_label, X, X[:1], y, y[:1], k=1, peers=(), exclude_self=True)
    assert result.n_self == 1
    assert find(result, "float cosine").precision[1] == 1  # its copy remains


# Limits


def test_k_beyond_the_database(by_label, train, new):
    X, y = train[0][:20], train[1][:20]
    result = evaluate_search(by_label, X, new[0][:9], y, new[1][:9], k=50, peers=())
    relevant = new[1][:9, None] == y
    for row in result.rows:
        np.testing.assert_allclose(row.precision[50], relevant.sum(axis=1).mean() / 50)
        np.testing.assert_allclose(row.recall[50], 1)
    with pytest.raises(ValueError, match=r"k=50: expected an integer from 1 to 20, the number of samples in the data"):
        evaluate_search(by_label, X, new[0][:9], k=50)
    assert evaluate_search(by_label, X, new[0][:9], peers=()).k == [1, 10]


def test_one_query_and_one_sample(by_label, train):
    X, y = train[0][:1], train[1][:1]
    result = evaluate_search(by_label, X, X, y, y, peers=())
    assert (result.n_queries, result.n_database, result.k) == (1, 1, [1])
    assert all(measured(row, 1) == (1, 1, 1) for row in result.rows)
    with pytest.raises(
        ValueError, match=r"none of the 1 queries has a relevant sample \(the same label\) in the database"
    ):
        evaluate_search(by_label, X, X, y, y, k=1, peers=(), exclude_self=True)
    with pytest.raises(ValueError, match="the database has one sample, the query itself, which is excluded"):
        evaluate_search(by_label, X, X, exclude_self=True, peers=())


def test_many_pieces_of_the_database(by_label, train, new, monkeypatch):
    from proxcode.evaluation import distances

    whole = evaluate_search(by_label, train[0], new[0][:30], k=[3, 9], peers=())
    monkeypatch.setattr(distances, "PIECE", 33)
    monkeypatch.setattr(measures_module, "BLOCK_DISTANCES", 1600)
    pieces = evaluate_search(by_label, train[0], new[0][:30], k=[3, 9], peers=())
    for row, other in zip(whole.rows, pieces.rows, strict=True):
        np.testing.assert_allclose([*measured(row, 3), row.recall[9]], [*measured(other, 3), other.recall[9]])


def test_distances_of_extreme_scales():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))
    expected = np.argsort(pairwise_distances(Q, X), axis=1)
    for scale in (1e-180, 1.0, 1e150):
        squared, rounding = EuclideanDistances(X * scale, Q * scale).squared(slice(None))
        np.testing.assert_array_equal(np.argsort(squared, axis=1), expected)
        assert (rounding < squared.min() / 1e6).all()
        cosine = CosineDistances(X * scale).of(Q * scale)
        np.testing.assert_allclose(cosine, pairwise_distances(Q, X, metric="cosine"), atol=1e-6)
    far = EuclideanDistances(X + 1e6, Q + 1e6).squared(slice(None))[0]
    np.testing.assert_allclose(far, pairwise_distances(Q, X) ** 2, rtol=1e-8)


# Samples without a label


def with_gaps(labels, every, missing):
    """Return labels of which every so many are replaced by a value that means no label."""
    gaps = np.arange(len(labels)) % every == 0
    return np.where(gaps, missing, labels.astype(object)), ~gaps


def same_measures(result, expected):
    assert [row[:6] for row in result.rows] == [row[:6] for row in expected.rows]


@pytest.mark.parametrize(
    ("missing", "proximity"), [(-1, None), (None, None), (np.nan, None), ("", None), ("?", SameLabel("?"))]
)
def test_samples_without_a_label_take_no_part(missing, proximity, by_label, train, new):
    base, is_base = with_gaps(train[1], 7, missing)
    asked, is_asked = with_gaps(new[1][:60], 5, missing)
    options = {"k": 10, "peers": ["LSH"], "lengths": [20]}
    result = evaluate_search(by_label, train[0], new[0][:60], base, asked, proximity=proximity, **options)
    assert (result.n_database, result.n_database_unlabelled) == (is_base.sum(), 500 - is_base.sum())
    assert (result.n_queries, result.n_queries_unlabelled) == (is_asked.sum(), 12)
    kept = train[0][is_base], new[0][:60][is_asked], train[1][is_base], new[1][:60][is_asked]
    same_measures(result, evaluate_search(by_label, *kept, **options))
    assert evaluate_search(by_label, *kept, **options).n_database_unlabelled == 0


def test_minus_one_may_be_a_class(by_label, train, new):
    labels, asked = np.where(train[1] == 3, -1, train[1]), np.where(new[1] == 3, -1, new[1])
    result = evaluate_search(by_label, train[0], new[0], labels, asked, proximity=SameLabel(None), peers=(), k=5)
    assert (result.n_database, result.n_database_unlabelled, result.n_queries_unlabelled) == (500, 0, 0)
    same_measures(result, evaluate_search(by_label, train[0], new[0], train[1], new[1], peers=(), k=5))
    # A model for which -1 is a class reads labels as it did in fit.
    own = ProximityPreservingCode(n_bits=4, proximity=SameLabel(None), random_state=0).fit(train[0], labels)
    assert evaluate_search(own, train[0], new[0], labels, asked, peers=(), k=5).n_database_unlabelled == 0
    # One that has not learned from labels reads them as by default.
    nearest = ProximityPreservingCode(n_bits=4, random_state=0).fit(train[0])
    assert evaluate_search(nearest, train[0], new[0], labels, asked, peers=(), k=5).n_database_unlabelled > 0


def test_a_query_does_not_find_itself_where_others_have_no_label(by_label, new):
    labels, has_label = with_gaps(new[1], 3, None)
    result = evaluate_search(by_label, new[0], new[0], labels, labels, k=5, peers=(), exclude_self=True)
    kept = new[0][has_label], new[1][has_label]
    expected = evaluate_search(by_label, kept[0], kept[0], kept[1], kept[1], k=5, peers=(), exclude_self=True)
    assert result.n_self == has_label.sum() == expected.n_self
    same_measures(result, expected)


@pytest.mark.parametrize("missing", [-1, None, np.nan])
def test_peers_that_learn_from_labels_are_fitted_to_samples_with_one(missing, by_label, train, new):
    labels, has_label = with_gaps(train[1], 4, missing)
    known = {"train": train[0], "train_labels": labels, "lengths": [8], "k": 10}
    result = evaluate_search(by_label, new[0][50:], new[0][:50], new[1][50:], new[1][:50], **known)
    pairs = evaluate(by_label, *new, **{name: known[name] for name in ("train", "train_labels", "lengths")})
    relevant = new[1][:50, None] == new[1][50:]
    for name, peer in (("LSH", LSH), ("ITQ", ITQ), ("Hadamard", Hadamard), ("WCW-ITQ", WCWITQ)):
        rows = slice(None) if name in ("LSH", "ITQ") else has_label
        bits = peer(n_bits=8, random_state=0).fit(train[0][rows], train[1][rows]).transform(new[0])
        expected = expected_measures((bits[:50, None] != bits[50:]).sum(axis=2), relevant, 10)
        np.testing.assert_allclose(measured(find(result, name, 8), 10), expected, rtol=1e-9)
        near, far = pairs.histograms[name, 8]
        distance = (bits[:, None] != bits).sum(axis=2)[np.triu_indices(400, 1)]
        is_near = (new[1][:, None] == new[1])[np.triu_indices(400, 1)]
        np.testing.assert_array_equal(near, np.bincount(distance[is_near], minlength=9))
        np.testing.assert_array_equal(far, np.bincount(distance[~is_near], minlength=9))


# Pipelines


@pytest.mark.parametrize("proximity", [SameLabel(), WithinRadius(), None], ids=["labels", "radius", "nearest"])
def test_a_pipeline_is_measured_on_transformed_samples(proximity, train, new):
    code = ProximityPreservingCode(n_bits=12, proximity=proximity, random_state=0)
    steps = [("scale", StandardScaler()), ("reduce", PCA(20, random_state=0)), ("code", code)]
    by_labels = isinstance(proximity, SameLabel)
    model = CodePipeline(steps).fit(train[0], train[1] if by_labels else None)
    labels = (train[1], new[1][:60]) if by_labels else (None, None)
    options = {"k": [1, 10], "peers": ["LSH", "ITQ"]}
    result = evaluate_search(model, train[0], new[0][:60], *labels, train=new[0], **options)
    base, asked, other = (model.preprocess(X) for X in (train[0], new[0][:60], new[0]))
    same_measures(result, evaluate_search(model[-1], base, asked, *labels, train=other, **options))
    assert find(result, "float cosine").bytes == 4 * 20
    floats = model.query(new[0][:60]).distances(model.encode(train[0]))
    if by_labels:
        expected = expected_measures(floats, new[1][:60, None] == train[1], 10)
        np.testing.assert_allclose(measured(find(result, "proxcode, float queries", 12), 10), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="queries: X has 3 features"):
        evaluate_search(model, train[0], new[0][:5, :3], k=1)


def test_a_query_of_a_pipeline_is_itself_before_it_is_transformed(train, new):
    # The product of PCA may round otherwise for other numbers of rows.
    code = ProximityPreservingCode(n_bits=8, random_state=0)
    model = CodePipeline([("reduce", PCA(30, random_state=0)), ("code", code)]).fit(*train)
    for rows in (slice(0, 1), slice(3, 40), slice(100, 400)):
        result = evaluate_search(model, new[0], new[0][rows], new[1], new[1][rows], k=1, peers=(), exclude_self=True)
        assert result.n_self == len(new[0][rows])


def test_texts_are_searched_by_a_pipeline():
    texts = [f"{size} {kind} {number}" for number in range(6) for size in ("small", "big") for kind in ("cat", "dog")]
    kinds = [text.split()[1] for text in texts]
    kinds[0] = None
    steps = [("words", TfidfVectorizer()), ("reduce", TruncatedSVD(4, random_state=0))]
    code = ProximityPreservingCode(n_bits=4, random_state=0)
    model = CodePipeline([*steps, ("code", code)]).fit(texts, kinds)
    result = evaluate_search(model, texts, texts[:9], kinds, kinds[:9], k=3, peers=(), exclude_self=True)
    assert (result.n_database, result.n_queries, result.n_self) == (23, 8, 8)
    base = model.preprocess(texts)
    expected = evaluate_search(code, base, base[:9], kinds, kinds[:9], k=3, peers=(), exclude_self=True)
    same_measures(result, expected)


# Times and sizes


@pytest.mark.parametrize("step", [2**24, 100, 1])
def test_the_search_by_cosine_that_is_timed_finds_the_nearest(step, train, new, monkeypatch):
    monkeypatch.setattr(rankings, "BLOCK_SIMILARITIES", step)
    ranking = CosineRanking(train[0], new[0][:7])
    found = ranking.search(ranking.prepared(slice(None)), 10)
    expected = np.argsort(pairwise_distances(new[0][:7], train[0], metric="cosine"), axis=1)[:, :10]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


def test_times_bytes_and_the_index_that_is_searched(by_label, train, new, monkeypatch):
    calls = []
    original = HammingIndex.search

    def search(self, codes, k):
        calls.append((len(self), self.n_threads, len(codes), k))
        return original(self, codes, k)

    monkeypatch.setattr(HammingIndex, "search", search)
    options = {"lengths": [8, 20], "peers": ["LSH"], "k": [2, 7], "batch_size": 3, "n_threads": 2}
    result = evaluate_search(by_label, train[0], new[0][:8], **options)
    assert (result.batch_size, result.n_threads) == (3, 2)
    # One search that warms up, then batches of three, three and two queries, for each of five rows with codes.
    assert [n for *_, n, _ in calls] == [3, 3, 3, 2] * 5
    assert {(n, threads, k) for n, threads, _, k in calls} == {(500, 2, 7)}
    sizes = {(row.method, row.bits): row.bytes for row in result.rows}
    by_method = {("proxcode", 8): 1, ("proxcode", 20): 3, ("proxcode, float queries", 20): 3, ("LSH", 8): 1}
    assert sizes == by_method | {("LSH", 20): 3, ("float cosine", None): 4 * 64}
    for row in result.rows:
        assert isinstance(row, SearchRow)
        assert min(row.search_ms, row.encode_ms) > 0
        assert (row.fit_seconds is None) == (row.method == "float cosine")


def test_float_queries_with_offsets_count_them(nearest, train, new):
    row = find(evaluate_search(nearest, train[0], new[0][:5], peers=(), k=1), "proxcode, float queries", 24)
    assert row.bytes == 3 + 4 * (nearest.query(new[0][:1]).offsets is not None)


def test_a_loaded_model_has_no_fit_seconds_and_the_same_measures(by_label, train, new, tmp_path):
    by_label.save(tmp_path / "m.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "m.proxcode")
    results = [evaluate_search(model, train[0], new[0][:50], peers=()) for model in (by_label, loaded)]
    assert [row.fit_seconds for row in results[1].rows] == [None] * 5
    assert [row[:6] for row in results[0].rows] == [row[:6] for row in results[1].rows]


def test_no_matrix_of_all_pairs_is_made(by_label):
    import tracemalloc

    rng = np.random.default_rng(0)
    X, Q = rng.random((40_000, 64), np.float32) * 16, rng.random((4000, 64), np.float32) * 16
    tracemalloc.start()
    evaluate_search(by_label, X, Q, k=10, lengths=[8], peers=())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(X) * len(Q) / 2  # half the bytes of all distances in single precision


# Kinds of input


def test_data_frames_lists_and_strings(train, new):
    pd = pytest.importorskip("pandas")
    names = [f"pixel {k}" for k in range(64)]
    frame, asked = pd.DataFrame(train[0], columns=names), pd.DataFrame(new[0][:20], columns=names)
    model = ProximityPreservingCode(n_bits=4, random_state=0).fit(frame, train[1])
    words, query_words = [f"digit {y}" for y in train[1]], pd.Series([f"digit {y}" for y in new[1][:20]])
    result = evaluate_search(model, frame, asked, words, query_words, train=frame, train_labels=words)
    plain = ProximityPreservingCode(n_bits=4, random_state=0).fit(*train)
    numbers = evaluate_search(plain, train[0].tolist(), new[0][:20], train[1], new[1][:20], train=train[0])
    for row, other in zip(result.rows[:3], numbers.rows, strict=False):
        assert row[:6] == other[:6]


BAD = [
    ({"database": np.ones((5, 3))}, "database: X has 3 features, but .* is expecting 64"),
    ({"queries": np.ones((5, 3))}, "queries: X has 3 features, but .* is expecting 64"),
    ({"train": np.ones((5, 3))}, "train: X has 3 features, but .* is expecting 64"),
    ({"database": np.ones((0, 64))}, "database: Found array with 0 sample"),
    ({"queries": np.ones((0, 64))}, "queries: Found array with 0 sample"),
    ({"queries": np.full((2, 64), np.nan)}, "queries: X contains NaN or infinity, first nan in row 0, column 0"),
    ({"query_labels": None}, "query_labels=None, but database_labels are given: pass labels of both, or of neither"),
    ({"database_labels": None}, "database_labels=None, but query_labels are given"),
    ({"query_labels": [1, 2]}, "query_labels has 2 labels for 400 samples: expected one each"),
    ({"database_labels": [1, 2]}, "database_labels has 2 labels for 500 samples: expected one each"),
    ({"query_labels": np.ones((400, 2), int)}, r"database_labels has shape \(500,\) and query_labels \(400, 2\): expe"),
    ({"query_labels": np.full(400, "1")}, "no label of the queries, such as '1', is one of the database, such as "),
    ({"query_labels": [None] * 400}, "query_labels holds no label for any of 400 samples: label some, or omit the"),
    ({"database_labels": np.full(500, np.nan)}, "database_labels holds no label for any of 500 samples"),
    ({"database_labels": [1, -1] * 250, "query_labels": [-1, 1] * 200}, "y holds -1 and one other label, and -1 means"),
    ({"proximity": SameLabel(), "database_labels": np.eye(500, 2), "query_labels": np.eye(400, 2)}, "is not hashable"),
    ({"train": np.ones((9, 64)), "train_labels": [1, 2]}, "train_labels has 2 labels for 9 samples: expected one each"),
    ({"train_labels": [1, 2]}, "train_labels are given without train: pass the samples"),
    ({"k": 0}, "k=0: expected an integer of at least 1"),
    ({"k": []}, "k has 0 values: expected 1 to 100 of them, or None"),
    ({"k": range(1, 200)}, "k has 199 values: expected 1 to 100"),
    ({"batch_size": 0}, "batch_size=0: expected an integer of at least 1"),
    ({"n_threads": 0}, "n_threads=0: expected an integer from 1"),
    ({"lengths": [21]}, "lengths=21: expected an integer from 1 to 20"),
    ({"peers": ["FAISS"]}, "peers='FAISS': expected names from LSH, ITQ"),
]


@pytest.mark.parametrize(
    ("change", "message"), BAD, ids=lambda value: next(iter(value)) if isinstance(value, dict) else ""
)
def test_bad_input_is_named(change, message, by_label, train, new):
    given = {"database": train[0], "queries": new[0], "database_labels": train[1], "query_labels": new[1]} | change
    with pytest.raises(ValueError, match=message):
        evaluate_search(by_label, **given)


def test_labels_in_columns(by_label, train, new):
    X, y, Q, asked = train[0][:50], train[1][:50], new[0][:20], new[1][:20]
    expected = evaluate_search(by_label, X, Q, y, asked, peers=()).rows[0]
    columns = [[[label] for label in y.tolist()], y[:, None]]
    for column in columns:
        assert evaluate_search(by_label, X, Q, column, asked, peers=()).rows[0][:6] == expected[:6]
        assert evaluate_search(by_label, X, Q, column, asked[:, None].tolist(), peers=()).rows[0][:6] == expected[:6]


def test_one_label_for_all_samples_is_refused(by_label, train, new):
    with pytest.raises(TypeError, match="query_labels=5: expected one label per sample"):
        evaluate_search(by_label, train[0], new[0], train[1], 5)


def test_an_indicator_matrix_of_training_labels_has_a_row_for_each_sample(by_label, train, new):
    known = {"train": train[0][50:300], "train_labels": np.eye(10, dtype=int)[train[1][:300]]}
    with pytest.raises(ValueError, match=r"^train_labels has 300 labels for 250 samples: expected one each\.$"):
        evaluate_search(by_label, new[0], new[0], lengths=[8], peers=["Hadamard"], **known)


def test_indicator_matrices_of_different_widths(by_label, train, new):
    with pytest.raises(
        ValueError, match="database_labels has 3 columns and query_labels 2: expected one column per lab"
    ):
        evaluate_search(by_label, train[0], new[0], np.ones((500, 3)), np.ones((400, 2)))
    with pytest.raises(ValueError, match="query_labels has 399 labels for 400 samples"):
        evaluate_search(by_label, train[0], new[0], np.ones((500, 2)), np.ones((399, 2)))


def test_a_proximity_of_labels_alone_says_which_are_missing(by_label, train, new):
    with pytest.raises(TypeError, match=r"proximity=WithinRadius\(\): expected an object such as SameLabel\(unl"):
        evaluate_search(by_label, train[0], new[0], train[1], new[1], proximity=WithinRadius())


@pytest.mark.parametrize("change", [{"k": 2.5}, {"k": "10"}, {"batch_size": 1.5}, {"n_threads": None}])
def test_wrong_types_are_refused(change, by_label, train, new):
    with pytest.raises(TypeError, match=f"{next(iter(change))}=.*: expected an integer"):
        evaluate_search(by_label, train[0], new[0], **change)


def test_an_unfitted_model_is_refused(train, new):
    with pytest.raises(NotFittedError):
        evaluate_search(ProximityPreservingCode(), train[0], new[0])
