"""Codes without a hash function: against brute force, the dense transcription, and the estimator."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from helpers.reference import equal_error_beta, gradient_weights, proximity_preserving_code
from proxcode import (
    GivenPairs,
    KernelHash,
    ProximityPreservingCode,
    SameLabel,
    SharedLabel,
    WithinRadius,
    in_sample_code,
    unpack,
)
from proxcode.bits import Rules
from proxcode.hamming import distances
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.weights import GradientWeights

N = 60


def random_graph(n=N, density=0.3, seed=0):
    """Return a symmetric matrix of -1, 0 and +1."""
    rng = np.random.default_rng(seed)
    Y = np.triu(rng.choice([-1, 1], (n, n)) * (rng.random((n, n)) < density), 1)
    return Y + Y.T


def misplaced(Y, codes, n_bits):
    """Return the share of known pairs on the wrong side of each threshold t = 0..n_bits."""
    i, j = np.triu_indices(len(Y), 1)
    known = Y[i, j] != 0
    h, is_near = distances(codes, codes)[i, j][known], (Y[i, j] > 0)[known]
    return np.array([((h <= t) != is_near).mean() for t in range(n_bits + 1)])


@pytest.mark.parametrize("paper", [True, False])
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_a_long_code_satisfies_all_pairs_of_a_distance(metric, n_features, paper):
    """The paper's claim for l1 and l2, checked pair by pair without the package."""
    X = np.random.default_rng(0).random((N, n_features))
    distance = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    radius = np.quantile(distance, 0.1)
    rules = Rules.paper() if paper else Rules.resolved(None, None, None)
    components = {"threshold": rules.threshold, "weights": rules.weights, "cut": rules.cut}
    code = in_sample_code(WithinRadius(radius, metric=metric), X, n_bits=400, random_state=0, **components)
    assert code.n_bits < 400
    assert misplaced(np.where(distance <= radius, 1, -1), code.codes, code.n_bits).min() == 0
    assert code.history[-1].loss == 0 < code.history[-2].loss


