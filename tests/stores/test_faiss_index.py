"""FAISS's indexes under the names of HammingIndex, against it."""

import sys

import numpy as np
import pytest

pytest.importorskip("faiss")

from proxcode.hamming import pack
from proxcode.search import HammingIndex
from proxcode.stores.faiss import HNSW, IVF, FaissIndex, Flat, MultiHash

N_BITS = 60


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 2, (40, N_BITS))
    return pack(centers[rng.integers(0, 40, 3000)] ^ (rng.random((3000, N_BITS)) < 0.05))


@pytest.fixture(scope="module")
def exact(codes):
    return HammingIndex(N_BITS).add(codes, ids=np.arange(3000) + 5)


@pytest.mark.parametrize("engine", [None, Flat(), IVF(n_lists=20, n_probe=20)])
def test_engines_that_look_everywhere_are_exact(codes, exact, engine):
    index = FaissIndex(codes, N_BITS, engine, ids=np.arange(3000) + 5)
    np.testing.assert_array_equal(index.search(codes[:30], 20).distance, exact.search(codes[:30], 20).distance)
    found, expected = index.within(codes[:30], 6), exact.within(codes[:30], 6)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.neighbor, expected.neighbor)
    assert len(index.within(codes[:3], 1024)[2].neighbor) == 3000


@pytest.mark.parametrize("engine", [IVF(), HNSW(), MultiHash(key_bits=12, n_flips=2)])
def test_approximate_engines_find_most_and_tell_true_distances(codes, exact, engine):
    index = FaissIndex(codes, N_BITS, engine)
    distance, neighbor = index.search(codes[:50], 10)
    expected = exact.search(codes[:50], 10).distance
    true_distance = np.bitwise_count(codes[neighbor] ^ codes[:50, None]).sum(axis=2)
    np.testing.assert_array_equal(distance, np.where(neighbor < 0, -1, true_distance))
    assert (np.where(distance < 0, 99, distance) >= expected).all()
    assert (distance == expected).mean() > 0.8
    assert (neighbor[:, 0] >= 0).all()


def test_codes_found_by_no_engine_are_marked():
    codes = np.array([[0, 0], [255, 255]], np.uint8)
    distance, neighbor = FaissIndex(codes, 16, MultiHash(key_bits=8, n_flips=0), ids=[7, 8]).search(codes[:1], 2)
    assert distance.tolist() == [[0, -1]]
    assert neighbor.tolist() == [[7, -1]]


def test_bad_input_is_refused_in_one_sentence(codes, monkeypatch):
    with pytest.raises(ValueError, match="HNSW has no search within a radius"):
        FaissIndex(codes, N_BITS, HNSW()).within(codes[:1], 2)
    with pytest.raises(ValueError, match="there are no codes"):
        FaissIndex(codes[:0], N_BITS)
    with pytest.raises(ValueError, match="but 2 ids"):
        FaissIndex(codes, N_BITS, ids=[1, 2])
    with pytest.raises(ValueError, match="n_lists=9000 is more than the 3000 codes"):
        FaissIndex(codes, N_BITS, IVF(n_lists=9000))
    with pytest.raises(ValueError, match="n_tables=9 of key_bits=16 do not fit codes of 64 bits"):
        FaissIndex(codes, N_BITS, MultiHash(n_tables=9))
    with pytest.raises(ValueError, match="n_tables=1 of key_bits=16 do not fit codes of 8 bits"):
        FaissIndex(codes[:, :1], 8, MultiHash())
    with pytest.raises(ValueError, match="codes have 7 bytes"):
        FaissIndex(codes, N_BITS).search(codes[:1, :7])
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'proxcode\[faiss\]'"):
        FaissIndex(codes, N_BITS)
