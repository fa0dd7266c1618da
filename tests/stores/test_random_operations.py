"""Random operations on a store and on a HammingIndex beside it give the same results and the same errors.

`PROXCODE_OPERATIONS` is the number of operations per store, over all code lengths; see OPERATIONS for the default.
"""

import os

import numpy as np
import pytest

from helpers.codes import random_codes
from proxcode.search import HammingIndex

N_BITS = (8, 12, 64, 100, 128, 255, 256)
# 10,000 operations of ClickHouse take 8 minutes, as each removal is a mutation of many parts; those of PostgreSQL one.
OPERATIONS = {"ClickHouseStore": 1000, "PostgresStore_in_own_table": 2000, "exact_PostgresStore": 2000}


def by_id(found):
    """Return neighbours with ties in the order of their ids, which stores may choose."""
    order = np.lexsort((found.neighbor, found.distance))
    return found.distance[order].tolist(), found.neighbor[order].tolist()


def outcome(call):
    """Return the result of a call, or the text of its error."""
    try:
        return call()
    except ValueError as error:
        return str(error)


class Pair:
    """A store, the index that it is compared with, and the ids of both."""

    def __init__(self, store, n_bits, rng, *, keeps_rows):
        self.both, self.n_bits, self.rng = (store(n_bits), HammingIndex(n_bits)), n_bits, rng
        # A table of the user keeps the rows of removed codes, after whose ids ids=None continues.
        self.keeps_rows = keeps_rows
        self.ids = []

    def codes(self, n):
        """Few centers: many distances are equal, and some codes."""
        return random_codes(np.random.default_rng(self.rng.integers(4)), 400, self.n_bits, 3, 0.1)[
            self.rng.integers(0, 400, n)
        ]

    def some_ids(self):
        """Return ids of stored codes, sometimes with one that is not stored."""
        n = min(len(self.ids), int(self.rng.integers(0, 4)))
        chosen = self.rng.choice(self.ids, n).tolist() if n else []
        return [*chosen, 10**15] if self.rng.random() < 0.05 else chosen

    def add(self):
        n = int(self.rng.integers(0, 5))
        codes, ids = self.codes(n), None
        if self.rng.random() < 0.7 or self.keeps_rows:
            ids = self.rng.integers(-500, 500, n)
        results = [outcome(lambda store=store: len(store.add(codes, ids))) for store in self.both]
        assert results[0] == results[1]
        if not isinstance(results[0], str):
            start = max(self.ids, default=-1) + 1
            self.ids += (np.arange(start, start + n) if ids is None else ids).tolist()

    def upsert(self):
        ids = np.array([*self.some_ids(), *self.rng.integers(-500, 500, int(self.rng.integers(0, 3)))], np.int64)
        ids = ids[ids != 10**15]
        codes = self.codes(len(ids))
        results = [outcome(lambda store=store: len(store.upsert(codes, ids))) for store in self.both]
        assert results[0] == results[1]
        if not isinstance(results[0], str):
            self.ids += [one for one in ids.tolist() if one not in self.ids]

    def remove(self):
        ids = self.some_ids()
        results = [outcome(lambda store=store: len(store.remove(ids))) for store in self.both]
        assert results[0] == results[1]
        if not isinstance(results[0], str):
            self.ids = [one for one in self.ids if one not in ids]

    def get(self):
        ids = self.some_ids()
        results = [outcome(lambda store=store: store.get(ids).tolist()) for store in self.both]
        assert results[0] == results[1]

    def search(self):
        queries, k = self.codes(int(self.rng.integers(0, 4))), int(self.rng.integers(1, 9))
        found, expected = (store.search(queries, k) for store in self.both)
        assert found.distance.tolist() == expected.distance.tolist()
        assert found.neighbor.shape == expected.neighbor.shape
        assert all(len(set(row)) == len(row) for row in found.neighbor.tolist())
        if found.neighbor.size:
            codes = self.both[1].get(found.neighbor.ravel()).reshape(*found.neighbor.shape, -1)
            assert (np.bitwise_count(codes ^ queries[:, None]).sum(axis=2) == found.distance).all()

    def within(self):
        queries, radius = self.codes(int(self.rng.integers(0, 4))), int(self.rng.integers(0, self.n_bits // 4 + 2))
        found, expected = (store.within(queries, radius) for store in self.both)
        assert [by_id(one) for one in found] == [by_id(one) for one in expected]

    def count(self):
        assert len(self.both[0]) == len(self.both[1]) == len(self.ids)


@pytest.mark.parametrize("n_bits", N_BITS)
def test_random_operations_agree_with_those_of_an_index(store, n_bits, request):
    name = request.node.callspec.params["store"]
    n_operations = int(os.environ.get("PROXCODE_OPERATIONS", OPERATIONS.get(name, 10_000)))
    rng = np.random.default_rng(n_bits)
    pair = Pair(store, n_bits, rng, keeps_rows="own_table" in name)
    kinds = [pair.add, pair.upsert, pair.remove, pair.get, pair.search, pair.within, pair.count]
    for kind in rng.choice(len(kinds), n_operations // len(N_BITS) + 1, p=[0.2, 0.1, 0.2, 0.15, 0.15, 0.15, 0.05]):
        kinds[kind]()
