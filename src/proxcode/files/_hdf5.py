"""Checks of HDF5 files before their values are read.

The HDF5 library trusts two things that may keep it busy for minutes, or for ever, in a damaged file: the shape of a
dataset, and the chain of objects in a global heap, where the strings of variable length are.
"""

import math
import mmap
from pathlib import Path
from typing import Any

from proxcode.files._base import MAX_RATIO

# First bytes of a global heap: its signature and the version of its format.
HEAP = b"GCOL\x01"


def check_shape(path: Path, dataset: Any) -> None:
    """Raise ValueError for a shape that the file has no room for; the values may be in other files."""
    is_elsewhere = dataset.is_virtual or dataset.external
    size = path.stat().st_size
    if not is_elsewhere and math.prod(dataset.shape) * dataset.dtype.itemsize > MAX_RATIO * size:
        raise ValueError(f"{dataset.name} announces shape {dataset.shape} of {dataset.dtype} in {size} bytes")


def check_heaps(path: Path, file: Any) -> None:
    """Raise ValueError for a global heap whose objects do not follow one another up to its end."""
    n_length = file.id.get_create_plist().get_sizes()[1]
    # Headers of a heap and of an object end with a length and are padded to 8 bytes.
    header = 8 + n_length + -n_length % 8
    with path.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data:

        def length_at(place: int) -> int:
            return int.from_bytes(data[place : place + n_length], "little")

        start = data.find(HEAP)
        while start >= 0:
            end = start + length_at(start + 8)
            place = start + header
            # The library itself refuses a heap that ends beyond the file.
            while place + header <= end <= len(data):
                is_free = data[place : place + 2] == b"\x00\x00"
                size = length_at(place + 8)
                place += size if is_free else header + size + -size % 8
                if (is_free and not size) or place > end:
                    raise ValueError(f"the heap at byte {start} has an object of {size} bytes")
            start = data.find(HEAP, start + 1)
