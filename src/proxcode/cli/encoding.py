"""Codes of a whole file of vectors, block by block, in little memory.

The codes are written beside their place as they are computed. Where the run is killed, the same call goes on from the
last whole block; when all is done, the file takes its place. Blocks are the same in both cases, and so are the bytes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.code import ProximityPreservingCode
from proxcode.files import Vectors
from proxcode.storage.atomic import resumable_write

BLOCK = 8192
HEADER = 128  # bytes of a .npy header: enough for any shape


class Encoded(NamedTuple):
    """What was written.

    Attributes
    ----------
    rows : int
    bits : int
    first_row : int
        Where the run went on; 0 where it began.
    """

    rows: int
    bits: int
    first_row: int


def encode_file(
    model: ProximityPreservingCode,
    vectors: Vectors,
    output: Path,
    *,
    identity: str,
    n_bits: int | None = None,
    progress: Callable[[int], object] = lambda n_rows: None,
) -> Encoded:
    """Write the packed codes of vectors to a .npy file.

    Parameters
    ----------
    model : ProximityPreservingCode
    vectors : Vectors
    output : Path
    identity : str
        Tells this model and these vectors from others: a run goes on from what one of the same identity left.
    n_bits : int, default=None
        Only the first so many bits.
    progress : function
        Called with the number of rows after each block.
    """
    if output.suffix != ".npy":
        raise ValueError(f"codes are written as .npy, not as {output.name}: name such a file.")
    n_bits = model.n_bits_ if n_bits is None else n_bits
    if not 1 <= n_bits <= model.n_bits_:
        raise ValueError(f"n_bits={n_bits}: give 1 to {model.n_bits_}, the bits of the model.")
    n_bytes = -(-n_bits // 8)
    with resumable_write(output, f"{identity} {n_bits}") as file:
        first_row = n_rows = _rows_done(file, n_bytes)
        progress(first_row)
        for block in vectors.blocks(BLOCK, start=first_row):
            _check_finite(vectors.path, block, n_rows)
            codes = model.encode(block, n_bits)
            file.write(codes.tobytes())
            n_rows += len(codes)
            progress(len(codes))
        if n_rows == 0:
            raise ValueError(f"{vectors.path} has no rows: there is nothing to encode.")
        _write_header(file, (n_rows, n_bytes))
    return Encoded(n_rows, n_bits, first_row)


def _check_finite(path: Path, block: NDArray[Any], first: int) -> None:
    """Name the row of the file, which the model, given a block, does not know."""
    if np.isfinite(block.sum(dtype=np.float64)) or (finite := np.isfinite(block)).all():
        return
    row, column = np.argwhere(~finite)[0]
    raise ValueError(
        f"{path} has {block[row, column]} in row {first + row}, column {column}: drop such rows or fill them in."
    )


def _rows_done(file: BinaryIO, n_bytes: int) -> int:
    """Return the rows of whole blocks that are there; the file goes on after them."""
    size = file.seek(0, 2)
    n_blocks = max(0, size - HEADER) // (BLOCK * n_bytes)
    file.truncate(HEADER + n_blocks * BLOCK * n_bytes)
    file.seek(0, 2)
    return n_blocks * BLOCK


def _write_header(file: BinaryIO, shape: tuple[int, int]) -> None:
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    magic = np.lib.format.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
    file.seek(0)
    file.write(magic + text.ljust(HEADER - 11).encode() + b"\n")
