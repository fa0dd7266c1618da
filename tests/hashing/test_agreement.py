"""Functions that near pairs agree on, and codes learned from near pairs alone."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from proxcode import GivenPairs, KernelHash, LinearHash, ProximityPreservingCode, SVMHash
from proxcode.hashing.agreement import Agreement
from proxcode.hashing.features import Features
from proxcode.pairs import ListedNear


@pytest.fixture(scope="module")
def digits():
    """Return 1,200 digits, 4,000 near pairs of them, and new digits."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(X))
    X, y = X[order], y[order]
    i, j = np.random.default_rng(4).integers(1200, size=(2, 60_000))
    pairs = np.column_stack([i, j])[(y[i] == y[j]) & (i != j)][:4000]
    return X, y, pairs


@pytest.fixture(scope="module")
def model(digits):
    X, _, pairs = digits
    return ProximityPreservingCode(64, proximity=GivenPairs(pairs), random_state=0).fit(X[:1200])


def made(n, ridge_pairs=2000, noise=1.0, seed=0):
    """Return samples of 20 features, the first two of which show one of six purposes, and near pairs."""
    rng = np.random.default_rng(seed)
    purpose = rng.integers(6, size=n)
    X = rng.normal(size=(n, 20)) * 3
    X[:, :2] = 4 * np.column_stack([np.cos(purpose), np.sin(purpose)]) + noise * rng.normal(size=(n, 2))
    i, j = rng.integers(n, size=(2, 40 * ridge_pairs))
    pairs = np.vstack([i, j])[:, (purpose[i] == purpose[j]) & (i < j)][:, :ridge_pairs]
    return X, purpose, np.unique(pairs, axis=1)


def agreement_of(X, pairs, n_held=300):
    hash_function = LinearHash()
    hash_function._choose_inputs(X, np.random.default_rng(0), supervised=True, kept=True)
    features = Features(hash_function._inputs, None, X, X.shape[1], None, keep=True)
    held = np.random.default_rng(1).permutation(pairs.shape[1])
    near = ListedNear(pairs[:, np.sort(held[n_held:])], pairs[:, np.sort(held[:n_held])])
    return Agreement(features, near), near


def test_functions_are_those_that_show_what_near_samples_share():
    X, _, pairs = made(1500)
    agreement, _ = agreement_of(X, pairs)
    functions, _ = agreement.functions(1e-4)
    share = (functions[:2] ** 2).sum(axis=0) / (functions**2).sum(axis=0)
    # The first two are combinations of the two features; others weigh little.
    assert (share[:2] > 0.98).all()
    size = np.linalg.norm(X @ functions - (X @ functions).mean(axis=0), axis=0)
    assert functions.shape[1] <= 4
    assert (size[2:] < 0.5 * size[1]).all()


def test_values_are_those_of_functions_that_were_not_told_of_the_sample():
    X, _, pairs = made(400, ridge_pairs=500, noise=2.0)
    agreement, near = agreement_of(X, pairs, n_held=100)
    along = agreement._functions(agreement._moments(20), 1e-2)[:, :2]
    values = agreement.values(along, 1e-2, np.arange(400))
    fitted = agreement.centred @ along
    degree = np.bincount(near.learned.ravel(), minlength=400)
    errors = []
    for i in np.argsort(-degree)[:20]:
        keep = (near.learned != i).all(axis=0)
        others = np.delete(np.arange(400), i)
        place = np.full(400, -1)
        place[others] = np.arange(399)
        hash_function = LinearHash()
        hash_function._choose_inputs(X, np.random.default_rng(0), supervised=True, kept=True)
        without = Features(hash_function._inputs, None, X[others], 20, None, keep=True)
        left_out = Agreement(without, ListedNear(place[near.learned[:, keep]], near.learned[:, :0]))
        refitted = left_out._functions(left_out._moments(20), 1e-2)[:, :2]
        truth = (hash_function._inputs(X[i : i + 1])[0] - left_out.mean) @ refitted
        truth *= np.sign((refitted * along).sum(axis=0))
        errors.append([np.abs(values[i] - truth).sum(), np.abs(fitted[i] - truth).sum()])
    # The approximation is far closer to the value of a fit without the sample than the fitted value is.
    left_out_error, fitted_error = np.mean(errors, axis=0)
    assert left_out_error < 0.4 * fitted_error


