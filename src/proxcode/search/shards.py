"""Shards: the index files of a `ShardedIndex`, as they are searched where they are open, and the merge of results.

A task of an engine is the name of a file: codes are never sent. A worker opens a file once and keeps it open, with its
hash tables, for later searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.search.float_queries import FloatQueries
from proxcode.search.index import HammingIndex
from proxcode.search.string_ids import StringIds
from proxcode.storage.index_file import version_of

# Index files that a worker keeps open.
MAX_OPEN = 256


@dataclass(frozen=True)
class ShardFile:
    """An index file as a task of an engine; its version tells whether a worker opens the same content."""

    path: str
    version: str
    n_threads: int | None
    tables: bool | None


Shard = HammingIndex | ShardFile


class ShardSize(NamedTuple):
    """Code length, number of codes, memory of codes and ids, fingerprint of the model, and kind of ids of a shard.

    `has_strings` is None for a shard without codes, which has ids of no kind.
    """

    n_bits: int
    n_codes: int
    nbytes: int
    fingerprint: str | None
    has_strings: bool | None


class IdRange(NamedTuple):
    """Smallest and largest id of a shard, and whether all ids between them are in it."""

    smallest: int
    largest: int
    is_full: bool


class ShardNeighbors(NamedTuple):
    """Codes found in one or more shards, query after query; `n_found` is their number for each query.

    `codes` are packed, shape (n, n_bytes), or of shape (n, 0) if they were not asked for.
    """

    n_found: NDArray[np.int64]
    distance: NDArray[Any]
    neighbor: NDArray[Any]
    codes: Codes


@dataclass(frozen=True)
class ShardSearch:
    """The search of one shard: at most k codes per query, the nearest, at distance at most `radius`.

    Neighbours are ids, or positions in the shard if `by_position`.
    """

    queries: Codes | FloatQueries
    k: int
    radius: float
    by_position: bool
    with_codes: bool

    def __call__(self, shard: Shard) -> ShardNeighbors:
        """Search one shard, in the process that calls."""
        now = _index_of(shard)._snapshot
        found = now.find(self.queries, self.k, self.radius)
        return ShardNeighbors(
            n_found=found.n_found,
            distance=found.distance,
            neighbor=found.position if self.by_position else now.ids.at(found.position),
            codes=now.codes.at(found.position) if self.with_codes else np.empty((len(found.position), 0), np.uint8),
        )


def merged(parts: Sequence[ShardNeighbors], k: int) -> ShardNeighbors:
    """Return the k nearest codes of each query; ties are in the order of the parts, then in the order within a part."""
    query = np.concatenate([np.repeat(np.arange(len(part.n_found)), part.n_found) for part in parts])
    n_found = np.sum([part.n_found for part in parts], axis=0)
    # A shard without codes has ids of the default type, which must not decide that of the result.
    _, distance, neighbor, codes = (
        np.concatenate([array for array in arrays if len(array)] or arrays) for arrays in zip(*parts, strict=True)
    )
    # The sort is stable.
    order = np.lexsort((distance, query))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(n_found) - n_found, n_found)
    order = order[rank < k]
    return ShardNeighbors(np.minimum(n_found, k), distance[order], neighbor[order], codes[order])


def _index_of(shard: Shard) -> HammingIndex:
    return shard if isinstance(shard, HammingIndex) else _opened(shard)


@lru_cache(MAX_OPEN)
def _opened(shard: ShardFile) -> HammingIndex:
    """Open an index file in a worker. A file that is replaced afterwards stays open with its old content."""
    index = HammingIndex.load(shard.path, n_threads=shard.n_threads, tables=shard.tables)
    if version_of(shard.path) != shard.version:
        raise ValueError(
            f"{shard.path} was replaced or changed after the sharded index was opened: open the shards again."
        )
    return index


def size_of(shard: Shard) -> ShardSize:
    """Return the size of a shard."""
    index = _index_of(shard)
    has_strings = isinstance(index._snapshot.ids, StringIds) if len(index) else None
    return ShardSize(index.n_bits, len(index), index.nbytes, index.fingerprint, has_strings)


def ids_of(shard: Shard) -> NDArray[Any]:
    """Return the ids of a shard, in the order in which its codes were added."""
    return _index_of(shard).ids


def id_range(shard: Shard) -> IdRange | None:
    """Return the range of the integer ids of a shard; None if it has none."""
    ids = _index_of(shard)._snapshot.ids
    if ids.n == 0 or isinstance(ids, StringIds):
        return None
    smallest, largest = (0, ids.n - 1) if ids.values is None else (int(ids.values.min()), int(ids.values.max()))
    return IdRange(smallest, largest, is_full=largest - smallest == ids.n - 1)
