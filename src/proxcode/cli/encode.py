"""The verb `encode`: write the codes of a file of vectors, block by block, or those of many files to a folder.

The codes of many files are those of `proxcode.encoding`. Those of one file are written here:

1. Codes are appended to a temporary file beside the output, one block of rows at a time.
2. A run that is killed, or that meets a full disk, leaves that file, and the same command resumes after the last
   complete block.
3. When all rows are encoded, the header is written and the file is renamed to the output.

Blocks start at the same rows in a resumed run: the output has the same bytes.
"""

import os
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from proxcode.cli.inputs import VectorFile, check_bits, read_header
from proxcode.cli.options import BITS, FILE, as_json, check_output, engine_options, force, trust, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reading import InputFile, say

if TYPE_CHECKING:
    from proxcode.files import Vectors
    from proxcode.pipeline import Model

# Rows that are encoded and written at once.
BLOCK = 8192
# Size in bytes of the .npy header, which NumPy pads so that it has room for any number of rows.
HEADER = 128


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=click.Path(), nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="Codes to write: a .npy file of packed bytes, or for many files a folder of Parquet files.",
)
@click.option("--bits", type=BITS, show_default="all", help="Number of leading bits to write.")
@trust
@vector_options
@click.option("--code-column", help="Many files: name of the column of codes.", show_default="code")
@engine_options
@force
@as_json
def encode(
    model: Path,
    vectors: tuple[str, ...],
    output: str,
    bits: int | None,
    trust: tuple[str, ...],
    key: str | None,
    columns: str | None,
    code_column: str | None,
    engine: str | None,
    scheduler: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the codes of VECTORS: of a file, or of the files of a folder or of a quoted pattern.

    The codes of many files are written to a folder, one Parquet file for each, beside all columns that are not vectors.
    Files that cannot be encoded are set aside, and the exit code is 1. After an interruption, the same command resumes.
    MODEL is the file of a model or of a pipeline, whose transformers are applied to VECTORS first.

    \b
    Examples:
      proxcode encode my.proxcode vectors.npy -o codes.npy
      proxcode encode my.proxcode "vectors/*.parquet" -o codes/
      proxcode encode my.proxcode vectors/ -o codes/ --engine dask --scheduler tcp://10.0.0.1:8786
    """
    click.get_current_context().meta["resumable"] = True
    many = {"--code-column": code_column, "--engine": engine, "--scheduler": scheduler}
    if not _is_one_file(vectors, output):
        choice = {"key": key, "columns": columns.split(",") if columns else None, "code_column": code_column or "code"}
        _encode_many(model, vectors, Path(output), bits, trust, choice, (engine or "local", scheduler), force, as_json)
    elif given := [option for option, value in many.items() if value is not None]:
        raise click.UsageError(f"{given[0]} applies to many files: name a folder or a quoted pattern, and a folder.")
    else:
        _encode_one(model, VectorFile(Path(vectors[0]), key, columns), Path(output), bits, trust, force, as_json)


def _is_one_file(vectors: tuple[str, ...], output: str) -> bool:
    """Return whether codes are those of one file, and not to be written to a folder."""
    from proxcode.storage.listing import files_of

    is_folder = output.endswith(("/", os.sep)) or Path(output).is_dir()
    return len(vectors) == 1 and files_of(vectors[0]) is None and not is_folder


def _encode_many(
    model: Path,
    vectors: tuple[str, ...],
    output: Path,
    bits: int | None,
    trust: tuple[str, ...],
    choice: dict[str, Any],
    engine: tuple[str, str | None],
    force: bool,
    as_json: bool,
) -> None:
    """Write the codes of many files to a folder."""
    check_bits(read_header(model), bits)

    from proxcode.encoding import encode_files, plan_outputs
    from proxcode.engines import make_engine

    files = list(plan_outputs(vectors, output))
    read = {"vectors": _first_readable(files, vectors, choice)}
    say(read)
    with make_engine(*engine) as used:
        from proxcode.pipeline import load

        fitted = load(model, trusted=trust or None)
        options = {**choice, "n_bits": bits, "engine": used, "overwrite": force, "progress": True}
        encoded = encode_files(fitted, vectors, output, **options)
    counts = {"files": len(encoded.outputs), "finished before": encoded.n_kept, "failed": len(encoded.failed)}
    show(as_json, {"codes": str(output), **counts, "rows": encoded.rows, "bits": encoded.n_bits}, read=read)
    if encoded.failed:
        for reason in encoded.failed.values():
            click.echo(reason, err=True)
        raise click.ClickException(
            f"{len(encoded.failed)} of {len(files)} files were set aside, see {output / encoded.manifest.name}: the "
            "same command tries them again."
        )


def _first_readable(files: list[Path], given: tuple[str, ...], choice: dict[str, Any]) -> InputFile:
    """Return the array or the columns that are taken of the first file; one that cannot be read is set aside later."""
    from proxcode.files import Taken, open_vectors

    name, n_files = ", ".join(given) if len(files) > 1 else files[0], len(files)
    for path in files:
        try:
            opened = open_vectors(path, key=choice["key"], columns=choice["columns"])
        except (ValueError, OSError):
            continue
        return InputFile(name, opened.taken, None, opened.n_columns, type=str(opened.dtype), n_files=n_files)
    return InputFile(name, Taken(), None, n_files=n_files)


def _encode_one(
    model: Path,
    source: VectorFile,
    output: Path,
    bits: int | None,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write the codes of one file."""
    check_output(output, force, model, source.path)
    header = read_header(model)
    check_bits(header, bits)
    _check_suffix(output)
    opened = source.open(model=header)

    read = {"vectors": source.input_file(opened.taken, (opened.n_rows, opened.n_columns), opened.dtype)}
    say(read)

    from proxcode.pipeline import load
    from proxcode.utils.progress import ProgressDisplay

    fitted = load(model, trusted=trust or None)
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
    show(as_json, {"codes": str(output), "rows": encoded.rows, "bits": encoded.bits, **resumed}, read=read)


class Encoded(NamedTuple):
    """Number of codes written, their length in bits, and the row at which the run resumed (0: the beginning)."""

    rows: int
    bits: int
    first_row: int


def encode_file(
    model: "Model",
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
            vectors.check_finite(block, n_rows)
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
        raise ValueError(
            f"{output.name}: codes are written as .npy; choose a name with this suffix, or a folder, with / at its end."
        )


def _complete_rows(file: BinaryIO, n_bytes: int) -> int:
    """Truncate a file to its complete blocks, seek to its end and return the number of its rows."""
    size = file.seek(0, 2)
    n_blocks = max(0, size - HEADER) // (BLOCK * n_bytes)
    file.truncate(HEADER + n_blocks * BLOCK * n_bytes)
    file.seek(0, 2)
    return n_blocks * BLOCK
