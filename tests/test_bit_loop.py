"""The loop over bits: the cut that is kept, the subsets that bits are learned from, error correction."""

import numpy as np
import pytest
import scipy.sparse as sp

from proxcode import GivenPairs, KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.bits import BitLoop, Rules
from proxcode.cut import Restarts
from proxcode.cut.initial import signs_of
from proxcode.hamming import GrowingCode, unpack
from proxcode.hashing import NoHash
from proxcode.pairs import FoundPairs, NearLists, Pairs, SameClassPairs
from proxcode.proximity import SameLabel
from proxcode.threshold import CalibratedThreshold
from proxcode.utils.rows import ALL
from proxcode.weights import DifferenceWeights

NO_CODES = np.empty((0, 0), np.uint8)
KERNEL = KernelHash(n_landmarks=60)


def rules(cut=None, error_correction=True):
    cut = Restarts() if cut is None else cut
    return Rules(CalibratedThreshold(), DifferenceWeights(), cut, error_correction)


class RecordingCut:
    """A search for cuts that records the graphs and the cuts."""

    def __init__(self):
        self.found = []

    def solve(self, graph, rng):
        cut = Restarts().solve(graph, rng)
        self.found.append((graph, cut))
        return cut


def begin(train, hash_function=KERNEL, proximity=None, **parameters):
    X, y = train
    found = (SameLabel() if proximity is None else proximity).fit(X, y).find_pairs(X, y)
    settings = {"rules": rules(), "max_samples": None, "seed": 0, "codes": NO_CODES, **parameters}
    settings = {"n_learned": 0, "n_bits": 12, **settings}
    return BitLoop.begin(
        X, found, hash_function.__class__(**hash_function.get_params()), settings.pop("rules"), **settings
    )


@pytest.fixture
def trained(monkeypatch):
    """Return a function that records the calls of a training's propose and refine in lists of its own."""

    def record(training):
        calls = {"propose": [], "refine": []}
        for name, seen in calls.items():
            method = getattr(training, name)

            def recorded(*args, method=method, seen=seen):
                seen.append((args, method(*args)))
                return seen[-1][1]

            monkeypatch.setattr(training, name, recorded)
        return calls

    return record


# Several cuts


def test_the_cut_whose_hashed_bit_has_the_largest_value_is_kept(train, trained):
    cut = RecordingCut()
    loop = begin(train, rules=rules(cut))
    calls = trained(loop.training)
    spreads = []
    for n_bits in range(4):
        cut.found.clear()
        calls["propose"].clear()
        record = loop.step()
        assert len(cut.found) == len(calls["propose"]) == loop.pairs.n_cuts(n_bits) == 8
        values = []
        for (graph, found), ((target, samples), bit) in zip(cut.found, calls["propose"], strict=True):
            np.testing.assert_array_equal(target, found.partition)
            assert samples == ALL
            values.append(graph.value(signs_of(bit.margins)))
        (refined, form, samples), result = calls["refine"][-1]
        best = int(np.argmax(values))
        assert refined is calls["propose"][best][1]
        graph, found = cut.found[best]
        assert samples == ALL
        assert form.value(found.partition) == graph.value(found.partition)
        assert record.flips == found.flips
        np.testing.assert_array_equal(unpack(loop.code.packed(), n_bits + 1)[:, -1], result.margins >= 0)
        spreads.append(max(values) - min(values))
    assert max(spreads) > 0
    assert len(loop.training.bits) == len(calls["refine"]) == 4


@pytest.mark.parametrize(
    ("hash_function", "error_correction"),
    [(KernelHash(n_landmarks=60, refine_steps=0), True), (SVMHash(), True), (KERNEL, False)],
    ids=["no steps", "SVM", "no error correction"],
)
def test_without_refinement_there_is_one_cut(hash_function, error_correction, train, trained):
    cut = RecordingCut()
    loop = begin(train, hash_function, rules=rules(cut, error_correction))
    calls = trained(loop.training)
    for _ in range(2):
        loop.step()
    assert len(cut.found) == len(calls["propose"]) == 2
    assert not calls["refine"]


