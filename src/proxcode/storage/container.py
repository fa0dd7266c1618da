"""Files of proxcode's own (models, indexes): safetensors with one metadata entry.

The entry "proxcode" is a JSON text with the kind of file, the version of its format, a SHA-256 digest of all the
rest and the content.
"""

import errno
import hashlib
import json
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.storage.atomic import atomic_write

FORMAT = 2
# Largest header of a safetensors file that its readers accept, in bytes.
MAX_HEADER = 100_000_000
# Characters of the reason given by another library that an error message shows.
MAX_REASON = 300
_META = "__metadata__"  # of safetensors: not an array
Tensors = dict[str, NDArray[Any]]
# Type, shape and place in the file, in bytes, of each array.
Offsets = dict[str, tuple[Any, tuple[int, ...], int]]


class Contents(NamedTuple):
    """What a file of ours holds."""

    content: dict[str, Any]
    tensors: Tensors


def write_file(
    path: str | os.PathLike[str],
    kind: str,
    content: Mapping[str, Any],
    tensors: Tensors,
    *,
    overwrite: bool = True,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Write a file of ours; equal content gives equal bytes.

    `announce` is called with the digest of the file after it is complete and before it gets its name.
    """
    header: dict[str, Any] = {"kind": kind, "format": FORMAT, "content": dict(content)}
    header["digest"] = content_digest(header, tensors)
    text, arrays = _tensor_header(tensors, {"proxcode": _as_json(header)})
    if len(text) > MAX_HEADER:
        raise ValueError(f"the content of {path} has {len(text):,} characters: pass long lists as NumPy arrays.")
    with atomic_write(path, overwrite=overwrite) as partial:
        _write_tensors(partial, text, arrays)
        if announce is not None:
            announce(header["digest"])


def _tensor_header(tensors: Tensors, metadata: Mapping[str, str]) -> tuple[bytes, list[NDArray[Any]]]:
    """Return the header of a safetensors file, and the arrays in the order in which they follow it."""
    entries: dict[str, Any] = {_META: dict(metadata)}
    ordered = sorted(tensors.items(), key=lambda named: (-named[1].dtype.itemsize, named[0]))  # so all are aligned
    arrays = [np.asarray(tensor, tensor.dtype.newbyteorder("<"), order="C") for _, tensor in ordered]
    end = 0
    for (name, _), array in zip(ordered, arrays, strict=True):
        start, end = end, end + array.nbytes
        entries[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": (start, end)}
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8), arrays


def _write_tensors(path: Path, text: bytes, arrays: list[NDArray[Any]]) -> None:
    """Write a safetensors file.

    The library's own function puts a file of its own in the place of the one it is given: neither the lock nor the sync
    of `atomic_write` would reach it.
    """
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays:
            file.write(array.data.cast("B") if array.size else b"")


def read_file(path: str | os.PathLike[str], kind: str, *, mapped: bool = False) -> Contents:
    """Read a file of ours, or say in one sentence why it cannot be read.

    Parameters
    ----------
    path : path
    kind : str
        The kind of file asked for.
    mapped : bool, default=False
        Map the arrays instead of reading them: at once, whatever their size, and without checking the digest.
    """
    path = _existing(path)
    with _opened(path) as file:
        header, offsets = _read_header(path, file)
        if header["kind"] != kind:
            article = "an" if kind.startswith("i") else "a"
            remedy = (
                "proxcode.load reads both" if {kind, header["kind"]} == {"model", "pipeline"} else "pass another file"
            )
            raise ValueError(f"{path} holds a proxcode {header['kind']}, not {article} {kind}: {remedy}.")
        tensors = _map(file, offsets)
    if not mapped:
        tensors = {name: np.array(tensor) for name, tensor in tensors.items()}
        if content_digest(header, tensors) != header["digest"]:
            raise ValueError(f"{path} was changed after it was written (its digest differs): copy or write it again.")
    return Contents(header["content"], tensors)


@contextmanager
def reading(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Raise ValueError, with the name of the file, for content that is not that of its kind."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {str(error).rstrip('.')}.") from error
    except (LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path} lacks a part of a file of kind {kind} ({error!r}): save the {kind} again.") from error


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of a file of ours, or say why it is none."""
    path = _existing(path)
    with _opened(path) as file:
        return str(_read_header(path, file)[0]["kind"])


def digest_of(path: str | os.PathLike[str]) -> str:
    """Return the digest in a file of ours, which tells it from files of other content, or say why it is none."""
    path = _existing(path)
    with _opened(path) as file:
        return str(_read_header(path, file)[0]["digest"])


def _existing(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path={path!r}: expected the path of a file.")
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}: check its name and folder.")
    return path


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it. Raises OSError with the remedy where the process has too many open files."""
    try:
        with path.open("rb") as file:
            # safetensors opens the file once more, and reports whatever fails then as a missing file.
            os.close(os.dup(file.fileno()))
            yield file
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        raise OSError(
            f"{path} cannot be opened, since too many files are open: raise the limit with `ulimit -n`, or join shards "
            "into fewer files."
        ) from error


def _read_header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], Offsets]:
    from safetensors import SafetensorError, safe_open

    try:
        # It checks the file and says what is wrong with it.
        with safe_open(path, framework="np"):
            pass
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length)
        entries = json.loads(text)
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:MAX_REASON]
        raise ValueError(
            f"{path} is truncated or not a file of proxcode ({reason}): copy or write it again."
        ) from error
    try:
        metadata = entries[_META]["proxcode"]
        header = json.loads(metadata)
        version, _ = int(header["format"]), (header["kind"], header["content"].keys(), header["digest"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} is a safetensors file that proxcode did not write: pass another file.") from error
    if version > FORMAT:
        raise ValueError(f"{path} has format {version}, this version reads up to {FORMAT}: upgrade proxcode.")
    is_as_written = metadata == _as_json(header) and text.rstrip(b" ").endswith(b"}")
    if not is_as_written or any(entry.get("dtype") not in _DTYPES for name, entry in entries.items() if name != _META):
        raise ValueError(f"{path} was changed after it was written (its header differs): copy or write it again.")
    offsets = {
        name: (_DTYPES[entry["dtype"]], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0])
        for name, entry in entries.items()
        if name != _META
    }
    return header, offsets


_DTYPES = {
    "BOOL": np.dtype(bool),
    **{
        f"{kind}{8 * size}": np.dtype(f"<{code}{size}")
        for kind, code in (("U", "u"), ("I", "i"))
        for size in (1, 2, 4, 8)
    },
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def _map(file: BinaryIO, offsets: Offsets) -> Tensors:
    """Map all arrays at once: each map holds a file descriptor.

    The maps are copied on write: arrays are writable, as the kernels were compiled for, and the file never changes.
    """
    try:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        # Linux refuses one map that is larger than the memory of the machine, but not several.
        return {name: _map_alone(file, *where) for name, where in offsets.items()}
    return {name: np.ndarray(shape, dtype, data, offset) for name, (dtype, shape, offset) in offsets.items()}


def _map_alone(file: BinaryIO, dtype: Any, shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.memmap(file, dtype, mode="c", offset=offset, shape=shape or (1,)).view(np.ndarray).reshape(shape)


def content_digest(header: Mapping[str, Any], tensors: Tensors) -> str:
    """Return the SHA-256 of the content and of all arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    digest.update(_as_json({key: value for key, value in header.items() if key != "digest"}).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}".encode())
        digest.update(np.ascontiguousarray(tensor).data.cast("B") if tensor.size else b"")
    return digest.hexdigest()


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
