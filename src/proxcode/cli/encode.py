"""The verb `encode`: write the codes of a file of vectors, block by block.

1. Codes are appended to a temporary file beside the output, one block of rows at a time.
2. A run that is killed, or that meets a full disk, leaves that file, and the same command resumes after the last
   complete block.
3. When all rows are encoded, the header is written and the file is renamed to the output.

Blocks start at the same rows in a resumed run: the output has the same bytes.
"""

from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from proxcode.cli.inputs import VectorFile, check_bits, read_header
from proxcode.cli.options import BITS, FILE, as_json, check_output, force, vector_options
from proxcode.cli.printing import show

if TYPE_CHECKING:
    from proxcode.code import ProximityPreservingCode
    from proxcode.files import Vectors

# Rows that are encoded and written at once.
BLOCK = 8192
# Size in bytes of the .npy header, which NumPy pads so that it has room for any number of rows.
HEADER = 128


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="Codes to write: a .npy file of packed bytes.")
@click.option("--bits", type=BITS, show_default="all", help="Number of leading bits to write.")
@click.option(
    "--trust",
    multiple=True,
    help="Type of another library that the model may load, where its hash function is a classifier; repeatable.",
)
@vector_options
@force
@as_json
def encode(
    model: Path,
    vectors: Path,
    output: Path,
    bits: int | None,
    trust: tuple[str, ...],
    key: str | None,
    columns: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the codes of VECTORS.

    After an interruption, the same command resumes.

    \b
    Example:
      proxcode encode my.proxcode vectors.npy -o codes.npy
    """
    check_output(output, force, model, vectors)
    click.get_current_context().meta["resumable"] = True

    header = read_header(model)
    check_bits(header, bits)
    _check_suffix(output)
    source = VectorFile(vectors, key, columns)
    opened = source.open(model=header)

    from proxcode.code import ProximityPreservingCode
    from proxcode.utils.progress import ProgressDisplay

    fitted = ProximityPreservingCode.load(model, trusted=trust or None)
    identity = f"{VectorFile(model).identity} {source.identity}"
    with ProgressDisplay("encoded", "rows", opened.n_rows) as display:
        # The first rows reported are those of an earlier run.
        reports = chain([display.skip], repeat(display.update))

        def progress(n_rows: int) -> None:
            next(reports)(n_rows)

        encoded = encode_file(
            fitted, opened, output, identity=identity, n_bits=bits, overwrite=force, progress=progress
        )
    resumed = {"resumed at row": encoded.first_row} if encoded.first_row else {}
    show(as_json, {"codes": str(output), "rows": encoded.rows, "bits": encoded.bits, **resumed})


class Encoded(NamedTuple):
    """Number of codes written, their length in bits, and the row at which the run resumed (0: the beginning)."""

    rows: int
    bits: int
    first_row: int


def encode_file(
    model: "ProximityPreservingCode",
    vectors: "Vectors",
    output: Path,
    *,
    identity: str,
    n_bits: int | None = None,
    overwrite: bool = True,
    progress: Callable[[int], object] = lambda n_rows: None,
) -> Encoded:
    """Write the first `n_bits` bits (None: all) of the codes of vectors to a .npy file of packed bytes.

    The run resumes what a run of the same `identity` left. `progress` is called with the number of rows of each block.
    Without `overwrite` an existing file is kept, and a FileExistsError raised.
    """
    _check_suffix(output)
    check_bits(model, n_bits)

    from numpy.lib.format import write_array_header_1_0

    from proxcode.storage.atomic import resumable_write

    n_bits = model.n_bits_ if n_bits is None else n_bits
    n_bytes = -(-n_bits // 8)
    with resumable_write(output, f"{identity} {n_bits}", overwrite=overwrite) as file:
        first_row = n_rows = _complete_rows(file, n_bytes)
        progress(first_row)
        for block in vectors.blocks(BLOCK, start=first_row):
            _check_finite(vectors.path, block, n_rows)
            codes = model.encode(block, n_bits)
            file.write(codes.tobytes())
            n_rows += len(codes)
            progress(len(codes))
        if n_rows == 0:
            raise ValueError(f"{vectors.path} has no rows: expected at least one.")
        file.seek(0)
        write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (n_rows, n_bytes)})
    return Encoded(n_rows, n_bits, first_row)


def _check_suffix(output: Path) -> None:
    if output.suffix != ".npy":
        raise ValueError(f"{output.name}: codes are written as .npy; choose a name with this suffix.")


def _check_finite(path: Path, block: Any, first: int) -> None:
    """Raise ValueError for NaN and infinity with the row of the file, which the model does not know."""
    import numpy as np

    if np.isfinite(block.sum(dtype=np.float64)) or (finite := np.isfinite(block)).all():
        return
    row, column = np.argwhere(~finite)[0]
    raise ValueError(
        f"{path} contains {block[row, column]} in row {first + row}, column {column}: drop these rows or impute their "
        "values."
    )


def _complete_rows(file: BinaryIO, n_bytes: int) -> int:
    """Truncate a file to its complete blocks, seek to its end and return the number of its rows."""
    size = file.seek(0, 2)
    n_blocks = max(0, size - HEADER) // (BLOCK * n_bytes)
    file.truncate(HEADER + n_blocks * BLOCK * n_bytes)
    file.seek(0, 2)
    return n_blocks * BLOCK
