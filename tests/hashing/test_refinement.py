"""Refinement: optimisation steps that raise b'Wb of the hash function's own bit."""

import joblib
import numpy as np
import pytest
from scipy.optimize import OptimizeResult, approx_fprime, minimize

import proxcode.hashing.training
from helpers.banks import append, begin
from proxcode import KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.cut import DenseGraph
from proxcode.cut.initial import signs_of
from proxcode.hamming import GrowingCode, pack
from proxcode.hashing import HashedBit
from proxcode.pairs import SameClassPairs
from proxcode.utils.rows import ALL
from proxcode.weights import DifferenceWeights

N = 120
STEPS = 10
with_and_without_labels = pytest.mark.parametrize("with_labels", [True, False], ids=["labels", "no labels"])
subsets = pytest.mark.parametrize("samples", [ALL, np.arange(0, N, 3)], ids=["all", "subset"])


@pytest.fixture
def pairs(digits):
    return SameClassPairs(digits[1][:N])


@pytest.fixture
def training(with_labels, pairs, digits):
    labels = pairs.labels() if with_labels else None
    return begin(KernelHash(n_landmarks=40, refine_steps=STEPS), digits[0][:N], labels=labels)[1]


def graph_of(pairs, samples):
    """Return W over a subset of the samples for a random code of six bits."""
    code = GrowingCode.from_packed(pack(np.random.default_rng(0).integers(0, 2, (N, 6))), 6)
    subset = np.arange(N)[samples]
    return pairs.take(subset).with_code(code.take(subset)).graph(*DifferenceWeights().tables(0.0, 6, 0.5))


def random_target(seed, n=N):
    return np.random.default_rng(seed).choice(np.array([-1, 1], np.int8), n)


@pytest.fixture
def minimised(monkeypatch):
    """Record the calls of the optimiser: its function, its start and its options."""
    calls = []

    def recorded(function, start, **options):
        calls.append((function, start.copy(), options))
        return minimize(function, start, **options)

    monkeypatch.setattr(proxcode.hashing.training, "minimize", recorded)
    return calls


# The objective and its gradient


@subsets
@with_and_without_labels
def test_the_loss_is_the_scaled_objective_of_the_soft_bit(training, pairs, samples, minimised):
    graph, bit = graph_of(pairs, samples), training.propose(random_target(1))
    training.refine(bit, graph, samples)
    (loss_and_gradient, start, _) = minimised[0]
    margins = bit.margins[samples]
    soft = np.tanh(margins / np.abs(margins).mean())
    expected = -(soft @ graph.matvec(soft)) / abs(graph.value(signs_of(margins)))
    assert loss_and_gradient(start)[0] == pytest.approx(expected)


@subsets
@with_and_without_labels
def test_the_gradient_is_the_derivative_of_the_loss(training, pairs, samples, minimised, rng):
    training.refine(training.propose(random_target(1)), graph_of(pairs, samples), samples)
    loss_and_gradient, start, _ = minimised[0]
    # Far from the start some margins are large: the factor 1 - t^2 of tanh is then far from 1.
    for coordinates in (start, 3 * start, start + np.abs(start).mean() * rng.normal(size=start.shape)):
        numerical = approx_fprime(coordinates, lambda x: loss_and_gradient(x)[0], 1e-6 * np.abs(start).mean())
        gradient = loss_and_gradient(coordinates)[1]
        np.testing.assert_allclose(gradient, numerical, atol=1e-4 * np.abs(numerical).max())


@with_and_without_labels
def test_the_optimiser_starts_from_the_proposed_bit_and_takes_the_given_steps(training, pairs, with_labels, minimised):
    bit = training.propose(random_target(1))
    training.refine(bit, graph_of(pairs, ALL))
    _, start, options = minimised[0]
    assert options["method"] == "L-BFGS-B"
    assert options["jac"] is True
    assert options["options"] == {"maxiter": STEPS}
    direction = bit.parameters / np.abs(bit.margins).mean()
    np.testing.assert_allclose(start[:-1], direction[:-1])
    # Functions that are psi have a mean square of 1 / N: the offset moves in steps of the same size.
    assert start[-1] == pytest.approx(direction[-1] * (1.0 if with_labels else N**0.5))


