"""Matrices in files of arrays: npy, npz, safetensors, HDF5 and the fvecs family.

A file of several arrays is asked for one by its key; without a key it is the only one with the right number of
dimensions, two for vectors and one for labels.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import Choice, MappedVectors, MatrixVectors, existing_file, listing, no_key, place, readable

# What a damaged file makes them raise; NotImplementedError and TokenError come of headers that make no sense.
NPY_ERRORS = (EOFError, OSError, ValueError, TypeError, SyntaxError, TokenError)
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, KeyError, *NPY_ERRORS)


class Stored(NamedTuple):
    """What is known of an array without reading it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def pick(path: Path, arrays: Mapping[str, Stored], key: str | None, n_dimensions: int) -> str:
    """Return the name of the array asked for."""
    shapes = [f"{name} {stored.shape}" for name, stored in arrays.items()]
    if not arrays:
        raise ValueError(f"{path} holds no array: write it again.")
    if key is not None:
        name = key if key in arrays else key.strip("/")  # HDF5's names may be given from the root
        if name not in arrays:
            raise ValueError(f"{path} has no array {key!r}: it has {listing(shapes)}.")
        return name
    fitting = [name for name, stored in arrays.items() if len(stored.shape) == n_dimensions] or list(arrays)
    if len(fitting) > 1:
        raise ValueError(f"{path} holds several arrays: name one of {listing(shapes)} by its key.")
    return fitting[0]


class NpyVectors(MappedVectors):
    """One array in NumPy's own format."""

    def __init__(self, path: Path, choice: Choice) -> None:
        no_key(path, choice)
        array = map_npy(path)
        super().__init__(path, array.shape, array.dtype, choice)

    def _map(self) -> NDArray[Any]:
        return map_npy(self.path)


def map_npy(path: Path) -> NDArray[Any]:
    """Map an array; objects, which would have to be unpickled, are refused."""
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path} is no npy file: write it with np.save.")
    with readable(path, "npy", *NPY_ERRORS), path.open("rb") as file:
        stored = read_npy_header(file)
    if stored.dtype.hasobject:
        raise ValueError(f"{path} holds Python objects, which are not loaded for safety: store numbers or strings.")
    if 0 in stored.shape:  # nothing to map
        return np.empty(stored.shape, stored.dtype)
    with readable(path, "npy", *NPY_ERRORS):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def read_npy_header(file: IO[bytes]) -> Stored:
    """Read the header of an array; the file then stands at its first value."""
    return _npy_header(file)[0]


def _npy_header(file: IO[bytes]) -> tuple[Stored, bool]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of the format holds no plain numbers")
    return Stored(shape, dtype), is_fortran


class NpzVectors(MatrixVectors):
    """An array of an npz file, unpacked block after block."""

    def __init__(self, path: Path, choice: Choice) -> None:
        arrays = npz_arrays(path)
        self._name = pick(path, arrays, choice.key, 2)
        super().__init__(path, *arrays[self._name], choice, self._name)

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        with readable(self.path, "npz", *ZIP_ERRORS), _open_member(self.path, self._name) as file:
            stored, is_fortran = _npy_header(file)
            if is_fortran:  # rows lie scattered over the whole
                matrix = read_npz(self.path, self._name)
                for first in range(start, len(matrix), size):
                    yield self._native(matrix[first : first + size])
                return
            n_rows, width = stored.shape
            file.seek(start * width * stored.dtype.itemsize, 1)
            for first in range(start, n_rows, size):
                n = min(size, n_rows - first)
                content = file.read(n * width * stored.dtype.itemsize)
                yield self._native(np.frombuffer(content, stored.dtype).reshape(n, width))


@contextmanager
def _open_member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        yield file


def npz_arrays(path: Path) -> dict[str, Stored]:
    """Return the arrays of an npz file by name."""
    arrays = {}
    with readable(path, "npz", *ZIP_ERRORS), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as file:
                    arrays[name.removesuffix(".npy")] = read_npy_header(file)
    return arrays


