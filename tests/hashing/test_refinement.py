"""Coupled bits: the calibrated threshold, leave-one-out label scores, hash functions that climb."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import proxcode.hashing.ridge
from proxcode import (
    CalibratedThreshold,
    DifferenceWeights,
    GivenPairs,
    KernelHash,
    LogisticThreshold,
    ProximityPreservingCode,
    SameLabel,
    SharedLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.cut.initial import signs_of
from proxcode.hamming import GrowingCode, pack
from proxcode.hashing.kernel import JITTER
from proxcode.threshold import inner_products, logistic_loss


def test_calibrated_threshold_is_the_maximum_likelihood_line(rng):
    near, far = np.array([30, 40, 30, 20, 12]), np.array([30, 90, 300, 500, 400])
    line = CalibratedThreshold().line(near, far)
    product = inner_products(4)

    def loss(parameters):
        z = parameters[0] * product - parameters[1]
        return (near @ np.logaddexp(0, -z) + far @ np.logaddexp(0, z)) / (near.sum() + far.sum())

    best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 5000})
    assert line.scale == pytest.approx(best.x[0], abs=1e-5)
    assert line.beta == pytest.approx(best.x[1] / best.x[0], abs=1e-4)
    paper = LogisticThreshold().line(near, far)
    assert logistic_loss(near, far, *line) < logistic_loss(near, far, *paper)


def test_labels_that_points_do_not_show_are_not_learned(rng):
    X, y = rng.normal(size=(400, 100)), rng.integers(0, 4, 400)
    for points in (X, np.zeros_like(X)):
        model = ProximityPreservingCode(n_bits=8, random_state=0).fit(points, y)
        assert model.history_[-1].loss > 0.2


def test_renamed_labels_are_the_same_labels(train, new):
    X, y = train
    model = ProximityPreservingCode(n_bits=5, random_state=0).fit(X, y)
    codes = model.encode(new[0])
    model.extend(9, X, np.array(list("jihgfedcba"))[y])
    np.testing.assert_array_equal(model.encode(new[0], n_bits=5), codes)
    long = ProximityPreservingCode(n_bits=9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.encode(new[0]), long.encode(new[0]))


def test_bits_go_on_only_as_they_began(train):
    model = ProximityPreservingCode(n_bits=3, random_state=0).fit(*train)
    with pytest.raises(ValueError, match="another coupling"):
        model.set_params(coupling=0).extend(5)


def test_the_threshold_of_a_wide_gap_is_in_its_middle():
    near, far = np.zeros(1025, np.int64), np.zeros(1025, np.int64)
    near[300], far[512] = 1000, 9000
    line = CalibratedThreshold().line(near, far)
    assert line.scale == 1
    assert line.beta == pytest.approx(1024 - 2 * 406, abs=2)


def test_a_code_that_separates_gets_the_largest_scale():
    line = CalibratedThreshold(max_scale=0.7).line(np.array([50, 0, 0, 0]), np.array([0, 0, 0, 90]))
    assert line.scale == pytest.approx(0.7)
    with pytest.raises(ValueError, match="max_scale=0: give a number above 0"):
        CalibratedThreshold(0).line(np.array([1]), np.array([1]))


def test_the_scaled_difference_is_the_slope_of_the_scaled_loss():
    near, far = DifferenceWeights().tables(0.3, 5, scale=0.2)
    gamma = inner_products(5) - 0.3

    def loss(z):
        return np.logaddexp(0, -0.2 * z)

    np.testing.assert_allclose(near, (loss(gamma - 1) - loss(gamma + 1)) / 2 / 0.2)
    np.testing.assert_allclose(far, -(loss(-gamma - 1) - loss(-gamma + 1)) / 2 / 0.2)


def test_label_scores_are_those_of_a_fit_without_the_point(rng, monkeypatch):
    monkeypatch.setattr(proxcode.hashing.ridge, "fit_posteriors", lambda scores, labels: lambda scores: scores)
    X, classes = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    labels = np.where(classes[:, None] == np.arange(3), 1, -1).astype(np.int8)
    bank = KernelHash(n_landmarks=12, ridge=1e-2)
    bank.begin(X, np.random.default_rng(0), labels=labels)
    left_out_mean = (60 * labels.mean(axis=0) - labels) / 59
    scores = bank._basis + left_out_mean
    kernel = bank._inputs(X)
    penalty = bank._centred_kernel(bank.landmarks_) + JITTER * np.eye(12)
    for left_out in (0, 17, 59):
        rest = np.arange(60) != left_out
        design = np.column_stack([kernel[rest], np.ones(59)])
        ridge = np.zeros((13, 13))
        ridge[:12, :12] = 1e-2 * 60 * penalty  # the penalty of the whole fit: the point alone is left out
        solution = np.linalg.solve(design.T @ design + ridge, design.T @ labels[rest])
        np.testing.assert_allclose(scores[left_out], np.append(kernel[left_out], 1.0) @ solution, atol=1e-6)


@pytest.mark.parametrize("by_labels", [True, False])
def test_climbing_never_lowers_the_value_of_the_bit_as_hashed(train, by_labels):
    X, y = train
    relation = SameLabel().relate(X, y).relation
    code = GrowingCode.from_packed(pack(np.random.default_rng(0).integers(0, 2, (500, 6))), 6)
    tables = DifferenceWeights().tables(0.0, 6, 0.5)
    bank = KernelHash(n_landmarks=50)
    bank.begin(X, np.random.default_rng(0), labels=relation.label_matrix() if by_labels else None)
    rises = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        side = np.where(rng.random(500) < 0.5, -1, 1).astype(np.int8)
        rows = np.sort(rng.choice(500, 200, replace=False))
        for points, part in ((None, relation.units(code)), (rows, relation.take(rows).units(code.take(rows)))):
            graph = part.graph(*tables)
            drawn = slice(None) if points is None else points
            fitted = graph.value(signs_of(bank.learn(side[drawn], points))[drawn])
            margins = bank.climb(graph, 10, points)
            np.testing.assert_array_equal(margins, bank.training_margins(bank.n_bits_ - 1))
            rises.append(graph.value(signs_of(margins)[drawn]) - fitted)
    assert min(rises) >= 0
    assert max(rises) > 0


@pytest.mark.parametrize(
    "proximity", [SameLabel(), SharedLabel(), WithinRadius(radius=1.0), GivenPairs()], ids=lambda p: type(p).__name__
)
def test_a_relation_of_some_points_is_a_part_of_the_whole(proximity, rng):
    X = rng.normal(size=(80, 2))
    y = (rng.random((80, 5)) < 0.3).astype(int) if isinstance(proximity, SharedLabel) else rng.integers(0, 4, 80)
    if isinstance(proximity, GivenPairs):
        signs = np.triu(rng.choice([-1, 0, 1], size=(80, 80)), 1)
        proximity = GivenPairs(sp.csr_array(signs))
    relation = proximity.fit(X, y).relate(X, y).relation
    code = GrowingCode.from_packed(pack(rng.integers(0, 2, (80, 3))), 3)
    points = np.sort(rng.choice(80, 30, replace=False))
    tables = DifferenceWeights().tables(0.0, 3)

    def dense(relation, code):
        graph = relation.units(code).graph(*tables)
        return np.column_stack([graph.matvec(column) for column in np.eye(relation.n_samples)])

    whole, part = dense(relation, code), dense(relation.take(points), code.take(points))
    np.testing.assert_allclose(part, whole[np.ix_(points, points)], atol=1e-12)


def test_coupled_bits_are_better_on_new_points_where_classes_overlap(digits):
    X, y = digits
    X = X + np.random.default_rng(0).normal(scale=8, size=X.shape)
    scores = {}
    for coupling in (0, 15):
        runs = [
            ProximityPreservingCode(n_bits=12, coupling=coupling, random_state=seed).fit(X[:1000], y[:1000])
            for seed in range(3)
        ]
        scores[coupling] = np.mean([model.score(X[1000:], y[1000:]) for model in runs])
    assert scores[15] > scores[0] + 0.01


def test_codes_learned_from_some_points_keep_prefixes_and_extend(train, new):
    parameters = {"cut_points": 200, "random_state": 0}
    long = ProximityPreservingCode(n_bits=12, **parameters).fit(*train)
    grown = ProximityPreservingCode(n_bits=5, **parameters).fit(*train).extend(12)
    np.testing.assert_array_equal(grown.encode(new[0]), long.encode(new[0]))
    np.testing.assert_array_equal(long.codes_, long.encode(train[0]))
    assert long.score(*new) > 0.8


@pytest.mark.parametrize("multi", [False, True])
def test_very_many_labels_are_learned_without_a_matrix_of_them(train, new, monkeypatch, multi):
    monkeypatch.setattr("proxcode.pairs.relations.MAX_LABELS", 5)
    X, y = train
    model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X, np.eye(10)[y] if multi else y)
    assert model.hash_function_.directions_.shape[1] == 501
    assert model.score(new[0], np.eye(10)[new[1]] if multi else new[1]) > 0.7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coupling": -1}, "coupling=-1: give a whole number of steps"),
        ({"coupling": 2.5}, "coupling=2.5: give a whole number of steps"),
        ({"coupling": 3, "hash_function": SVMHash()}, "coupling=3 needs KernelHash"),
        (
            {"coupling": 3, "error_correction": False},
            "coupling=3 needs KernelHash or LinearHash and error_correction=True",
        ),
        ({"cut_points": 1}, "cut_points=1: give at least 2"),
        ({"cut_points": 50, "error_correction": False}, "cut_points=50 needs error_correction=True"),
    ],
)
def test_bad_parameters_are_refused(train, parameters, message):
    with pytest.raises(ValueError, match=message):
        ProximityPreservingCode(n_bits=2, **parameters).fit(*train)


def test_a_ridge_lost_in_rounding_is_refused(train):
    X, y = train
    model = ProximityPreservingCode(2, hash_function=KernelHash(ridge=1e-30, gamma=1e-6))
    with pytest.raises(ValueError, match="ridge=1e-30 is lost in rounding: give a larger one"):
        model.fit(X.astype(np.float32), y)