# What is kept


@with_and_without_labels
def test_refinement_never_lowers_the_value_of_the_hashed_bit(train, with_labels):
    X, y = train
    pairs = SameClassPairs(y)
    code = GrowingCode.from_packed(pack(np.random.default_rng(0).integers(0, 2, (500, 6))), 6)
    tables = DifferenceWeights().tables(0.0, 6, 0.5)
    labels = pairs.labels() if with_labels else None
    _, training = begin(KernelHash(n_landmarks=50, refine_steps=STEPS), X, labels=labels)
    rises = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        target = np.where(rng.random(500) < 0.5, -1, 1).astype(np.int8)
        rows = np.sort(rng.choice(500, 200, replace=False))
        for samples, part in ((ALL, pairs.with_code(code)), (rows, pairs.take(rows).with_code(code.take(rows)))):
            graph = part.graph(*tables)
            bit = training.propose(target[samples], samples)
            refined = training.refine(bit, graph, samples)
            np.testing.assert_array_equal(refined.margins, training.margins(refined.parameters))
            rises.append(graph.value(signs_of(refined.margins)[samples]) - graph.value(signs_of(bit.margins)[samples]))
    assert min(rises) >= 0
    assert max(rises) > 0


def best_and_worst(training, pairs):
    """Return two of several bits: the one with the largest and the one with the smallest value."""
    graph = graph_of(pairs, ALL)
    bits = [training.propose(random_target(seed)) for seed in range(8)]
    order = np.argsort([graph.value(signs_of(bit.margins)) for bit in bits])
    return graph, bits[order[-1]], bits[order[0]]


def end_at(monkeypatch, training, bit):
    """Make the optimiser end at a given bit."""
    units = np.ones(len(bit.parameters))
    units[-1] = training.offset_unit
    result = OptimizeResult(x=bit.parameters / units)
    monkeypatch.setattr(proxcode.hashing.training, "minimize", lambda *args, **options: result)


@with_and_without_labels
def test_a_worse_bit_is_not_kept(training, pairs, monkeypatch):
    graph, better, worse = best_and_worst(training, pairs)
    end_at(monkeypatch, training, worse)
    refined = training.refine(better, graph)
    assert graph.value(signs_of(refined.margins)) == graph.value(signs_of(better.margins))
    np.testing.assert_array_equal(signs_of(refined.margins), signs_of(better.margins))
    # The bit is scaled to a mean absolute margin of 1.
    np.testing.assert_allclose(refined.margins, better.margins / np.abs(better.margins).mean())


@with_and_without_labels
def test_a_better_bit_is_kept(training, pairs, monkeypatch):
    graph, better, worse = best_and_worst(training, pairs)
    end_at(monkeypatch, training, better)
    refined = training.refine(worse, graph)
    np.testing.assert_allclose(refined.parameters, better.parameters)
    np.testing.assert_allclose(refined.margins, better.margins)


@with_and_without_labels
def test_refining_a_bit_changes_nothing_but_the_result(training, pairs):
    append(training, random_target(0))
    bit = training.propose(random_target(1))
    kept = HashedBit(bit.parameters.copy(), bit.margins.copy())
    before = joblib.hash(vars(training))
    first, again = (training.refine(bit, graph_of(pairs, ALL)) for _ in range(2))
    assert joblib.hash(vars(training)) == before
    np.testing.assert_array_equal(bit.parameters, kept.parameters)
    np.testing.assert_array_equal(bit.margins, kept.margins)
    np.testing.assert_array_equal(first.parameters, again.parameters)
    assert not np.array_equal(first.margins, bit.margins)


@pytest.mark.parametrize("with_labels", [False])
def test_a_graph_without_weights_leaves_the_bit_as_it_is(training):
    bit = training.propose(random_target(1))
    refined = training.refine(bit, DenseGraph(np.zeros((N, N))))
    np.testing.assert_array_equal(signs_of(refined.margins), signs_of(bit.margins))
    assert np.isfinite(refined.margins).all()


