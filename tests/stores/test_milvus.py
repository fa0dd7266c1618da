"""MilvusStore: what it records in a collection, its limits and its errors."""

import sys

import numpy as np
import pytest

from helpers.codes import random_codes
from proxcode.search import HammingIndex
from proxcode.stores import MilvusStore
from proxcode.stores import milvus as module


@pytest.fixture
def make(make_MilvusStore):
    return make_MilvusStore


@pytest.mark.parametrize("n_bits", [1, 8, 13, 64, 100, 256])
def test_search_equals_that_of_the_index(make, rng, n_bits):
    codes, queries = random_codes(rng, 500, n_bits, 6), random_codes(rng, 8, n_bits, 3)
    ids = rng.permutation(500) - 250
    store, index = make(n_bits).add(codes, ids), HammingIndex(n_bits).add(codes, ids)
    np.testing.assert_array_equal(store.search(queries, 20).distance, index.search(queries, 20).distance)
    np.testing.assert_array_equal(store.get(ids[::-1]), codes[::-1])
    for radius in (0, n_bits // 4, n_bits, 1024):
        found, expected = store.within(queries, radius), index.within(queries, radius)
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        np.testing.assert_array_equal(found.distance, expected.distance)


def test_codes_are_added_and_searched_in_blocks(make, rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 7)
    monkeypatch.setattr(module, "BLOCK_RESULTS", 20)
    codes = random_codes(rng, 50, 24, 4)
    store, index = make(24).add(codes), HammingIndex(24).add(codes)
    np.testing.assert_array_equal(store.search(codes, 9).distance, index.search(codes, 9).distance)
    store.remove(np.arange(30))
    assert len(store) == 20
    np.testing.assert_array_equal(store.get(np.arange(30, 50)), codes[30:])


def test_an_addition_that_fails_midway_is_undone(make, rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 10)
    codes, calls = random_codes(rng, 30, 16), []
    store = make(16).add(codes[:3])
    insert = store._client.insert

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError("the connection broke")
        return insert(*arguments)

    monkeypatch.setattr(store._client, "insert", failing)
    with pytest.raises(OSError, match="the connection broke"):
        store.add(codes)
    assert len(calls) == 3
    assert len(store) == 3


@pytest.mark.parametrize("largest", [-(2**63), -(2**63) + 1, -7, 0, 5_000_000_000, 2**63 - 3])
def test_ids_continue_after_the_largest(make, largest):
    code = np.zeros((1, 2), np.uint8)
    store = make(16).add(code, ids=[-(2**63)]) if largest > -(2**63) else make(16)
    store.add(code, ids=[largest]).add(code)
    assert largest + 1 in store.within(code, 0)[0].neighbor


def test_a_collection_is_opened_again_with_what_it_records(make, milvus):
    store = make(20, model="a" * 64).add(np.zeros((1, 3), np.uint8))
    name = store._collection
    opened = MilvusStore(milvus, name)
    assert (opened.n_bits, opened.fingerprint, len(opened)) == (20, "a" * 64, 1)
    assert repr(opened) == "MilvusStore(n_bits=20), 1 codes"
    with pytest.raises(ValueError, match=r"^the stored codes are of the model aaaaaaaaaaaa, not of bbbbbbbbbbbb"):
        MilvusStore(milvus, name, model="b" * 64)
    with pytest.raises(ValueError, match=r"^n_bits=21: the codes of collection .* have 24 dimensions for n_bits=20; p"):
        MilvusStore(milvus, name, 21)
    with pytest.raises(ValueError, match=r"^field 'bits' of collection .* is missing: expected BINARY_VECTOR\.$"):
        MilvusStore(milvus, name, code_field="bits")
    with pytest.raises(ValueError, match=r"^field 'code' of collection .* is BINARY_VECTOR: expected INT64\.$"):
        MilvusStore(milvus, name, id_field="code")
    with pytest.raises(ValueError, match=r"^collection 'none' does not exist: pass n_bits to create it\.$"):
        MilvusStore(milvus, "none")


def test_a_collection_of_your_own_needs_n_bits(make, milvus):
    from pymilvus import DataType

    schema = milvus.create_schema(auto_id=False, description="mine")
    schema.add_field("number", DataType.INT64, is_primary=True)
    schema.add_field("bits", DataType.BINARY_VECTOR, dim=16)
    index = milvus.prepare_index_params()
    index.add_index("bits", index_type="BIN_FLAT", metric_type="HAMMING")
    milvus.create_collection("mine", schema=schema, index_params=index)
    names = {"id_field": "number", "code_field": "bits"}
    with pytest.raises(ValueError, match=r"^collection 'mine' does not record the code length: pass n_bits\.$"):
        MilvusStore(milvus, "mine", **names)
    with pytest.raises(ValueError, match=r"^n_bits=64: the codes of collection 'mine' have 16 dimensions; pass"):
        MilvusStore(milvus, "mine", 64, **names)
    store = MilvusStore(milvus, "mine", 12, **names).add(np.array([[1, 16], [3, 0]], np.uint8), ids=[4, 5])
    assert store.search(np.array([[1, 0]], np.uint8)).neighbor.tolist() in ([[4, 5]], [[5, 4]])


def test_more_results_than_milvus_returns_are_refused(make, monkeypatch):
    codes = np.zeros((30, 2), np.uint8)
    store = make(16).add(codes)
    monkeypatch.setattr(module, "MAX_RESULTS", 30)
    assert store.search(codes[:1], 30).neighbor.shape == (1, 30)
    with pytest.raises(ValueError, match=r"^radius=1: query 0 has 30 or more neighbours, the limit of Milvus; pass"):
        store.within(codes[:1], 1)
    monkeypatch.setattr(module, "MAX_RESULTS", 29)
    with pytest.raises(ValueError, match=r"^k=30: expected at most 29, the limit of Milvus\.$"):
        store.search(codes[:1], 30)


def test_a_client_of_another_kind_is_refused(milvus):
    with pytest.raises(TypeError, match=r"^client='x\.db': expected a pymilvus\.MilvusClient\.$"):
        MilvusStore("x.db", "codes", 8)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(ModuleNotFoundError, match=r"^MilvusStore requires pymilvus: pip install 'proxcode\[milvus\]'"):
        MilvusStore(None, "codes", 8)


@pytest.mark.parametrize("auto_id", [False, True])
def test_ids_that_are_no_primary_key_are_refused(milvus, make, auto_id):
    from pymilvus import DataType

    schema = milvus.create_schema(auto_id=auto_id)
    schema.add_field("pk", DataType.INT64, is_primary=True)
    schema.add_field("item", DataType.INT64)
    schema.add_field("code", DataType.BINARY_VECTOR, dim=16)
    index = milvus.prepare_index_params()
    index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
    name = f"keyed_{auto_id}"
    milvus.create_collection(name, schema=schema, index_params=index)
    for field in ("item", "pk") if auto_id else ("item",):
        with pytest.raises(ValueError, match=rf"^field '{field}' of collection '{name}' is not a primary key that ta"):
            MilvusStore(milvus, name, 16, id_field=field)