# Subsets of the samples


def given_pairs(n):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, n)
    first, second = np.nonzero(np.triu(rng.random((n, n)) < 0.2, 1))
    signs = np.where(classes[first] == classes[second], 1, -1)
    return GivenPairs(sp.coo_array((signs, (first, second)), shape=(n, n)).tocsr())


PROBLEMS = {
    "labels": lambda y: (None, y),
    "multi-labels": lambda y: (None, np.column_stack([np.eye(10)[y], y % 2 == 0]).astype(int)),
    "radius": lambda y: (WithinRadius(), None),
    "pairs": lambda y: (given_pairs(len(y)), None),
}


@pytest.fixture(params=PROBLEMS)
def problem(request, train):
    """Return a function that fits codes, and one that extends a model."""
    proximity, y = PROBLEMS[request.param](train[1])
    settings = {"max_samples": 120, "hash_function": KERNEL, "random_state": 0}

    def fit(n_bits, **parameters):
        model = ProximityPreservingCode(n_bits, proximity=proximity, **(settings | parameters))
        return model.fit(train[0], y)

    return fit, lambda model, n_bits: model.extend(n_bits, train[0], y)


@pytest.mark.parametrize("proximity", [None, WithinRadius()], ids=["labels", "radius"])
def test_the_subset_is_redrawn_for_each_bit(proximity, train, trained):
    cut = RecordingCut()
    loop = begin(train, proximity=proximity, max_samples=100, rules=rules(cut))
    calls = trained(loop.training)
    subsets = []
    for _ in range(6):
        calls["propose"].clear()
        loop.step()
        of_bit = [samples for (_, samples), _ in calls["propose"]]
        for samples in of_bit:
            np.testing.assert_array_equal(samples, of_bit[0])
        subsets.append(of_bit[0])
    assert {len(samples) for samples in subsets} == {graph.n_nodes for graph, _ in cut.found} == {100}
    assert len({tuple(samples) for samples in subsets}) == 6
    covered = len(np.unique(np.concatenate(subsets)))
    # 500 (1 - (4/5)^6) = 369 of 500 samples are expected in at least one of six independent subsets of a fifth.
    assert abs(covered - 369) < 40


def test_the_subset_of_a_bit_depends_on_the_seed_and_its_number_alone(train, trained):
    def subsets(seed, n_bits):
        loop = begin(train, max_samples=100, seed=seed)
        calls = trained(loop.training)
        for _ in range(n_bits):
            loop.step()
        return [tuple(samples) for (_, samples), _ in calls["propose"]][::8]

    assert subsets(0, 3) == subsets(0, 4)[:3]
    assert not set(subsets(0, 2)) & set(subsets(1, 2))


@pytest.mark.parametrize(
    ("hash_function", "error_correction", "max_samples"),
    [
        (KERNEL, True, 50),
        (LinearHash(), True, 50),
        (KernelHash(n_landmarks=60, refine_steps=0), True, 500),
        (LinearHash(refine_steps=0), True, 500),
        (SVMHash(), True, 500),
        (KERNEL, False, 500),
    ],
)
@pytest.mark.parametrize("proximity", [None, WithinRadius()], ids=["labels", "radius"])
def test_by_default_all_samples_enter_where_bits_are_not_refined(
    proximity, hash_function, error_correction, max_samples, train, monkeypatch
):
    monkeypatch.setattr(Pairs, "default_max_samples", 50)
    cut = RecordingCut()
    loop = begin(train, hash_function, proximity, rules=rules(cut, error_correction))
    loop.step()
    assert loop.max_samples == max_samples
    assert {graph.n_nodes for graph, _ in cut.found} == {max_samples}


def test_the_default_of_max_samples_is_10000():
    assert SameClassPairs.default_max_samples == NearLists.default_max_samples == 10_000


