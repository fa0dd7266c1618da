"""Matrices in files of arrays: npy, npz, safetensors, HDF5 and the fvecs family.

A file of several arrays ("keyed") is read by the key of one of them. Without a key, the array is the only one with the
expected number of dimensions: two for vectors, one for labels.
"""

import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import (
    Choice,
    MappedVectors,
    MatrixVectors,
    existing_file,
    listing,
    missing_package,
    no_key,
    place,
    readable,
)

# Exceptions that NumPy raises for a damaged npy file; TokenError for a header that is not Python.
NPY_ERRORS = (EOFError, OSError, ValueError, TypeError, SyntaxError, TokenError)
# Exceptions for a damaged npz file; NotImplementedError for an unknown compression.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, KeyError, *NPY_ERRORS)
# Larger dimensions of an fvecs file are taken for damage.
LARGEST_DIMENSION = 2**24
# Element types of the fvecs family.
TEXMEX_ELEMENTS = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}
# Element types of safetensors that NumPy has too.
TENSOR_DTYPES = {"BOOL": "?", "F16": "<f2", "F32": "<f4", "F64": "<f8"} | {
    f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "UI" for size in (1, 2, 4, 8)
}


class Stored(NamedTuple):
    """Shape and type of an array that is not read yet."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class NpyVectors(MappedVectors):
    """The array of an npy file."""

    def __init__(self, path: Path, choice: Choice) -> None:
        no_key(path, choice)
        array = map_npy(path)
        super().__init__(path, array.shape, array.dtype, choice)

    def _map(self) -> NDArray[Any]:
        return map_npy(self.path)


def map_npy(path: Path) -> NDArray[Any]:
    """Memory-map an npy file; raise ValueError for Python objects, which would have to be unpickled."""
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path} is not an npy file: write it with np.save.")
    with readable(path, "npy", *NPY_ERRORS), path.open("rb") as file:
        stored, _ = _read_npy_header(file)
    _check_no_objects(f"{path}", stored)
    # An empty array cannot be mapped.
    if 0 in stored.shape:
        return np.empty(stored.shape, stored.dtype)
    with readable(path, "npy", *NPY_ERRORS):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _read_npy_header(file: IO[bytes]) -> tuple[Stored, bool]:
    """Return shape and type of an array and whether it is in Fortran order; the file is then at its first value."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of the format")
    return Stored(shape, dtype), is_fortran


def _check_no_objects(where: str, stored: Stored) -> None:
    if stored.dtype.hasobject:
        raise ValueError(f"{where} holds Python objects, which are not loaded for safety: store numbers or strings.")


class KeyedVectors(MatrixVectors):
    """A matrix of a file of several arrays; a subclass is a format."""

    def __init__(self, path: Path, choice: Choice) -> None:
        arrays = self.arrays(path)
        self._name = choose_array(path, arrays, choice.key, 2)
        super().__init__(path, *arrays[self._name], choice, self._name)

    @staticmethod
    @abstractmethod
    def arrays(path: Path) -> dict[str, Stored]:
        """Return shape and type of the arrays of a file by name."""

    @staticmethod
    @abstractmethod
    def read_array(path: Path, name: str) -> NDArray[Any]:
        """Read a whole array of any shape."""


def choose_array(path: Path, arrays: Mapping[str, Stored], key: str | None, n_dimensions: int) -> str:
    """Return the name of the array with this key or, without a key, of the only one with these dimensions."""
    shapes = [f"{name} {stored.shape}" for name, stored in arrays.items()]
    if not arrays:
        raise ValueError(f"{path} holds no array: write it again.")
    if key is not None:
        # The name of an HDF5 dataset may start at the root.
        name = key if key in arrays else key.strip("/")
        if name not in arrays:
            raise ValueError(f"{path} has no array {key!r}: expected one of {listing(shapes)}.")
        return name
    fitting = [name for name, stored in arrays.items() if len(stored.shape) == n_dimensions] or list(arrays)
    if len(fitting) > 1:
        raise ValueError(f"{path} holds several arrays: choose one of {listing(shapes)} by its key.")
    return fitting[0]


class NpzVectors(KeyedVectors):
    """An array of an npz file, decompressed block by block."""

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        with readable(self.path, "npz", *ZIP_ERRORS), _open_member(self.path, self._name) as file:
            stored, is_fortran = _read_npy_header(file)
            # In Fortran order the values of a row are spread over the whole array.
            if is_fortran:
                matrix = self.read_array(self.path, self._name)
                for first in range(start, len(matrix), size):
                    yield self._native(matrix[first : first + size])
                return
            n_rows, width = stored.shape
            file.seek(start * width * stored.dtype.itemsize, 1)
            for first in range(start, n_rows, size):
                n = min(size, n_rows - first)
                content = file.read(n * width * stored.dtype.itemsize)
                yield self._native(np.frombuffer(content, stored.dtype).reshape(n, width))

    @staticmethod
    def arrays(path: Path) -> dict[str, Stored]:
        """Read the headers of the members."""
        arrays = {}
        with readable(path, "npz", *ZIP_ERRORS), zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".npy"):
                    with archive.open(name) as file:
                        arrays[name.removesuffix(".npy")], _ = _read_npy_header(file)
        return arrays

    @staticmethod
    def read_array(path: Path, name: str) -> NDArray[Any]:
        """Read a member; raise ValueError for Python objects."""
        _check_no_objects(place(path, name), NpzVectors.arrays(path)[name])
        with readable(path, "npz", *ZIP_ERRORS), _open_member(path, name) as file:
            return np.lib.format.read_array(file, allow_pickle=False)


