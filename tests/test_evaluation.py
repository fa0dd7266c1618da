"""`evaluate` against direct computation over a dense matrix of distances."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances

from proxcode import GivenPairs, ProximityPreservingCode, SameLabel, SharedLabel, WithinRadius
from proxcode.evaluation import all_pairs as module
from proxcode.evaluation import evaluate
from proxcode.metrics import mean_average_precision
from proxcode.peers import ITQ, LSH


@pytest.fixture(scope="module")
def by_label(train):
    return ProximityPreservingCode(n_bits=20, random_state=0).fit(*train)


@pytest.fixture(scope="module")
def by_radius(train):
    return ProximityPreservingCode(n_bits=12, proximity=WithinRadius(), random_state=0).fit(train[0])


def indicator(y):
    return np.stack([y % 2 == 0, y % 3 == 0, y > 6], axis=1).astype(int)


def dense(bits, near):
    """Loss, area, mAP and the errors at each threshold by the definitions, from n x n matrices."""
    distance = (bits[:, None] != bits[None]).sum(axis=2)
    n, p = bits.shape
    upper = np.triu_indices(n, 1)
    thresholds = np.arange(p + 1)
    is_near, h = near[upper], distance[upper]
    losses = [np.mean((h <= t) != is_near) for t in thresholds]
    found = [(is_near & (h <= t)).sum() for t in thresholds]
    precision = np.array([f / max(1, (h <= t).sum()) for f, t in zip(found, thresholds, strict=True)])
    recall = np.array(found) / is_near.sum()
    start = int(np.argmax([(h <= t).any() for t in thresholds]))
    area = np.trapezoid(np.r_[precision[start], precision[start:]], np.r_[0, recall[start:]])
    other = ~np.eye(n, dtype=bool)
    rows = [
        [np.bincount(distance[i][other[i] & (near[i] == side)], minlength=p + 1) for i in range(n)]
        for side in (True, False)
    ]
    return min(losses), area, mean_average_precision(*map(np.array, rows)), precision, recall


def check(row, bits, near):
    loss, area, mean_precision, precision, recall = dense(bits, near)
    np.testing.assert_allclose((row.misplaced_share, row.pr_area, row.map), (loss, area, mean_precision), rtol=1e-12)
    return precision, recall


def test_labels_against_dense(by_label, new):
    X, y = new
    result = evaluate(by_label, X, y, peers=())
    assert [row.bits for row in result.rows] == [8, 16, 20]
    near = y[:, None] == y
    for row in result.rows:
        precision, recall = check(row, by_label.transform(X)[:, : row.bits], near)
    np.testing.assert_allclose(result.rows[-1].precision, precision[by_label.radius_])
    np.testing.assert_allclose(result.rows[-1].recall, recall[by_label.radius_])
    assert [row.precision for row in result.rows[:-1]] == [row.recall for row in result.rows[:-1]] == [None, None]
    np.testing.assert_array_equal(result.bits, by_label.transform(X))
    np.testing.assert_allclose(result.rows[-1].pr_area, by_label.score(X, y))


def test_seconds_of_the_bits(by_label, new):
    rows = evaluate(by_label, *new, peers=()).rows
    np.testing.assert_allclose(rows[0].fit_seconds, sum(record.seconds for record in by_label.history_[:8]))
    loaded = copy.deepcopy(by_label)
    loaded.history_ = [record._replace(seconds=float("nan")) for record in by_label.history_]  # files do not store them
    assert [row.fit_seconds for row in evaluate(loaded, *new, peers=()).rows] == [None] * 3


def test_radius_goes_by_the_learned_radius(by_radius, new):
    X, _ = new
    result = evaluate(by_radius, X, peers=())
    near = pairwise_distances(X) <= by_radius.proximity_.radius_
    for row in result.rows:
        check(row, by_radius.transform(X)[:, : row.bits], near)


def test_nearest_goes_by_the_neighbours_among_the_new_samples(train, new):
    # Pixels are integers: noise leaves no samples at equal distance.
    X = new[0] + np.random.default_rng(0).normal(size=new[0].shape)
    model = ProximityPreservingCode(n_bits=12, random_state=0).fit(train[0])
    distance = pairwise_distances(X)
    near = distance <= np.sort(distance, axis=1)[:, [40]]
    for row in evaluate(model, X, peers=()).rows:
        check(row, model.transform(X)[:, : row.bits], near | near.T)


def test_shared_labels_against_dense(train, new):
    X, y = new
    labels = indicator(y)  # some samples have none
    assert not labels.any(axis=1).all()
    model = ProximityPreservingCode(n_bits=9, random_state=0).fit(train[0], indicator(train[1]))
    rows = evaluate(model, X, labels, peers=()).rows
    assert [row.bits for row in rows] == [8, 9]
    check(rows[-1], model.transform(X), (labels @ labels.T > 0) | np.eye(len(y), dtype=bool))


def test_peers_are_fitted_to_train_without_labels(by_label, train, new):
    X, y = new
    result = evaluate(by_label, X, y, train=train[0], lengths=[20, 8, 8])
    assert [row[:2] for row in result.rows] == [(m, b) for m in ("proxcode", "LSH", "ITQ") for b in (8, 20)]
    for peer, row in ((LSH, result.rows[2]), (ITQ, result.rows[5])):
        check(row, peer(n_bits=row.bits, random_state=0).fit(train[0]).transform(X), y[:, None] == y)
        assert row.precision is None
        assert row.fit_seconds > 0
    on_itself = evaluate(by_label, X, y, lengths=[8], peers=["LSH"])
    check(on_itself.rows[1], LSH(n_bits=8, random_state=0).fit(X).transform(X), y[:, None] == y)


def test_peers_that_do_not_support_a_length_are_left_out_with_a_reason(by_label, new):
    X, y = new
    result = evaluate(by_label, X, y, train=X[:10], peers=["LSH", "ITQ", "Hadamard"])
    assert set(result.left_out) == {("ITQ", 16), ("ITQ", 20), *(("Hadamard", bits) for bits in (8, 16, 20))}
    assert "expected an integer from 1 to 10, the smaller of n_samples=10" in result.left_out["ITQ", 16]
    assert result.longest == 20
    assert result.common_bits == 8
    assert list(result.counts) == ["proxcode", "LSH", "ITQ"]
    assert all(len(near) == len(far) == 9 for near, far in result.counts.values())
    assert evaluate(by_label, X, y, train=X[:5], peers=["ITQ"]).common_bits == 20


def test_queries_are_a_random_subset_of_many_samples(by_label, new, monkeypatch):
    X, y = new
    full = evaluate(by_label, X, y, peers=(), lengths=[20]).rows[0]
    monkeypatch.setattr(module, "MAX_QUERIES", 300)
    drawn, again = (evaluate(by_label, X, y, peers=(), lengths=[20]).rows[0] for _ in range(2))
    assert drawn[:5] == again[:5]
    assert (drawn.misplaced_share, drawn.pr_area) == (full.misplaced_share, full.pr_area)
    assert drawn.map != full.map
    assert abs(drawn.map - full.map) < 0.02


def test_unlabelled_samples_are_left_out(by_label, new):
    X, y = new
    some = np.where(np.arange(len(y)) % 2, y, -1)
    result = evaluate(by_label, X, some, proximity=SameLabel(unlabelled=-1), peers=(), lengths=[20])
    expected = evaluate(by_label, X[1::2], y[1::2], peers=(), lengths=[20])
    assert result.rows[0][:5] == expected.rows[0][:5]
    assert len(result.bits) == len(X)


@pytest.mark.parametrize("unlabelled", [(1, 2), tuple(range(400)), "1"])
def test_unlabelled_of_another_type_matches_no_number(by_label, new, unlabelled):
    result = evaluate(by_label, *new, proximity=SameLabel(unlabelled), peers=(), lengths=[20])
    assert result.rows[0][:5] == evaluate(by_label, *new, peers=(), lengths=[20]).rows[0][:5]


def test_data_frames_give_no_warning_about_feature_names(train, new):
    pd = pytest.importorskip("pandas")
    (X, X_new), names = (train[0], new[0]), [f"pixel {k}" for k in range(64)]
    model = ProximityPreservingCode(n_bits=4, random_state=0).fit(pd.DataFrame(X, columns=names), train[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(model, pd.DataFrame(X_new, columns=names), new[1], train=pd.DataFrame(X, columns=names))


def test_another_proximity(by_label, new):
    X, y = new
    fitted = WithinRadius(radius=20.0).fit(X)
    found = WithinRadius(mean_neighbors=10)
    near = pairwise_distances(X)
    check(evaluate(by_label, X, proximity=fitted, peers=()).rows[-1], by_label.transform(X), near <= 20)
    counts = evaluate(by_label, X, proximity=found, peers=()).counts["proxcode"]
    assert 0 <= counts[0].sum() - 10 * len(X) / 2 < 5  # ties
    assert not hasattr(found, "radius_")
    shared = evaluate(by_label, X, indicator(y), proximity=SharedLabel(), peers=())
    assert shared.counts["proxcode"][0].sum() != counts[0].sum()


def test_given_pairs_go_by_labels_or_a_proximity(train, new):
    X, y = new
    triples = [(i, j, 1 if train[1][i] == train[1][j] else -1) for i in range(30) for j in range(i)]
    model = ProximityPreservingCode(n_bits=6, random_state=0, proximity=GivenPairs(triples)).fit(train[0])
    with pytest.raises(ValueError, match=r"fitted with GivenPairs.*pass labels y of the samples of X, or a proximity"):
        evaluate(model, X)
    row = evaluate(model, X, y, peers=()).rows[0]
    assert row.bits == 6
    check(row, model.transform(X), y[:, None] == y)
    pairs = evaluate(model, X, proximity=GivenPairs([(0, 1, 1), (0, 2, -1)]), peers=())
    assert pairs.rows[0].map is None
    assert [int(counts.sum()) for counts in pairs.counts["proxcode"]] == [1, 1]


def test_precision_is_none_where_nothing_is_found(by_label, new):
    X, _ = new
    bits = by_label.transform(X)
    apart = np.flatnonzero((bits != bits[0]).sum(axis=1) > by_label.radius_)[0]
    row = evaluate(by_label, X[[0, 0, apart]], proximity=GivenPairs([(0, 2, 1), (1, 2, -1)]), peers=()).rows[-1]
    assert (row.precision, row.recall) == (None, 0.0)


def test_no_matrix_of_pairs_is_made(by_label):
    import tracemalloc

    rng = np.random.default_rng(0)
    n = 20_000
    X, y = rng.random((n, 64), np.float32) * 16, rng.integers(0, 10, n)
    tracemalloc.start()
    evaluate(by_label, X, y, lengths=[8], peers=())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n  # bytes of an n x n matrix of booleans


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "fitted with SameLabel.*pass labels y of the samples of X, or a proximity"),
        ({"y": np.arange(400)}, "there is no near pair among the 400 samples of X: pass more samples"),
        ({"y": np.zeros(400)}, "there is no far pair among the 400 samples of X: pass more samples"),
        ({"y": np.zeros(3)}, "X has 400 samples but y has 3 labels"),
        ({"X": np.ones((400, 5))}, "X has 5 features, but .* is expecting 64 features"),
        ({"train": np.ones((9, 7))}, "X has 7 features, but .* is expecting 64 features"),
        ({"peers": ["LSH", "FAISS"]}, "peers='FAISS': expected names from LSH, ITQ, SH"),
        ({"lengths": [8, 21]}, "lengths=21: .* 1 to 20"),
        ({"lengths": []}, "lengths is empty: pass integers from 1 to 20"),
    ],
)
def test_bad_input_is_named(by_label, new, change, message):
    arguments = {"X": new[0], "y": new[1]} | change
    with pytest.raises(ValueError, match=message):
        evaluate(by_label, arguments.pop("X"), arguments.pop("y"), **arguments)


def test_wrong_types_and_an_unfitted_model_are_refused(by_label, new):
    with pytest.raises(TypeError, match="proximity='labels': expected an object such as SameLabel"):
        evaluate(by_label, *new, proximity="labels")
    with pytest.raises(TypeError, match=r"lengths=2\.5: "):
        evaluate(by_label, *new, lengths=[2.5])
    with pytest.raises(NotFittedError):
        evaluate(ProximityPreservingCode(), *new)
