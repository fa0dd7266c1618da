"""Rows of ClickHouse: inserted and deleted in the blocks that its limits allow, and results as neighbours."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.stores._clickhouse_sql import Parameters
from proxcode.stores.results import Neighborhoods

# Ids per statement: as text they stay below 128 KiB, the default limit of ClickHouse on a bound parameter.
MAX_IDS = 4096
# Characters of a bound parameter, below the same limit.
MAX_PARAMETER = 120_000


def insert(client: Any, columns: str, rows: NDArray[Any]) -> None:
    """Insert records of ids and codes into quoted columns of a table, all or none of them."""
    client.raw_insert(
        columns,
        insert_block=rows.tobytes(),
        fmt="RowBinary",
        settings={
            # One block, which is stored as a whole or not at all: blocks are cut at `max` rows, and joined up to
            # `min` rows. With `max` alone, chdb wrote three parts of 2.5 million rows.
            "max_insert_block_size": len(rows),
            "min_insert_block_size_rows": len(rows),
            "min_insert_block_size_bytes": 0,
            "max_insert_threads": 1,
            "async_insert": 0,
            # A repeated request is stored once, but codes that were removed may be added again.
            "insert_deduplication_token": uuid.uuid4().hex,
        },
    )


def delete(client: Any, table: str, id_column: str, code_column: str, rows: NDArray[Any]) -> None:
    """Delete the rows that equal one of some records of ids and codes; names are quoted."""
    n_characters = 2 * rows["code"].shape[1] + 26
    for block in blocks(rows, min(MAX_IDS, MAX_PARAMETER // n_characters)):
        codes = [code.tobytes().hex().upper() for code in block["code"]]
        client.command(
            f"DELETE FROM {table} WHERE ({id_column}, hex({code_column})) IN {{rows:Array(Tuple(Int64, String))}}",
            parameters={"rows": list(zip(block["id"].tolist(), codes, strict=True))},
            settings={"lightweight_deletes_sync": 2},
        )


def bound(queries: Codes) -> Parameters:
    """Return the parameters that hold the codes of queries."""
    return {f"q{number}": query.tobytes().hex() for number, query in enumerate(queries)}


def blocks(rows: NDArray[Any], size: int) -> Iterator[NDArray[Any]]:
    """Yield blocks of at most `size` rows."""
    return (block for _, block in numbered_blocks(rows, size))


def numbered_blocks(rows: NDArray[Any], size: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield blocks of at most `size` rows with the number of their first row."""
    return ((start, rows[start : start + size]) for start in range(0, len(rows), size))


def neighborhoods(n_queries: int, found: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]) -> Neighborhoods:
    """Return the neighbours of all queries from query, distance and id of each, block by block."""
    empty = (np.empty(0, np.int64),) * 3
    query, distance, neighbor = (np.concatenate(parts) for parts in zip(empty, *found, strict=True))
    return Neighborhoods.of_rows(n_queries, query, distance, neighbor)