def read_npz(path: Path, name: str) -> NDArray[Any]:
    """Read an array of an npz file; objects are refused."""
    if npz_arrays(path)[name].dtype.hasobject:
        raise ValueError(
            f"{path}:{name} holds Python objects, which are not loaded for safety: store numbers or strings."
        )
    with readable(path, "npz", *ZIP_ERRORS), _open_member(path, name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


# The element types of safetensors that NumPy has too.
_TENSOR_DTYPES = {"BOOL": "?", "F16": "<f2", "F32": "<f4", "F64": "<f8"} | {
    f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "UI" for size in (1, 2, 4, 8)
}


class SafetensorsVectors(MatrixVectors):
    """A tensor of a safetensors file."""

    def __init__(self, path: Path, choice: Choice) -> None:
        tensors = safetensors_arrays(path)
        self._name = pick(path, tensors, choice.key, 2)
        super().__init__(path, *tensors[self._name], choice, self._name)

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        for first in range(start, self.n_rows or 0, size):
            with open_safetensors(self.path) as file:
                rows = file.get_slice(self._name)[first : min(first + size, self.n_rows or 0)]
            yield self._native(rows)


@contextmanager
def open_safetensors(path: Path) -> Iterator[Any]:
    """Open a safetensors file, or say why it cannot be read."""
    from safetensors import SafetensorError, safe_open

    with readable(path, "safetensors", SafetensorError, OSError):
        file = safe_open(path, framework="np")
    with file:
        yield file


def safetensors_arrays(path: Path) -> dict[str, Stored]:
    """Return the tensors of a file by name."""
    arrays = {}
    with open_safetensors(path) as file:
        for name in file.keys():  # noqa: SIM118 - a handle, not a dictionary
            tensor = file.get_slice(name)
            # What NumPy lacks (BF16, F8_E4M3) is listed as bytes, and refused where it is asked for.
            arrays[name] = Stored(tuple(tensor.get_shape()), np.dtype(_TENSOR_DTYPES.get(tensor.get_dtype(), "V2")))
    return arrays


def read_safetensors(path: Path, name: str) -> NDArray[Any]:
    """Read a tensor."""
    with open_safetensors(path) as file:
        return np.asarray(file.get_tensor(name))


class HDF5Vectors(MatrixVectors):
    """A dataset of an HDF5 file."""

    def __init__(self, path: Path, choice: Choice) -> None:
        datasets = hdf5_arrays(path)
        self._name = pick(path, datasets, choice.key, 2)
        super().__init__(path, *datasets[self._name], choice, self._name)

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        with open_hdf5(self.path) as file:
            for first in range(start, self.n_rows or 0, size):
                with readable(self.path, "HDF5", OSError):
                    rows = file[self._name][first : first + size]
                yield self._native(rows)


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Open an HDF5 file, or say why it cannot be read."""
    try:
        import h5py
    except ImportError:
        raise ValueError(f"{path} is read with h5py, which is missing: pip install 'proxcode[tables]'.") from None
    with readable(path, "HDF5", OSError):
        file = h5py.File(path, "r")
    with file:
        yield file


def hdf5_arrays(path: Path) -> dict[str, Stored]:
    """Return the datasets of a file, in all its groups, by name."""
    arrays: dict[str, Stored] = {}

    def note(name: str, item: Any) -> None:
        if getattr(item, "shape", None) is not None:  # groups and empty datasets have none
            arrays[name] = Stored(item.shape, item.dtype)

    with open_hdf5(path) as file, readable(path, "HDF5", OSError, RuntimeError, KeyError):
        file.visititems(note)
    return arrays


def read_hdf5(path: Path, name: str) -> NDArray[Any]:
    """Read a dataset; strings come as str."""
    with open_hdf5(path) as file, readable(path, "HDF5", OSError):
        dataset = file[name]
        return np.asarray(dataset.asstr()[()] if dataset.dtype.kind == "O" else dataset[()])


_LARGEST_DIMENSION = 2**24  # above it, what was read is no dimension
_ELEMENTS = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}


class TexmexVectors(MappedVectors):
    """Rows of an int32 dimension d and d values, the layout of the TEXMEX collections (SIFT1M, GIST1M)."""

    def __init__(self, path: Path, choice: Choice) -> None:
        no_key(path, choice)
        element = np.dtype(_ELEMENTS[path.suffix.lower()])
        with path.open("rb") as file:
            first = file.read(4)
        dimension = int.from_bytes(first, "little", signed=True)
        if len(first) < 4 or not 1 <= dimension <= _LARGEST_DIMENSION:
            raise ValueError(
                f"{path} starts with dimension {dimension}: a row is its dimension, 1 or more, and values."
            )
        self._row = np.dtype([("dimension", "<i4"), ("values", element, (dimension,))])
        n_rows, rest = divmod(path.stat().st_size, self._row.itemsize)
        if rest:
            raise ValueError(
                f"{path} is cut short: {rest} bytes follow {n_rows} rows of dimension {dimension}: copy it again."
            )
        super().__init__(path, (n_rows, dimension), element, choice)
        self._check_dimensions(self._structured()[[-1]], n_rows - 1)

    def _structured(self) -> NDArray[Any]:
        return np.memmap(existing_file(self.path), self._row, mode="r")

    def _map(self) -> NDArray[Any]:
        return self._structured()

    def _checked(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        self._check_dimensions(rows, first)
        return rows["values"]

    def _check_dimensions(self, rows: NDArray[Any], first: int) -> None:
        expected = self._row["values"].shape[0]
        if (wrong := np.flatnonzero(rows["dimension"] != expected)).size:
            raise ValueError(
                f"{self.path}: row {first + wrong[0]} has dimension {rows['dimension'][wrong[0]]}, the first has "
                f"{expected}: all rows need the same."
            )


KEYED = {
    ".npz": (npz_arrays, read_npz),
    ".safetensors": (safetensors_arrays, read_safetensors),
    ".h5": (hdf5_arrays, read_hdf5),
    ".hdf5": (hdf5_arrays, read_hdf5),
}


def read_keyed(path: Path, key: str | None, n_dimensions: int) -> NDArray[Any]:
    """Read the array with this key, or the only one with this number of dimensions."""
    list_arrays, read = KEYED[path.suffix.lower()]
    arrays = list_arrays(path)
    name = pick(path, arrays, key, n_dimensions)
    if arrays[name].dtype.kind == "V":
        raise ValueError(f"{place(path, name)} holds values that NumPy has no type for: store numbers.")
    return read(path, name)