def test_codes_learned_from_subsets_are_reproducible_have_prefixes_and_extend(problem, new):
    fit, extend = problem
    long, again, short = fit(16), fit(16), fit(8)
    codes = long.encode(new[0])
    np.testing.assert_array_equal(again.encode(new[0]), codes)
    np.testing.assert_array_equal(short.encode(new[0]), long.encode(new[0], n_bits=8))
    assert not np.array_equal(fit(8, random_state=1).encode(new[0]), codes[:, :1])
    np.testing.assert_array_equal(extend(short, 16).encode(new[0]), codes)
    assert (short.n_bits_, short.n_bits) == (16, 8)
    np.testing.assert_array_equal(long.codes_, again.codes_)


def test_max_samples_of_all_samples_is_exact(problem, new):
    fit, _ = problem
    exact = fit(8, max_samples=None)
    np.testing.assert_array_equal(fit(8, max_samples=500).encode(new[0]), exact.encode(new[0]))
    np.testing.assert_array_equal(fit(8, max_samples=np.int64(600)).encode(new[0]), exact.encode(new[0]))


@pytest.mark.parametrize("hash_function", [LinearHash(), SVMHash()], ids=lambda h: type(h).__name__)
def test_any_hash_function_learns_from_subsets(hash_function, train, new):
    model = ProximityPreservingCode(12, max_samples=150, hash_function=hash_function, random_state=0).fit(*train)
    assert model.score(*new) > 0.6


def test_codes_of_labels_learned_from_subsets_keep_prefixes_and_extend(train, new):
    parameters = {"max_samples": 200, "random_state": 0}
    long = ProximityPreservingCode(n_bits=12, **parameters).fit(*train)
    grown = ProximityPreservingCode(n_bits=5, **parameters).fit(*train).extend(12, *train)
    np.testing.assert_array_equal(grown.encode(new[0]), long.encode(new[0]))
    np.testing.assert_array_equal(long.codes_, long.encode(train[0]))
    assert long.score(*new) > 0.8


