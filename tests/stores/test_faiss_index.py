"""FaissIndex against HammingIndex."""

import sys

import numpy as np
import pytest

pytest.importorskip("faiss")

from proxcode.hamming import pack
from proxcode.search import ByMargins, HammingIndex
from proxcode.stores import HNSW, IVF, FaissIndex, Flat, MultiHash

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
    index = FaissIndex(N_BITS, engine).add(codes[:2000], ids=np.arange(2000) + 5).add(codes[2000:])
    np.testing.assert_array_equal(index.search(codes[:30], 20).distance, exact.search(codes[:30], 20).distance)
    found, expected = index.within(codes[:30], 6), exact.within(codes[:30], 6)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.neighbor, expected.neighbor)
    assert len(index.within(codes[:3], 1024)[2].neighbor) == 3000


@pytest.mark.parametrize("engine", [IVF(), HNSW(), MultiHash(key_bits=12, n_flips=2)])
def test_approximate_engines_find_most_and_tell_true_distances(codes, exact, engine):
    index = FaissIndex(N_BITS, engine).add(codes)
    distance, neighbor = index.search(codes[:50], 10)
    expected = exact.search(codes[:50], 10).distance
    true_distance = np.bitwise_count(codes[neighbor] ^ codes[:50, None]).sum(axis=2)
    np.testing.assert_array_equal(distance, np.where(neighbor < 0, -1, true_distance))
    assert (np.where(distance < 0, 99, distance) >= expected).all()
    assert (distance == expected).mean() > 0.8
    assert (neighbor[:, 0] >= 0).all()


@pytest.mark.parametrize("engine", [Flat(), IVF(), HNSW(), MultiHash()])
def test_every_engine_returns_its_codes(codes, exact, engine):
    index = FaissIndex(N_BITS, engine).add(codes[:2000], ids=np.arange(2000) + 5).add(codes[2000:])
    np.testing.assert_array_equal(index.get([2004, 5, 3004]), codes[[1999, 0, 2999]])
    margins = np.where(np.unpackbits(codes[:2], axis=1, count=N_BITS), 1.0, -1.0)
    found = index.search(codes[:2], 3, rescore=ByMargins(margins))
    assert (found.distance[:, 0] == exact.search(codes[:2], 1, rescore=ByMargins(margins)).distance[:, 0]).all()


def test_codes_found_by_no_engine_are_marked():
    codes = np.array([[0, 0], [255, 255]], np.uint8)
    index = FaissIndex(16, MultiHash(key_bits=8, n_flips=0)).add(codes, ids=[7, 8])
    distance, neighbor = index.search(codes[:1], 2)
    assert distance.tolist() == [[0, -1]]
    assert neighbor.tolist() == [[7, -1]]


@pytest.mark.parametrize("engine", [IVF(n_lists=20), HNSW(), MultiHash()])
def test_only_the_flat_index_supports_removal(codes, engine):
    index = FaissIndex(N_BITS, engine).add(codes)
    with pytest.raises(ValueError, match=f"^{type(engine).__name__} does not support removal: use Flat"):
        index.remove([5])
    assert len(index) == 3000
    assert index.search(codes[5:6], 1).distance.tolist() == [[0]]


def test_an_addition_of_no_code_does_not_create_the_index(codes):
    index = FaissIndex(N_BITS, IVF(n_lists=20)).add(codes[:0])
    assert len(index) == 0
    assert len(index.add(codes)) == 3000


def test_the_representation_names_the_engine(codes):
    assert repr(FaissIndex(N_BITS, HNSW()).add(codes)) == "FaissIndex(n_bits=60, engine=HNSW), 3,000 codes"


def test_wrong_values_are_refused(codes, monkeypatch):
    with pytest.raises(ValueError, match=r"^HNSW does not support search within a radius: use Flat"):
        FaissIndex(N_BITS, HNSW()).add(codes).within(codes[:1], 2)
    with pytest.raises(ValueError, match=r"^n_lists=9000: expected at most 3000, the number of codes\.$"):
        FaissIndex(N_BITS, IVF(n_lists=9000)).add(codes)
    with pytest.raises(ValueError, match=r"^n_tables=9, key_bits=16: expected a product of at most 64"):
        FaissIndex(N_BITS, MultiHash(n_tables=9)).add(codes)
    with pytest.raises(ValueError, match=r"^n_tables=1, key_bits=16: expected a product of at most 8"):
        FaissIndex(8, MultiHash()).add(codes[:, :1])
    with pytest.raises(ValueError, match=r"^codes has 7 bytes per row: expected 8 bytes for 60 bits"):
        FaissIndex(N_BITS).add(codes).search(codes[:1, :7])
    for engine in (20, "flat", Flat):
        with pytest.raises(TypeError, match=r"^engine=.*: expected an object such as Flat\(\) or IVF\(\)\.$"):
            FaissIndex(N_BITS, engine)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModuleNotFoundError, match=r"^FaissIndex requires FAISS: pip install 'proxcode\[faiss\]'\.$"):
        FaissIndex(N_BITS)
