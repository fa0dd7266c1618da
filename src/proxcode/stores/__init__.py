"""Stores of codes outside this library, with the methods of `HammingIndex`."""

from proxcode.stores.base import CodeStore, Neighborhoods, Neighbors
from proxcode.stores.faiss import HNSW, IVF, FaissIndex, Flat, MultiHash

__all__ = ["HNSW", "IVF", "CodeStore", "FaissIndex", "Flat", "MultiHash", "Neighborhoods", "Neighbors"]