def test_a_pool_of_the_samples_is_enough_with_labels(train, new, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.labels.MAX_CANDIDATES", 250)
    loop = begin(train, max_samples=150)
    assert len(loop.samples) == loop.pairs.n_samples == 250
    np.testing.assert_array_equal(loop.pairs.classes, train[1][loop.samples])
    parameters = {"max_samples": 150, "hash_function": KERNEL, "random_state": 0}
    for error_correction in (True, False):
        model = ProximityPreservingCode(10, error_correction=error_correction, **parameters).fit(*train)
        grown = ProximityPreservingCode(4, error_correction=error_correction, **parameters).fit(*train)
        grown.extend(10, *train)
        np.testing.assert_array_equal(grown.encode(new[0]), model.encode(new[0]))
        np.testing.assert_array_equal(grown.codes_, model.codes_)
        assert model.score(*new) > 0.45


@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize(
    ("max_samples", "error", "message"),
    [
        (1, ValueError, "max_samples=1: expected an integer of at least 2"),
        (0, ValueError, "max_samples=0: expected an integer of at least 2"),
        (2.5, TypeError, "max_samples=2.5: expected an integer of at least 2"),
        ("all", TypeError, "max_samples='all': expected an integer of at least 2"),
        (True, TypeError, "max_samples=True: expected an integer of at least 2"),
    ],
)
def test_a_bad_max_samples_is_refused(max_samples, error, message, error_correction, train):
    with pytest.raises(error, match=message):
        ProximityPreservingCode(2, max_samples=max_samples, error_correction=error_correction).fit(*train)


@pytest.mark.parametrize("with_labels", [True, False])
def test_small_subsets_lose_little(with_labels, digits):
    X, y = digits[0], digits[1] if with_labels else None
    proximity = None if with_labels else WithinRadius()
    settings = {"n_bits": 24, "proximity": proximity, "hash_function": KernelHash(n_landmarks=300), "random_state": 0}
    new = (X[1000:], y[1000:] if with_labels else None)
    exact, sampled = (
        ProximityPreservingCode(max_samples=max_samples, **settings)
        .fit(X[:1000], y[:1000] if with_labels else None)
        .score(*new)
        for max_samples in (None, 300)
    )
    assert sampled > exact - 0.05


def test_one_class_alone_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    message = "there is no far pair among 30 of 30 samples, but a code needs near and far pairs: check the proximity"
    with pytest.raises(ValueError, match=message):
        ProximityPreservingCode(2).fit(X, np.zeros(30))


# Without error correction


def test_without_error_correction_refinement_steps_are_not_taken(train, new):
    codes = [
        ProximityPreservingCode(
            6,
            error_correction=False,
            hash_function=KernelHash(n_landmarks=60, refine_steps=steps),
            random_state=0,
        )
        .fit(*train)
        .encode(new[0])
        for steps in (None, 0, 3)
    ]
    np.testing.assert_array_equal(codes[1], codes[0])
    np.testing.assert_array_equal(codes[2], codes[0])


@pytest.mark.parametrize("max_samples", [None, 120])
def test_without_error_correction_the_cut_enters_the_code(max_samples, train, trained):
    cut = RecordingCut()
    loop = begin(train, max_samples=max_samples, rules=rules(cut, error_correction=False))
    calls = trained(loop.training)
    differences = 0
    for n_bits in range(4):
        loop.step()
        (_, found), ((_, samples), bit) = cut.found[-1], calls["propose"][-1]
        assert len(found.partition) == (500 if max_samples is None else 120)
        kept = 2 * unpack(loop.code.packed(), n_bits + 1)[:, -1].astype(int) - 1
        np.testing.assert_array_equal(kept[samples], found.partition)
        # Samples outside the subset have no cut: they get the bit of the hash function.
        outside = np.setdiff1d(np.arange(500), np.arange(500)[samples])
        np.testing.assert_array_equal(kept[outside], signs_of(bit.margins)[outside])
        differences += (kept != signs_of(bit.margins)).sum()
    assert differences > 0


def test_without_error_correction_codes_learned_from_subsets_have_prefixes_and_extend(train, new):
    settings = {"error_correction": False, "max_samples": 120, "hash_function": KERNEL, "random_state": 0}
    long, short = (ProximityPreservingCode(n_bits, **settings).fit(*train) for n_bits in (12, 5))
    np.testing.assert_array_equal(short.encode(new[0]), long.encode(new[0], n_bits=5))
    np.testing.assert_array_equal(unpack(short.codes_, 5), unpack(long.codes_, 12)[:, :5])
    short.extend(12, *train)
    np.testing.assert_array_equal(short.codes_, long.codes_)
    np.testing.assert_array_equal(short.encode(new[0]), long.encode(new[0]))
    assert long.score(*new) > 0.45


# Without a hash function


def test_without_a_hash_function_each_bit_is_the_cut(train):
    cut = RecordingCut()
    pairs = SameClassPairs(train[1])
    loop = BitLoop(pairs, NoHash(), rules(cut), max_samples=500, seed=0, code=GrowingCode(500))
    records = [loop.step() for _ in range(3)]
    partitions = np.column_stack([found.partition for _, found in cut.found])
    np.testing.assert_array_equal(2.0 * unpack(loop.code.packed(), 3) - 1, partitions)
    assert [record.hash_accuracy for record in records] == [1.0] * 3


def test_the_loop_begins_with_the_samples_that_take_part(train):
    X, y = train
    unlabelled = np.arange(500) % 5 == 0
    found = SameLabel(unlabelled=-1).find_pairs(X, np.where(unlabelled, -1, y))
    assert isinstance(found, FoundPairs)
    loop = BitLoop.begin(
        X, found, KernelHash(n_landmarks=60), rules(), max_samples=None, seed=0, codes=NO_CODES, n_learned=0, n_bits=12
    )
    np.testing.assert_array_equal(loop.samples, np.flatnonzero(~unlabelled))
    loop.step()
    assert len(loop.code.packed()) == 400


def test_a_code_without_a_hash_function_needs_all_samples(rng):
    pairs = SameClassPairs(rng.integers(0, 3, 60))
    loop = BitLoop(pairs, NoHash(), rules(Restarts()), max_samples=30, seed=0, code=GrowingCode(60))
    with pytest.raises(ValueError, match="a cut of 30 samples is not a bit of all samples: raise max_samples"):
        loop.step()
