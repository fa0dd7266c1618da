"""Fitted models with stores: two stages of search, and codes of another model."""

import numpy as np
import pytest

pytest.importorskip("faiss")

from proxcode import HammingIndex, KernelHash, LinearHash, ProximityPreservingCode, ShardedIndex
from proxcode.stores import HNSW, FaissIndex, MultiHash

N_BITS = 24


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 700)
    return rng.normal(size=(5, 12))[y] + 0.7 * rng.normal(size=(700, 12)), y


@pytest.fixture(scope="module")
def model(samples):
    return ProximityPreservingCode(n_bits=N_BITS, random_state=0).fit(*samples)


@pytest.fixture(scope="module")
def other(samples):
    return ProximityPreservingCode(n_bits=N_BITS, random_state=0).fit(samples[0])


def test_two_stages_find_the_nearest_by_float_queries(model, samples, tmp_path):
    X = samples[0]
    codes = model.encode(X)
    index = model.index(codes)
    index.save(tmp_path / "all.index")
    expected = index.search(model.query(X[:20]), 5)
    for store in (index, FaissIndex(N_BITS).add(codes), ShardedIndex([tmp_path / "all.index"])):
        found = model.search(store, X[:20], 5, oversample=700)
        np.testing.assert_array_equal(found.distance, expected.distance)
        by_code = model.search(store, X[:20], 5, oversample=1)
        np.testing.assert_array_equal(np.sort(by_code.neighbor), np.sort(store.search(codes[:20], 5).neighbor))


def test_missing_candidates_stay_missing(model, samples):
    X = samples[0]
    codes = np.unique(model.encode(X), axis=0)[:2]
    store = FaissIndex(N_BITS, MultiHash(key_bits=24, n_flips=0), model=model).add(codes)
    queries = X[[np.flatnonzero((model.encode(X) == codes[0]).all(axis=1))[0]]]
    distance, neighbor = model.search(store, queries, 2)
    assert neighbor.tolist() == [[0, -1]]
    assert np.isfinite(distance[0, 0])
    assert np.isinf(distance[0, 1])
    assert len(FaissIndex(N_BITS, HNSW()).add(codes).get([1, 0])) == 2


def test_a_fingerprint_outlives_saving_and_extension(model, samples, tmp_path):
    model.save(tmp_path / "m.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "m.proxcode")
    assert loaded.fingerprint() == model.fingerprint() == model.fingerprint(N_BITS)
    prints = [model.fingerprint(n_bits) for n_bits in (8, 9, N_BITS)]
    loaded.extend(N_BITS + 8, *samples)
    assert [loaded.fingerprint(n_bits) for n_bits in (8, 9, N_BITS)] == prints
    assert len({*prints, loaded.fingerprint()}) == 4
    with pytest.raises(ValueError, match=r"^n_bits=25: expected an integer from 1 to 24"):
        model.fingerprint(25)


def test_an_index_refuses_codes_of_another_model(model, other, samples, tmp_path):
    X = samples[0]
    index = model.index(model.encode(X))
    message = "^the stored codes are of the model .* not of .*: codes of different models cannot be compared"
    with pytest.raises(ValueError, match=message):
        other.search(index, X[:2])
    with pytest.raises(ValueError, match=message):
        index.search(other.query(X[:2]))
    with pytest.raises(ValueError, match=message):
        index.within(other.query(X[:2]), 1.0)
    index.save(tmp_path / "a.index")
    HammingIndex.load(tmp_path / "a.index", model=model)
    ShardedIndex(tmp_path / "a.index", model=model.fingerprint())
    with pytest.raises(ValueError, match=r"a\.index cannot be read: the stored codes are of the model"):
        HammingIndex.load(tmp_path / "a.index", model=other)
    with pytest.raises(ValueError, match=message):
        ShardedIndex(tmp_path / "a.index", model=other)
    other.index(other.encode(X), ids=np.arange(700) + 700).save(tmp_path / "b.index")
    with pytest.raises(
        ValueError, match=r"b\.index has codes of the model .*, but .*a\.index of .*: expected files of"
    ):
        ShardedIndex([tmp_path / "a.index", tmp_path / "b.index"])


def test_two_stages_need_all_bits(model, samples):
    index = model.index(model.encode(samples[0], 16), n_bits=16)
    index.check_model(model)
    with pytest.raises(
        ValueError, match=r"^store has codes of 16 bits, the model of 24: two stages need codes of all b"
    ):
        model.search(index, samples[0][:2])


def test_models_of_the_same_data_have_fingerprints_of_their_own(rng):
    """Codes of separable samples can be equal although the models differ on new samples."""
    X = np.repeat(100.0 * np.eye(4), 50, axis=0) + rng.normal(size=(200, 4))
    y = np.repeat(np.arange(4), 50)
    prints = {
        ProximityPreservingCode(n_bits=16, hash_function=hash_function, random_state=0).fit(X, y).fingerprint()
        for hash_function in (None, KernelHash(ridge=1e-3), KernelHash(ridge=2e-3), LinearHash())
    }
    assert len(prints) == 4
