"""Stores of codes outside this library, with the methods of `HammingIndex`."""

from proxcode.stores.base import CodeStore
from proxcode.stores.clickhouse import ClickHouseStore
from proxcode.stores.faiss import HNSW, IVF, FaissIndex, Flat, MultiHash
from proxcode.stores.milvus import MilvusStore
from proxcode.stores.postgres import PostgresStore
from proxcode.stores.results import Neighborhoods, Neighbors

__all__ = [
    "HNSW",
    "IVF",
    "ClickHouseStore",
    "CodeStore",
    "FaissIndex",
    "Flat",
    "MilvusStore",
    "MultiHash",
    "Neighborhoods",
    "Neighbors",
    "PostgresStore",
]
