"""Index files: byte planes of codes, and their ids as integers or as strings.

An index file is of the format of `container`, with the array `planes` and, unless ids are 0, 1, 2, ..., either `ids`
or the `id_bytes` and `id_ends` of strings.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.storage.container import Tensors, read_file, reading, write_file
from proxcode.storage.texts import Texts
from proxcode.utils.validation import check_integer

KIND = "index"
# Integers, strings, or 0, 1, 2, ...
StoredIds = NDArray[np.int64] | Texts | None


class StoredIndex(NamedTuple):
    """What an index file holds: codes as byte planes of shape (n_bytes, n_codes), and ids."""

    n_bits: int
    fingerprint: Any
    planes: Codes
    ids: StoredIds

    @property
    def kind_of_ids(self) -> str:
        """What the ids are, in words."""
        return "0, 1, 2, ..." if self.ids is None else "strings" if isinstance(self.ids, Texts) else "integers"


def write_index(path: str | os.PathLike[str], stored: StoredIndex, *, overwrite: bool = True) -> None:
    """Write an index file, atomically."""
    n_bits, fingerprint, planes, ids = stored
    tensors: Tensors = {"planes": np.ascontiguousarray(planes)}
    if isinstance(ids, Texts):
        tensors |= {"id_bytes": ids.data, "id_ends": ids.ends}
    elif ids is not None:
        tensors["ids"] = ids
    write_file(path, KIND, {"n_bits": n_bits, "model": fingerprint}, tensors, overwrite=overwrite)


def read_index(path: str | os.PathLike[str], *, mapped: bool) -> StoredIndex:
    """Read an index file, or say in one sentence why it cannot be read; `mapped` as in `read_file`."""
    content, tensors = read_file(path, KIND, mapped=mapped)
    with reading(path, KIND):
        n_bits = check_integer("its n_bits", content["n_bits"], 1)
        planes = tensors["planes"]
        ids: Any = tensors.get("ids")
        if "id_ends" in tensors:
            ids = Texts(tensors["id_bytes"], tensors["id_ends"])
        _check(n_bits, planes, ids, in_full=not mapped)
        # Files of earlier versions have no fingerprint.
        return StoredIndex(n_bits, content.get("model"), planes, ids)


def _check(n_bits: int, planes: Any, ids: Any, *, in_full: bool) -> None:
    """Raise ValueError unless codes and ids have the right types and shapes.

    In full means that every value is looked at: bits after the first `n_bits` are zero and ids distinct.
    """
    n_bytes = -(-n_bits // 8)
    if planes.dtype != np.uint8 or planes.ndim != 2 or len(planes) != n_bytes:
        raise ValueError(
            f"its array 'planes' holds {planes.dtype} of shape {planes.shape}: expected uint8 of shape ({n_bytes}, "
            "n_codes); save the index again"
        )
    if isinstance(ids, Texts):
        ids.check(in_full)
        if len(ids.ends) != planes.shape[1]:
            raise ValueError(f"it has {len(ids.ends)} ids for {planes.shape[1]} codes; save the index again")
    elif ids is not None and (ids.dtype != np.int64 or ids.shape != planes.shape[1:]):
        raise ValueError(
            f"its array 'ids' holds {ids.dtype} of shape {ids.shape}: expected int64 of shape ({planes.shape[1]},); "
            "save the index again"
        )
    if in_full:
        check_codes(planes.T, n_bits)
        values = ids.at(np.arange(len(ids.ends))) if isinstance(ids, Texts) else ids
        n_distinct = len(set(values)) if isinstance(values, list) else 0 if values is None else len(np.unique(values))
        if values is not None and n_distinct < len(values):
            raise ValueError("it holds an id more than once; save the index again")