def test_pairs_that_share_nothing_leave_a_code(rng):
    X = rng.normal(size=(300, 5))
    pairs = rng.integers(300, size=(600, 2))
    model = ProximityPreservingCode(16, proximity=GivenPairs(pairs[pairs[:, 0] != pairs[:, 1]]), random_state=0).fit(X)
    assert np.isfinite(model.scores(X)).all()
    assert model.history_[-1].near_within < model.history_[-1].far_within + 0.3


def test_near_pairs_alone_are_enough(model, digits):
    X, y, _ = digits
    train, new = X[:1200], X[1200:]
    unit = [samples / np.linalg.norm(samples, axis=1, keepdims=True) for samples in (train, new)]
    float_found = np.argsort(-unit[1] @ unit[0].T, axis=1)[:, :10]
    _, found = model.index(model.encode(train)).search(model.encode(new), k=10)
    by_floats, by_codes = ((y[:1200][nearest] == y[1200:, None]).mean() for nearest in (float_found, found))
    assert by_codes > by_floats + 0.01


def test_shares_within_the_radius_are_those_of_new_pairs(model, digits):
    X, y, _ = digits
    bits = np.unpackbits(model.encode(X[1200:]), axis=1)
    is_within = (bits[:, None] != bits).sum(axis=2) <= model.radius_
    is_near, is_pair = y[1200:, None] == y[1200:], ~np.eye(len(bits), dtype=bool)
    last = model.history_[-1]
    assert last.near_within == pytest.approx(is_within[is_near & is_pair].mean(), abs=0.06)
    # A tenth of the sampled far pairs is near.
    assert last.far_within == pytest.approx(0.9 * is_within[~is_near].mean() + 0.1 * last.near_within, abs=0.03)
    assert last.near_within > 0.8


def test_stray_clicks_and_cliques_do_not_mislead_the_ridge():
    X, purpose, _ = made(1200, noise=1.0)
    rng = np.random.default_rng(5)
    items_of = [np.flatnonzero(purpose[:900] == wanted) for wanted in range(6)]
    clicks = np.array([rng.choice(items_of[wanted], 4) for wanted in rng.integers(6, size=900)])
    clicks = np.where(rng.random(clicks.shape) < 0.1, rng.integers(900, size=clicks.shape), clicks)
    pairs = np.vstack([clicks[:, [a, b]] for a in range(4) for b in range(a)])
    model = ProximityPreservingCode(32, proximity=GivenPairs(pairs), random_state=0).fit(X[:900])
    _, found = model.index(model.encode(X[:900])).search(model.encode(X[900:]), k=10)
    assert (purpose[found] == purpose[900:, None]).mean() > 0.6


@pytest.mark.parametrize(
    "hash_function", [None, LinearHash(), KernelHash(refine_steps=0), KernelHash(ridge=1e-3), SVMHash()]
)
def test_any_hash_function_learns_from_near_pairs(hash_function, digits):
    X, _, pairs = digits
    model = ProximityPreservingCode(8, proximity=GivenPairs(pairs), hash_function=hash_function, random_state=0)
    codes = model.fit(X[:1200]).encode(X)
    assert codes.shape == (1797, 1)
    assert len(np.unique(codes)) > 8


def test_extend_equals_one_fit_and_files_keep_the_code(model, digits, tmp_path):
    X, _, _ = digits
    short = ProximityPreservingCode(20, proximity=model.proximity, random_state=0).fit(X[:1200])
    short.save(tmp_path / "short.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "short.proxcode")
    np.testing.assert_array_equal(loaded.encode(X), short.encode(X))
    assert loaded.history_[-1][:-1] == short.history_[-1][:-1]
    np.testing.assert_array_equal(loaded.extend(64, X[:1200]).encode(X), model.encode(X))


def test_samples_in_no_pair_change_nothing(digits):
    X, _, pairs = digits
    parameters = {"proximity": GivenPairs(pairs), "random_state": 0}
    alone = ProximityPreservingCode(8, **parameters).fit(X[:1200])
    beside = ProximityPreservingCode(8, **parameters).fit(X)
    np.testing.assert_array_equal(alone.encode(X), beside.encode(X))
    assert len(beside.codes_) == len(X)


def test_a_fit_to_pairs_is_not_continued_without_them(digits):
    X, y, _ = digits
    labelled = ProximityPreservingCode(4, random_state=0).fit(X[:300], y[:300])
    near = ListedNear(np.array([[0, 1], [2, 3]]), np.empty((2, 0), int))
    with pytest.raises(ValueError, match="differ from those of the original fit"):
        labelled.hash_function_.begin_with_pairs(X[:300], np.random.default_rng(0), near)
