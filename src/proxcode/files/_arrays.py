"""Files of arrays: npy, npz, safetensors, HDF5 and the fvecs family.

1. A format is a function that returns the arrays of a file by name, with shape and type, before their values are read.
2. An array is chosen by its key. Without a key, it is the only one with the expected number of dimensions: two for
   vectors, one for labels. The single array of npy and fvecs files has the name "".
3. Its values are read as a whole, or in blocks of rows.
"""

import math
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tokenize import TokenError
from types import EllipsisType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import (
    MAX_RATIO,
    Choice,
    Taken,
    Vectors,
    by_suffix,
    choose,
    import_optional,
    listing,
    readable,
)
from proxcode.files._hdf5 import check_heaps, check_shape

# Exceptions that NumPy raises for a damaged npy file; TokenError for a header that is not Python.
NPY_ERRORS = (EOFError, OSError, ValueError, TypeError, SyntaxError, TokenError, OverflowError, DeprecationWarning)
# Exceptions for a damaged npz file; NotImplementedError for an unknown compression.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, KeyError, *NPY_ERRORS)
# Exceptions for a damaged HDF5 file; TypeError and ValueError for types that NumPy lacks.
HDF5_ERRORS = (OSError, RuntimeError, KeyError, TypeError, ValueError, OverflowError)
# Larger dimensions of an fvecs file are taken for damage.
LARGEST_DIMENSION = 2**24
# Element types of the fvecs family.
TEXMEX_ELEMENTS = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}
# Element types of safetensors that NumPy has too.
TENSOR_DTYPES = {"BOOL": "?", "F16": "<f2", "F32": "<f4", "F64": "<f8"} | {
    f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "UI" for size in (1, 2, 4, 8)
}
# Rows of an array, or all of it.
Rows = slice | EllipsisType


@dataclass(frozen=True)
class StoredArray:
    """An array of a file: its name ("" for the only one), its shape and type, and the function that reads it."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[Rows], NDArray[Any]]

    @property
    def place(self) -> str:
        """The file and the name of the array, as FILE or FILE:KEY."""
        return f"{self.path}:{self.name}" if self.name else f"{self.path}"

    def blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        """Yield the rows from `start` on in blocks of `size` rows."""
        for first in range(start, self.shape[0], size):
            yield self.read(slice(first, min(first + size, self.shape[0])))


Arrays = dict[str, StoredArray]


def map_npy(path: Path) -> NDArray[Any]:
    """Memory-map an npy file; raise ValueError for Python objects, which would have to be unpickled."""
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path} is not an npy file: write it with np.save.")
        with readable(path, "npy", *NPY_ERRORS):
            file.seek(0)
            _, _, dtype = _read_npy_header(file)
    _check_no_objects(f"{path}", dtype)
    with readable(path, "npy", *NPY_ERRORS):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _read_npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape of an array, whether it is in Fortran order, and its type; leave the file at its first value."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    # NumPy writes no type under a name that it warns of.
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        return read(file)


def _check_no_objects(place: str, dtype: np.dtype[Any]) -> None:
    if dtype.hasobject:
        raise ValueError(f"{place} holds Python objects, which are not loaded for safety: store numbers or strings.")


def _npy_arrays(path: Path) -> Arrays:
    array = map_npy(path)
    # A new map for each block releases the pages of the previous one.
    return {"": StoredArray(path, "", array.shape, array.dtype, lambda rows: map_npy(path)[rows])}


@dataclass(frozen=True)
class NpzArray(StoredArray):
    """An array of an npz file, decompressed block by block."""

    open: Callable[[], AbstractContextManager[IO[bytes]]]

    def blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        """Yield the rows from `start` on in blocks of `size` rows."""
        with self.open() as file:
            (n_rows, width), is_fortran, dtype = _read_npy_header(file)
            # In Fortran order the values of a row are spread over the whole array.
            if is_fortran:
                matrix = self.read(...)
                for first in range(start, n_rows, size):
                    yield matrix[first : first + size]
                return
            file.seek(start * width * dtype.itemsize, 1)
            for first in range(start, n_rows, size):
                n = min(size, n_rows - first)
                yield np.frombuffer(file.read(n * width * dtype.itemsize), dtype).reshape(n, width)


def npz_arrays(path: Path) -> Arrays:
    """Return the arrays of an npz file; raise ValueError where one announces more than the file can hold."""
    with readable(path, "npz", *ZIP_ERRORS), zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        return {name.removesuffix(".npy"): _npz_array(path, archive, name) for name in members}


def _npz_array(path: Path, archive: zipfile.ZipFile, member: str) -> NpzArray:
    name = member.removesuffix(".npy")
    _check_member(path, archive.getinfo(member))
    with archive.open(member) as file:
        shape, _, dtype = _read_npy_header(file)
        n_left = archive.getinfo(member).file_size - file.tell()
    if math.prod(shape) * dtype.itemsize > n_left:
        raise ValueError(f"{member} announces shape {shape} of {dtype} in {n_left} bytes")

    def read(rows: Rows) -> NDArray[Any]:
        _check_no_objects(f"{path}:{name}", dtype)
        with _open_member(path, member) as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False), order="C")[rows]

    return NpzArray(path, name, shape, dtype, read, partial(_open_member, path, member))


def _check_member(path: Path, info: zipfile.ZipInfo) -> None:
    """Raise ValueError for a size that the compressed bytes of a member cannot have."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{info.filename} is compressed by method {info.compress_type}, expected none or deflate")
    largest = min(info.compress_size, path.stat().st_size)
    if info.compress_type == zipfile.ZIP_DEFLATED:
        largest *= MAX_RATIO
    if info.file_size > largest:
        raise ValueError(f"{info.filename} announces {info.file_size} bytes of at most {largest}")