# Number of steps


@pytest.mark.parametrize("hash_function", [KernelHash, LinearHash])
def test_default_steps_are_15_with_labels_and_8_without(hash_function, pairs, digits):
    labels = pairs.labels()
    assert hash_function().n_refine_steps(labels) == 15
    assert hash_function().n_refine_steps(None) == 8
    assert (
        hash_function(refine_steps=3).n_refine_steps(labels) == hash_function(refine_steps=3).n_refine_steps(None) == 3
    )
    assert hash_function(refine_steps=0).n_refine_steps(labels) == 0
    assert begin(hash_function(), digits[0][:N], labels=labels)[1].refine_steps == 15
    assert begin(hash_function(), digits[0][:N])[1].refine_steps == 8


@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=40), LinearHash()], ids=lambda h: type(h).__name__)
@pytest.mark.parametrize(("proximity", "steps"), [(None, 15), (WithinRadius(), 8)], ids=["labels", "radius"])
def test_a_fit_takes_the_default_steps_at_each_bit(hash_function, proximity, steps, train, minimised):
    model = ProximityPreservingCode(3, proximity=proximity, hash_function=hash_function, random_state=0)
    model.fit(*train)
    # The optimiser also fits the posteriors of labels, in another module.
    assert [options["options"]["maxiter"] for _, _, options in minimised] == [steps] * 3


def test_more_steps_give_larger_values(pairs, digits):
    values = []
    for steps in (1, 15):
        _, training = begin(KernelHash(n_landmarks=40, refine_steps=steps), digits[0][:N], labels=pairs.labels())
        graph = graph_of(pairs, ALL)
        refined = [training.refine(training.propose(random_target(seed)), graph) for seed in range(5)]
        values.append(np.mean([graph.value(signs_of(bit.margins)) for bit in refined]))
    assert values[1] > 1.1 * values[0]


def test_no_refinement_step_is_taken_where_there_are_none(train, minimised):
    for hash_function in (KernelHash(n_landmarks=40, refine_steps=0), LinearHash(refine_steps=0), SVMHash()):
        ProximityPreservingCode(2, hash_function=hash_function, random_state=0).fit(*train)
    assert not minimised


def test_without_refinement_bits_are_directions_among_features(train):
    hash_function = KernelHash(n_landmarks=40, refine_steps=0)
    model = ProximityPreservingCode(2, hash_function=hash_function, random_state=0).fit(*train)
    assert model.hash_function_.posteriors_ is None
    assert model.hash_function_.directions_.shape == (2, 41)


# Codes


def test_refined_bits_are_better_on_new_samples_where_classes_overlap(digits):
    X, y = digits
    X = X + np.random.default_rng(0).normal(scale=8, size=X.shape)
    scores = {}
    for steps in (0, 15):
        runs = [
            ProximityPreservingCode(n_bits=12, hash_function=KernelHash(refine_steps=steps), random_state=seed)
            for seed in range(3)
        ]
        scores[steps] = np.mean([model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for model in runs])
    assert scores[15] > scores[0] + 0.01


@pytest.mark.parametrize(
    ("hash_function", "error", "message"),
    [
        (KernelHash(refine_steps=-1), ValueError, "refine_steps=-1: expected an integer from 0 to 1000000"),
        (LinearHash(refine_steps=2.5), TypeError, "refine_steps=2.5: expected an integer from 0 to 1000000"),
        (KernelHash(gamma=np.inf), ValueError, "gamma=inf: expected a number above 0"),
        (KernelHash(n_landmarks=10.5), TypeError, "n_landmarks=10.5: expected an integer of at least 1"),
        (LinearHash(ridge="a"), TypeError, "ridge='a': expected a number above 0"),
    ],
)
@pytest.mark.parametrize("error_correction", [True, False])
def test_a_fit_refuses_bad_parameters(hash_function, error, message, error_correction, train):
    model = ProximityPreservingCode(2, hash_function=hash_function, error_correction=error_correction)
    with pytest.raises(error, match=message):
        model.fit(*train)
    assert not hasattr(model, "n_bits_")
