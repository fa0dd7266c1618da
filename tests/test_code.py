"""The estimator: prefix codes, extension, interrupts, threads, partial labels, bad input."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proxcode import (
    GivenPairs,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    SharedLabel,
    SVMHash,
    WithinRadius,
    unpack,
)
from proxcode.bits import BitLoop
from proxcode.cut import BitUpdate, RandomGuess, Restarts
from proxcode.hamming import distances
from proxcode.threshold import EqualErrorThreshold, loss
from proxcode.weights import DifferenceWeights, GradientWeights


def fit(train, **parameters):
    return ProximityPreservingCode(**{"n_bits": 24, "random_state": 0, **parameters}).fit(*train)


def test_codes_of_training_samples_are_those_of_encode(train):
    model = fit(train)
    np.testing.assert_array_equal(model.codes_, model.encode(train[0]))
    np.testing.assert_array_equal(unpack(model.codes_, 24), model.transform(train[0]))
    np.testing.assert_array_equal(model.transform(train[0]), model.scores(train[0]) >= 0)


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 23])
def test_a_prefix_is_the_shorter_models_code(train, new, n_bits):
    long, short = fit(train), fit(train, n_bits=n_bits)
    np.testing.assert_array_equal(long.encode(new[0], n_bits=n_bits), short.encode(new[0]))


@pytest.mark.parametrize("hash_function", [None, LinearHash(), SVMHash(), RandomForestClassifier(n_estimators=3)])
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("max_samples", [None, 200])
def test_extend_equals_one_long_fit(train, new, hash_function, error_correction, max_samples):
    parameters = {
        "hash_function": hash_function,
        "error_correction": error_correction,
        "max_samples": max_samples,
    }
    grown = fit(train, n_bits=5, **parameters).extend(12, *train)
    long = fit(train, n_bits=12, **parameters)
    np.testing.assert_array_equal(grown.encode(new[0]), long.encode(new[0]))
    np.testing.assert_array_equal(grown.codes_, long.codes_)
    assert [record[:-1] for record in grown.history_] == [record[:-1] for record in long.history_]
    assert (grown.n_bits_, grown.alpha_, grown.radius_) == (12, long.alpha_, long.radius_)
    # The parameter of the constructor is the user's: a clone is fitted with as many bits as were asked for.
    assert grown.n_bits == 5


def test_extend_to_the_present_length_changes_nothing(train):
    model = fit(train, n_bits=5)
    codes, history = model.codes_, list(model.history_)
    model.extend(5, *train)
    np.testing.assert_array_equal(model.codes_, codes)
    assert model.history_ == history


def test_an_extension_that_fails_leaves_the_model_as_it_was(train, new, monkeypatch):
    model = fit(train, n_bits=5)
    codes, history = model.encode(new[0]), list(model.history_)
    monkeypatch.setattr(BitLoop, "step", lambda loop: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.extend(9, *train)
    monkeypatch.undo()
    assert (model.n_bits_, model.history_) == (5, history)
    np.testing.assert_array_equal(model.encode(new[0]), codes)
    np.testing.assert_array_equal(model.extend(9, *train).codes_, fit(train, n_bits=9).codes_)


def test_a_model_does_not_keep_its_training_data(train):
    X, y = train
    model = fit((np.repeat(X, 8, axis=0), np.repeat(y, 8)), n_bits=5, hash_function=LinearHash())
    assert len(pickle.dumps(model)) < 100_000 < X.nbytes
    assert not [name for name, value in vars(model).items() if isinstance(value, np.ndarray) and name != "codes_"]


def test_a_pickled_model_extends_with_the_training_data(train, new):
    model = pickle.loads(pickle.dumps(fit(train, n_bits=5)))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'X'"):
        model.extend(9)
    with pytest.raises(ValueError, match="y=None: SameLabel needs labels"):
        model.extend(9, train[0])
    np.testing.assert_array_equal(model.extend(9, *train).encode(new[0]), fit(train, n_bits=9).encode(new[0]))


def test_an_interrupt_keeps_the_bits_learned_so_far(train, new, monkeypatch):
    step = BitLoop.step
    monkeypatch.setattr(BitLoop, "step", lambda self: _interrupt() if self.code.n_bits == 6 else step(self))
    model = ProximityPreservingCode(n_bits=12, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*train)
    assert model.n_bits_ == 6
    np.testing.assert_array_equal(model.encode(new[0]), fit(train, n_bits=6).encode(new[0]))
    monkeypatch.undo()
    np.testing.assert_array_equal(model.extend(12, *train).encode(new[0]), fit(train, n_bits=12).encode(new[0]))


def _interrupt(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "place",
    [
        "proxcode.hashing.training.RidgeTraining.refine",
        "proxcode.hashing.training.RidgeTraining.append",
        "proxcode.hamming.GrowingCode.append",
        "proxcode.bits.loop.logistic_loss",
    ],
)
def test_an_interrupt_inside_a_bit_drops_that_bit_only(train, new, monkeypatch, place):
    module, name = place.rsplit(".", 1)
    calls = iter(range(100))
    original = _resolve(module, name)
    monkeypatch.setattr(place, lambda *a: _interrupt() if next(calls) == 4 else original(*a))
    model = ProximityPreservingCode(n_bits=12, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*train)
    monkeypatch.undo()
    short, long = fit(train, n_bits=4), fit(train, n_bits=12)
    assert (model.n_bits_, model.alpha_, len(model.history_)) == (4, short.alpha_, 4)
    assert (model.radius_, model.hash_function_.n_bits_) == (short.radius_, 4)
    np.testing.assert_array_equal(model.codes_, short.codes_)
    np.testing.assert_array_equal(model.encode(new[0]), short.encode(new[0]))
    np.testing.assert_array_equal(model.extend(12, *train).encode(new[0]), long.encode(new[0]))


def _resolve(module, name):
    from importlib import import_module

    parts = module.split(".")
    owner = import_module(".".join(parts[:2]))
    for part in parts[2:]:
        owner = getattr(owner, part)
    return getattr(owner, name)


def test_a_failed_fit_leaves_the_model_as_it_was(train):
    X = train[0]
    with pytest.raises(NotFittedError):
        _fails(ProximityPreservingCode(n_bits=4), X).encode(X)
    model = fit(train, n_bits=4)
    codes = model.encode(X)
    np.testing.assert_array_equal(_fails(model, X).encode(X), codes)


def _fails(model, X):
    with pytest.raises(ValueError, match="no far pair"):
        model.fit(X, np.zeros(len(X)))
    return model


@pytest.mark.parametrize("supervised", [True, False])
def test_same_seed_same_bits_for_one_and_two_threads(train, supervised, monkeypatch):
    data = train if supervised else (train[0].astype(np.float32), None)
    monkeypatch.setattr("proxcode.pairs.groups.PARALLEL_PAIRS", 0)
    codes = []
    for n_threads in (1, 2):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n_threads: n)
        codes.append(fit(data).codes_)
    np.testing.assert_array_equal(*codes)


def test_same_seed_same_bits_in_processes_with_one_and_two_cores(tmp_path):
    script = (
        "import sys, numpy as np; from sklearn.datasets import make_blobs; from proxcode import *\n"
        "import proxcode.pairs.groups; proxcode.pairs.groups.PARALLEL_PAIRS = 0\n"
        "X, y = make_blobs(5000, 30, centers=8, cluster_std=12, random_state=0)\n"
        "model = ProximityPreservingCode(n_bits=20, random_state=1).fit(X.astype(np.float32), y)\n"
        "np.save(sys.argv[1], model.codes_)"
    )
    codes = []
    for n in (1, 2):
        limits = {name: str(n) for name in ("OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT")}
        subprocess.run(
            [sys.executable, "-c", script, tmp_path / f"{n}.npy"], check=True, env={"PATH": "/usr/bin:/bin", **limits}
        )
        codes.append(np.load(tmp_path / f"{n}.npy"))
    np.testing.assert_array_equal(*codes)


def test_different_seeds_give_different_bits(train):
    assert (fit(train).codes_ != fit(train, random_state=1).codes_).any()


def test_near_samples_are_within_the_learned_radius(train, new):
    model = fit(train, n_bits=32)
    codes, y = model.encode(new[0]), new[1]
    within = distances(codes, codes) <= model.radius_
    near = y[:, None] == y
    assert within[near].mean() > 0.75
    assert within[~near].mean() < 0.05


def test_history_tells_the_loss_of_the_code_bit_by_bit(train):
    model = fit(train, n_bits=6, hash_function=KernelHash(refine_steps=0))
    y = train[1]
    i, j = np.triu_indices(len(y), 1)
    for k, record in enumerate(model.history_, start=1):
        h = distances(model.encode(train[0], n_bits=k), model.encode(train[0], n_bits=k))[i, j]
        near, far = (np.bincount(h[(y[i] == y[j]) == kind], minlength=k + 1) for kind in (True, False))
        assert record.loss == loss(near, far)
    assert model.alpha_ == model.history_[-1].alpha
    assert 0 < model.history_[-1].hash_accuracy <= 1
    assert model.history_[-1].flips > 0 < model.history_[-1].sweeps


def test_the_papers_own_method(train, new):
    components = {
        "threshold": EqualErrorThreshold(),
        "weights": GradientWeights(),
        "cut": Restarts(RandomGuess(), BitUpdate(), n_starts=1),
        "hash_function": SVMHash(),
    }
    model = ProximityPreservingCode.paper(8, random_state=0).fit(*train)
    expected = ProximityPreservingCode(8, random_state=0, **components).fit(*train)
    np.testing.assert_array_equal(model.codes_, expected.codes_)
    assert repr(model) == repr(expected)
    assert model.score(*new) > 0.8
    changed = ProximityPreservingCode.paper(weights=DifferenceWeights(), max_samples=50)
    assert (changed.n_bits, changed.max_samples) == (64, 50)
    assert isinstance(changed.weights, DifferenceWeights)
    assert isinstance(changed.threshold, EqualErrorThreshold)


def test_error_correction_lowers_the_loss_of_the_code_as_hashed(digits):
    from sklearn.linear_model import Perceptron

    X, y = digits
    losses = {}
    for error_correction in (True, False):
        model = fit((X[:, 20:26], y), hash_function=Perceptron(), error_correction=error_correction, n_bits=16)
        losses[error_correction] = model.score(X[:, 20:26], y)
    assert losses[True] > losses[False]


def test_stops_once_the_loss_target_is_met(train):
    model = fit(train, n_bits=64, loss_target=0.01)
    assert model.n_bits_ < 64
    assert model.history_[-1].loss <= 0.01 < model.history_[-2].loss
    assert model.transform(train[0]).shape[1] == model.n_bits_


def test_unlabelled_samples_change_nothing_and_are_encoded(train):
    X, y = train
    partly = y.astype(float)
    partly[300:] = np.nan
    model, labelled_only = fit((X, partly)), fit((X[:300], y[:300]))
    np.testing.assert_array_equal(model.encode(X), labelled_only.encode(X))
    np.testing.assert_array_equal(model.codes_, model.encode(X))


def test_minus_one_means_no_label(train, new):
    X, y = train
    partly = y.copy()
    partly[300:] = -1
    model, labelled_only = fit((X, partly)), fit((X[:300], y[:300]))
    np.testing.assert_array_equal(model.encode(X), labelled_only.encode(X))
    some = np.where(np.arange(len(new[1])) % 3 == 0, -1, new[1])
    assert model.score(new[0], some) == model.score(new[0][some != -1], some[some != -1])


def test_labels_of_minus_one_and_plus_one_are_refused_or_declared(train):
    X, y = train
    signs = np.where(y < 5, -1, 1)
    with pytest.raises(ValueError, match=r"y holds -1 and one other label.*SameLabel\(unlabelled=None\)"):
        fit((X, signs))
    by_signs = fit((X, signs), n_bits=2, proximity=SameLabel(unlabelled=None))
    assert by_signs.history_[-1].loss < 0.1
    np.testing.assert_array_equal(by_signs.codes_, fit((X, signs > 0), n_bits=2).codes_)


def test_multi_labels_keep_shared_labels_near(digits):
    X, y = digits
    indicator = np.column_stack([y % 2 == 0, y % 3 == 0, y > 6, y < 2]).astype(int)
    model = fit((X[:800], indicator[:800]), n_bits=32)
    assert isinstance(model.proximity_, SharedLabel)
    near = (indicator[800:1200] @ indicator[800:1200].T > 0).mean()
    assert model.score(X[800:1200], indicator[800:1200]) > near + 0.2


def test_pairs_alone_teach_a_code(train, new):
    X, y = train
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 400, (2, 20_000))
    pairs = np.column_stack([i, j, np.where(y[i] == y[j], 1, -1)])
    model = fit((X, None), proximity=GivenPairs(pairs))
    codes, y_new = model.encode(new[0]), new[1]
    h = distances(codes, codes)
    near = y_new[:, None] == y_new
    assert h[near].mean() < 0.6 * h[~near].mean()
    assert model.codes_.shape == (500, 3)
    with pytest.raises(ValueError, match="GivenPairs lists pairs of training samples"):
        model.score(*new)


def test_an_offset_or_an_outlier_does_not_spoil_the_default_hash_function(train, new):
    score = fit(train).score(*new)
    shifted = fit((train[0] + 1e5, train[1])).score(new[0] + 1e5, new[1])
    spoiled = train[0].copy()
    spoiled[0] *= 2000
    assert shifted > score - 0.01
    assert fit((spoiled, train[1])).score(*new) > score - 0.05


def test_large_integers_keep_their_precision(train, new):
    scaled = fit(((train[0] + 1_700_000_000).astype(np.int64), train[1]))
    assert scaled.score((new[0] + 1_700_000_000).astype(np.int64), new[1]) > fit(train).score(*new) - 0.01


def test_extend_ignores_the_loss_target(train):
    model = fit(train, n_bits=64, loss_target=0.01)
    n_bits = model.n_bits_
    assert model.extend(n_bits + 3, *train).n_bits_ == len(model.history_) == n_bits + 3


def test_seeds_of_nested_classifiers_are_set(train):
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3))
    np.testing.assert_array_equal(
        fit(train, n_bits=4, hash_function=pipeline).codes_, fit(train, n_bits=4, hash_function=pipeline).codes_
    )


def test_concurrent_fits_leave_blas_as_it_was(train):
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_info

    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    model = fit(train, n_bits=2)
    before = threads()
    Parallel(2, backend="threading")(delayed(model.encode)(train[0]) for _ in range(20))
    assert threads() == before


def test_radius_learns_neighbours(train, new):
    model = fit((train[0], None), n_bits=48, proximity=WithinRadius(mean_neighbors=20))
    assert model.score(new[0]) > 0.3


def test_a_second_interrupt_while_bits_are_kept_does_not_spoil_later_bits(train, monkeypatch):
    X, y = train
    expected = ProximityPreservingCode(n_bits=8, random_state=0).fit(X, y)
    model = ProximityPreservingCode(n_bits=4, random_state=0).fit(X, y)

    def interrupt(self, *arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("proxcode.hashing.KernelHash.scores", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.extend(6, X, y)
    assert model.n_bits_ == len(model.history_) == 4
    model.extend(8, X, y)
    np.testing.assert_array_equal(model.codes_, expected.codes_)
    assert (model.alpha_, model.radius_) == (expected.alpha_, expected.radius_)


def test_an_error_at_a_bit_leaves_the_model_as_it_was(train, monkeypatch):
    X, y = train
    model = ProximityPreservingCode(n_bits=2, random_state=0).fit(X, y)
    codes, steps = model.codes_, []

    def fail(self, *arguments):
        steps.append(1)
        if len(steps) == 3:
            raise MemoryError("no room")
        return step(self, *arguments)

    step = BitLoop.step
    monkeypatch.setattr(BitLoop, "step", fail)
    with pytest.raises(MemoryError):
        model.extend(6, X, y)
    assert model.n_bits_ == len(model.history_) == 2
    np.testing.assert_array_equal(model.encode(X), codes)