@contextmanager
def _open_member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with readable(path, "npz", *ZIP_ERRORS), zipfile.ZipFile(path) as archive, archive.open(name) as file:
        yield file


def _safetensors_arrays(path: Path) -> Arrays:
    def stored(name: str, tensor: Any) -> StoredArray:
        def read(rows: Rows) -> NDArray[Any]:
            with _open_safetensors(path) as file:
                return np.asarray(file.get_tensor(name) if rows is ... else file.get_slice(name)[rows])

        # Types that NumPy lacks (BF16, F8_E4M3) are listed as V2, which readers of vectors and labels reject.
        dtype = np.dtype(TENSOR_DTYPES.get(tensor.get_dtype(), "V2"))
        return StoredArray(path, name, tuple(tensor.get_shape()), dtype, read)

    with _open_safetensors(path) as file:
        return {name: stored(name, file.get_slice(name)) for name in file.keys()}  # noqa: SIM118 - not a dictionary


@contextmanager
def _open_safetensors(path: Path) -> Iterator[Any]:
    from safetensors import SafetensorError, safe_open

    with readable(path, "safetensors", SafetensorError, OSError), safe_open(path, framework="np") as file:
        yield file


def _hdf5_arrays(path: Path) -> Arrays:
    arrays: Arrays = {}

    def note(name: str, item: Any) -> None:
        def read(rows: Rows) -> NDArray[Any]:
            with _open_hdf5(path) as file:
                dataset = file[name]
                check_shape(path, dataset)
                if dataset.dtype.kind != "O":
                    return np.asarray(dataset[rows])
                check_heaps(path, file)
                return np.asarray(dataset.asstr()[rows])

        # Groups and empty datasets have no shape.
        if getattr(item, "shape", None) is not None:
            arrays[name] = StoredArray(path, name, item.shape, item.dtype, read)

    with _open_hdf5(path) as file:
        file.visititems(note)
    return arrays


@contextmanager
def _open_hdf5(path: Path) -> Iterator[Any]:
    h5py = import_optional(path, "h5py")
    with readable(path, "HDF5", *HDF5_ERRORS), h5py.File(path, "r") as file:
        yield file