@pytest.mark.parametrize("others", ["unknown", "far"])
def test_a_long_code_satisfies_a_random_signed_graph(others):
    Y = random_graph()
    code = in_sample_code(Y, n_bits=400, others=others, random_state=0)
    known = np.where(Y == 0, -1, Y) if others == "far" else Y
    assert misplaced(known, code.codes, code.n_bits).min() == code.history[-1].loss == 0
    assert (code.nodes, code.codes.shape) == (None, (N, -(-code.n_bits // 8)))


def test_the_loss_of_each_prefix_is_that_of_the_best_threshold():
    Y = random_graph()
    code = in_sample_code(Y, n_bits=12, random_state=0)
    assert (code.n_bits, code.alpha, code.radius) == (12, code.history[-1].alpha, code.history[-1].radius)
    bits = unpack(code.codes, 12)
    for k, record in enumerate(code.history, start=1):
        assert record.loss == pytest.approx(misplaced(Y, np.packbits(bits[:, :k], axis=1), k).min())


def test_the_code_equals_the_transcription_of_the_paper():
    Y = random_graph()
    code = in_sample_code(
        Y, n_bits=20, threshold=EqualErrorThreshold(), weights=GradientWeights(), loss_target=None, random_state=0
    )
    seed = np.random.RandomState(0).randint(2**31)
    expected, _, _ = proximity_preserving_code(Y, 20, seed, equal_error_beta, gradient_weights, lambda b: b)
    np.testing.assert_array_equal(2.0 * unpack(code.codes, 20) - 1, expected)


@pytest.mark.parametrize("proximity", [SameLabel(), WithinRadius(2.5)])
def test_the_code_is_that_of_the_estimator_without_error_correction(proximity):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 4)), rng.integers(0, 5, N)
    code = in_sample_code(proximity, X, y, n_bits=24, threshold=LogisticThreshold(), loss_target=None, random_state=3)
    model = ProximityPreservingCode(
        24,
        proximity=proximity,
        threshold=LogisticThreshold(),
        hash_function=KernelHash(n_landmarks=10),
        error_correction=False,
        random_state=3,
    ).fit(X, y)
    np.testing.assert_array_equal(code.codes, model.codes_)
    assert (code.alpha, code.radius) == (model.alpha_, model.radius_)


def test_every_form_of_a_graph_gives_the_same_code():
    Y = random_graph()
    i, j = np.nonzero(np.triu(Y))
    edges = [(int(a), int(b), float(Y[a, b])) for a, b in zip(i, j, strict=True)]
    named = nx.Graph()
    named.add_nodes_from(f"node {k}" for k in range(N))
    named.add_weighted_edges_from((f"node {a}", f"node {b}", w) for a, b, w in edges)
    names = list(named)
    expected = in_sample_code(Y, n_bits=10, random_state=0)
    # Only signs count.
    for form in (2.5 * Y, sp.csr_array(Y), edges, np.array(edges)):
        found = in_sample_code(form, n_bits=10, random_state=0)
        np.testing.assert_array_equal(found.codes, expected.codes)
        assert found.nodes is None
    for form in (named, pd.DataFrame(Y, names, names)):
        found = in_sample_code(form, n_bits=10, random_state=0)
        np.testing.assert_array_equal(found.codes, expected.codes)
        assert found.nodes == names


def test_labels_need_no_vectors():
    y = np.arange(N) % 7
    code = in_sample_code(SameLabel(), y=y, random_state=0)
    assert misplaced(np.where(y[:, None] == y, 1, -1), code.codes, code.n_bits).min() == 0
    indicator = sp.csr_array(np.eye(7, dtype=int)[y])
    shared = in_sample_code(SharedLabel(), y=indicator, random_state=0)
    assert shared.history[-1].loss == 0


def test_samples_without_a_label_are_left_out_and_named_by_number():
    y = ["a", None, "b", "a", None, "b"]
    code = in_sample_code(SameLabel(), y=y, random_state=0)
    assert code.nodes == [0, 2, 3, 5]
    assert len(code.codes) == 4


def test_a_node_without_edges_has_a_code():
    code = in_sample_code([(0, 1, 1), (1, 3, -1)], random_state=0)
    assert len(code.codes) == 4
    assert code.history[-1].loss == 0


def test_learning_stops_at_the_target_and_not_before():
    losses = [record.loss for record in in_sample_code(random_graph(), n_bits=9, random_state=0).history]
    code = in_sample_code(random_graph(), n_bits=9, loss_target=losses[5], random_state=0)
    assert [record.loss for record in code.history] == losses[: code.n_bits]
    assert losses[code.n_bits - 1] <= losses[5] < min(losses[: code.n_bits - 1])
    satisfied = in_sample_code([(0, 1, 1), (1, 2, -1)], n_bits=9, loss_target=None, random_state=0)
    assert (satisfied.n_bits, satisfied.history[0].loss) == (9, 0)


def test_progress_is_shown_on_standard_error_alone(capsys, monkeypatch):
    monkeypatch.setattr("proxcode.utils.progress.INTERVAL", 0)
    in_sample_code(random_graph(), n_bits=3, random_state=0, verbose=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "learned 2 of 3 bits" in shown.err
    in_sample_code(random_graph(), n_bits=3, random_state=0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "message"),
    [
        (([(0, 1, 1)],), {}, ValueError, "no edge of negative weight, but a code needs near and far pairs"),
        (([(0, 1, -1)],), {}, ValueError, "no edge of positive weight, but a code needs near and far pairs"),
        (([(0, 1, -1)],), {"others": "far"}, ValueError, "there is no near pair"),
        ((random_graph(), np.ones((N, 2))), {}, TypeError, "X and y belong to a proximity"),
        ((SameLabel(),), {}, ValueError, "X=None: SameLabel needs samples X; SameLabel and SharedLabel need y"),
        ((WithinRadius(1.0),), {"y": [1, 2, 3]}, ValueError, "X=None: WithinRadius needs samples X"),
        ((random_graph(),), {"n_bits": 0}, ValueError, "n_bits=0: expected an integer from 1 to 1024"),
        ((random_graph(),), {"others": "near"}, ValueError, "others='near': expected 'unknown' or 'far'"),
        ((random_graph(),), {"loss_target": "low"}, TypeError, "loss_target='low': expected a number"),
        ((random_graph(),), {"threshold": 3}, TypeError, "threshold=3"),
        (({"a": 1},), {}, TypeError, "W is a dictionary"),
    ],
)
def test_errors(arguments, parameters, error, message):
    with pytest.raises(error, match=message):
        in_sample_code(*arguments, **parameters)


def test_given_pairs_are_a_proximity_too():
    X = np.random.default_rng(0).normal(size=(N, 2))
    Y = np.triu(random_graph())
    i, j = np.nonzero(Y)
    code = in_sample_code(GivenPairs(np.column_stack([i, j, Y[i, j]])), X, n_bits=10, random_state=0)
    np.testing.assert_array_equal(code.codes, in_sample_code(Y + Y.T, n_bits=10, random_state=0).codes)
