"""The ablations: variants of the method, in their quick form."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from proxcode.cut import BitUpdate, DenseGraph
from proxcode.experiments.ablations import (
    IN_SAMPLE,
    LABELS,
    METRIC_VARIANTS,
    METRICS,
    QUICK_VARIANTS,
    RADIUS,
    SEARCHED,
    SEARCHES,
    summary,
)
from proxcode.experiments.methods import METHODS
from proxcode.experiments.protocols import PROTOCOLS, Size, radius_split
from proxcode.experiments.registry import method_named
from proxcode.experiments.variants import VARIANTS, UnsignedWeights
from proxcode.weights import DifferenceWeights


def test_all_variants_are_found_by_name_and_are_run():
    assert not set(VARIANTS) & set(METHODS)
    assert all(method_named(name) is VARIANTS[name] for name in VARIANTS)
    assert {*SEARCHES, *QUICK_VARIANTS, *METRIC_VARIANTS, *IN_SAMPLE} <= set(VARIANTS)
    protocols = {**LABELS, **RADIUS}
    assert {*protocols, *METRICS} <= set(PROTOCOLS)
    assert set(SEARCHED) <= set(protocols)


def test_a_variant_changes_what_it_says():
    default = method_named("default").make(8, 3, None).get_params(deep=False)
    changed = {}
    for name in VARIANTS:
        parameters = method_named(name).make(8, 3, None).get_params(deep=False)
        changed[name] = {key for key in parameters if repr(parameters[key]) != repr(default[key])}
    assert changed["default"] == set()
    assert changed["random-start"] == changed["annealing"] == changed["laplacian"] == {"cut"}
    assert changed["paper-rules"] == {"threshold", "weights"}
    assert changed["paper"] == {"threshold", "weights", "hash_function"}
    assert changed["svm"] == changed["unrefined"] == {"hash_function"}
    assert changed["paper-uncorrected"] == {*changed["paper"], "error_correction"}
    assert changed["uncorrected"] == {"hash_function", "error_correction"}
    assert changed["unsigned-spectral"] == {"hash_function", "cut", "weights"}


def test_unsigned_weights_are_those_of_near_pairs_alone():
    near, far = UnsignedWeights().tables(1.5, 4, 0.5)
    np.testing.assert_array_equal(near, DifferenceWeights().tables(1.5, 4, 0.5)[0])
    np.testing.assert_array_equal(far, np.zeros(5))


def test_no_bit_has_a_larger_value_than_a_constant_one_in_an_unsigned_graph(rng):
    near, _ = UnsignedWeights().tables(0.0, 0)
    half = np.triu(np.where(rng.random((12, 12)) < 0.5, near[0], 0.0), 1)
    graph = DenseGraph(half + half.T)
    constant = np.ones(12, np.int8)
    found = BitUpdate().improve(graph, rng.choice(np.array([-1, 1], np.int8), 12), rng)
    assert found.value <= graph.value(constant) == pytest.approx(graph.weights.sum())


def test_a_split_by_l1_counts_neighbours_by_l1():
    size = Size(300, 50)
    by_l1, by_l2 = (radius_split("digits", 0, size, 20, metric=metric) for metric in ("cityblock", "euclidean"))
    X = load_digits().data
    test, train = X[by_l1.rows["test"]], X[by_l1.rows["train"]]
    radius = by_l1.proximity.radius_
    expected = pairwise_distances(test, train, metric="manhattan") <= radius
    np.testing.assert_array_equal(by_l1.near_rows(slice(None)), expected)
    assert (expected != by_l2.near_rows(slice(None))).any()
    pairs = pairwise_distances(train, metric="manhattan")[np.triu_indices(300, 1)]
    assert (pairs <= radius).sum() * 2 / 300 == pytest.approx(20, rel=0.1)


def test_summary():
    about = {"protocol": "p", "method": "m", "bits": 8}
    rows = [{**about, "seed": seed, "auc": auc} for seed, auc in enumerate((0.1, 0.2, 0.3))]
    (row,) = summary(rows, "auc")
    assert row == {**about, "figure": "auc", "mean": pytest.approx(0.2), "spread": pytest.approx(0.1), "splits": 3}