def _texmex_arrays(path: Path) -> Arrays:
    """Map rows of an int32 dimension d and d values, the layout of the TEXMEX collections (SIFT1M, GIST1M)."""
    with path.open("rb") as file:
        start = file.read(4)
    dimension = int.from_bytes(start, "little", signed=True)
    if len(start) < 4 or not 1 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(
            f"{path} starts with dimension {dimension}: expected rows of a dimension, at least 1, and its values."
        )
    element = np.dtype(TEXMEX_ELEMENTS[path.suffix.lower()])
    row_type = np.dtype([("dimension", "<i4"), ("values", element, (dimension,))])
    n_rows, rest = divmod(path.stat().st_size, row_type.itemsize)
    if rest:
        raise ValueError(
            f"{path} is truncated: {rest} bytes follow {n_rows} rows of dimension {dimension}: copy it again."
        )

    def read(rows: Rows) -> NDArray[Any]:
        block = np.memmap(path, row_type, mode="r")[rows]
        if (wrong := np.flatnonzero(block["dimension"] != dimension)).size:
            row = wrong[0] + (0 if rows is ... else rows.start)
            raise ValueError(
                f"{path}: row {row} has dimension {block['dimension'][wrong[0]]}, the first row has {dimension}: "
                "expected equal dimensions."
            )
        return block["values"]

    read(slice(n_rows - 1, n_rows))
    return {"": StoredArray(path, "", (n_rows, dimension), element, read)}


KEYED_FORMATS: dict[str, Callable[[Path], Arrays]] = {
    ".npz": npz_arrays,
    ".safetensors": _safetensors_arrays,
    ".h5": _hdf5_arrays,
    ".hdf5": _hdf5_arrays,
}
ARRAY_FORMATS = {".npy": _npy_arrays, **KEYED_FORMATS, **dict.fromkeys(TEXMEX_ELEMENTS, _texmex_arrays)}


def open_array(path: Path, key: str | None, n_dimensions: int) -> StoredArray:
    """Return the array with this key or, without a key, the only one with this number of dimensions."""
    arrays = by_suffix(path, ARRAY_FORMATS)(path)
    if not arrays:
        raise ValueError(f"{path} holds no array: write it again.")
    shapes = [f"{name} {array.shape}" for name, array in arrays.items()]
    if key is not None:
        # The name of an HDF5 dataset may start at the root.
        name = key if key in arrays else key.strip("/")
        if name not in arrays:
            raise ValueError(f"{path} has no array {key!r}: expected one of {listing(shapes)}.")
        return arrays[name]
    fitting = [array for array in arrays.values() if len(array.shape) == n_dimensions] or list(arrays.values())
    if len(fitting) > 1:
        raise ValueError(f"{path} holds several arrays: choose one of {listing(shapes)} by its key.")
    return fitting[0]


class ArrayVectors(Vectors):
    """A matrix of real numbers."""

    def __init__(self, path: Path, choice: Choice) -> None:
        self._array = array = open_array(path, choice.key, 2)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{array.place} holds {array.dtype} values: expected real numbers, such as float32.")
        if len(array.shape) != 2:
            raise ValueError(f"{array.place} has shape {array.shape}: expected a matrix of shape (rows, columns).")
        if 0 in array.shape:
            raise ValueError(f"{array.place} has shape {array.shape}: expected at least one row and one column.")
        self.path = path
        self.n_rows, width = array.shape
        self.dtype = array.dtype.newbyteorder("=")
        self._chosen = None if choice.columns is None and not choice.drop else choose(path, (), width, choice)
        self.n_columns = width if self._chosen is None else len(self._chosen)
        self.taken = Taken(array.name or None, None if self._chosen is None else tuple(self._chosen))

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        for rows in self._array.blocks(size, start):
            # A copy releases the memory map.
            yield np.array(rows if self._chosen is None else rows[:, self._chosen], dtype=self.dtype, order="C")

    def read(self) -> NDArray[Any]:
        """Return all rows, as a memory map if the format allows it and all columns are taken."""
        is_stored_so = self._chosen is None and self._array.dtype == self.dtype
        return self._array.read(...) if is_stored_so else super().read()