@contextmanager
def _open_member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        yield file


class SafetensorsVectors(KeyedVectors):
    """A tensor of a safetensors file."""

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        for first in range(start, self.n_rows or 0, size):
            with _open_safetensors(self.path) as file:
                rows = file.get_slice(self._name)[first : min(first + size, self.n_rows or 0)]
            yield self._native(rows)

    @staticmethod
    def arrays(path: Path) -> dict[str, Stored]:
        """Read the header of the file."""
        arrays = {}
        with _open_safetensors(path) as file:
            for name in file.keys():  # noqa: SIM118 - a handle, not a dictionary
                tensor = file.get_slice(name)
                # Types that NumPy lacks (BF16, F8_E4M3) are listed as V2, which readers of vectors and labels reject.
                dtype = np.dtype(TENSOR_DTYPES.get(tensor.get_dtype(), "V2"))
                arrays[name] = Stored(tuple(tensor.get_shape()), dtype)
        return arrays

    @staticmethod
    def read_array(path: Path, name: str) -> NDArray[Any]:
        """Read a tensor."""
        with _open_safetensors(path) as file:
            return np.asarray(file.get_tensor(name))


@contextmanager
def _open_safetensors(path: Path) -> Iterator[Any]:
    from safetensors import SafetensorError, safe_open

    with readable(path, "safetensors", SafetensorError, OSError):
        file = safe_open(path, framework="np")
    with file:
        yield file


class HDF5Vectors(KeyedVectors):
    """A dataset of an HDF5 file."""

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        with _open_hdf5(self.path) as file:
            for first in range(start, self.n_rows or 0, size):
                with readable(self.path, "HDF5", OSError):
                    rows = file[self._name][first : first + size]
                yield self._native(rows)

    @staticmethod
    def arrays(path: Path) -> dict[str, Stored]:
        """List the datasets of all groups."""
        arrays: dict[str, Stored] = {}

        def note(name: str, item: Any) -> None:
            # Groups and empty datasets have no shape.
            if getattr(item, "shape", None) is not None:
                arrays[name] = Stored(item.shape, item.dtype)

        with _open_hdf5(path) as file, readable(path, "HDF5", OSError, RuntimeError, KeyError):
            file.visititems(note)
        return arrays

    @staticmethod
    def read_array(path: Path, name: str) -> NDArray[Any]:
        """Read a dataset; strings are returned as str."""
        with _open_hdf5(path) as file, readable(path, "HDF5", OSError):
            dataset = file[name]
            return np.asarray(dataset.asstr()[()] if dataset.dtype.kind == "O" else dataset[()])


@contextmanager
def _open_hdf5(path: Path) -> Iterator[Any]:
    try:
        import h5py
    except ImportError:
        raise missing_package(path, "h5py") from None
    with readable(path, "HDF5", OSError):
        file = h5py.File(path, "r")
    with file:
        yield file


class TexmexVectors(MappedVectors):
    """Rows of an int32 dimension d and d values, the layout of the TEXMEX collections (SIFT1M, GIST1M)."""

    def __init__(self, path: Path, choice: Choice) -> None:
        no_key(path, choice)
        element = np.dtype(TEXMEX_ELEMENTS[path.suffix.lower()])
        with path.open("rb") as file:
            first = file.read(4)
        dimension = int.from_bytes(first, "little", signed=True)
        if len(first) < 4 or not 1 <= dimension <= LARGEST_DIMENSION:
            raise ValueError(
                f"{path} starts with dimension {dimension}: expected rows of a dimension, at least 1, and its values."
            )
        self._row = np.dtype([("dimension", "<i4"), ("values", element, (dimension,))])
        n_rows, rest = divmod(path.stat().st_size, self._row.itemsize)
        if rest:
            raise ValueError(
                f"{path} is truncated: {rest} bytes follow {n_rows} rows of dimension {dimension}: copy it again."
            )
        super().__init__(path, (n_rows, dimension), element, choice)
        self._checked(self._map()[[-1]], n_rows - 1)

    def _map(self) -> NDArray[Any]:
        return np.memmap(existing_file(self.path), self._row, mode="r")

    def _checked(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        expected = self._row["values"].shape[0]
        if (wrong := np.flatnonzero(rows["dimension"] != expected)).size:
            raise ValueError(
                f"{self.path}: row {first + wrong[0]} has dimension {rows['dimension'][wrong[0]]}, the first row has "
                f"{expected}: expected equal dimensions."
            )
        return rows["values"]


KEYED_FORMATS: dict[str, type[KeyedVectors]] = {
    ".npz": NpzVectors,
    ".safetensors": SafetensorsVectors,
    ".h5": HDF5Vectors,
    ".hdf5": HDF5Vectors,
}


def read_keyed(path: Path, key: str | None, n_dimensions: int) -> NDArray[Any]:
    """Read the array with this key or, without a key, the only one with this number of dimensions."""
    form = KEYED_FORMATS[path.suffix.lower()]
    arrays = form.arrays(path)
    name = choose_array(path, arrays, key, n_dimensions)
    if arrays[name].dtype.kind == "V":
        raise ValueError(f"{place(path, name)} holds values of a type that NumPy lacks: store numbers.")
    return form.read_array(path, name)
