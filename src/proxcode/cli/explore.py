"""The verb `explore`: live search among codes, in a browser."""

import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from proxcode.cli.inputs import ModelHeader, VectorFile, check_bits, read_header
from proxcode.cli.options import BITS, FILE, trust, vector_options
from proxcode.cli.reading import InputFile, say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxcode.explore import ExploreServer
    from proxcode.files import CodeFile, TakenLabels, Vectors
    from proxcode.storage.texts import Texts


@click.command()
@click.argument("model", type=FILE)
@click.argument("codes", type=FILE)
@click.option("--items", help="Columns of text, a row for each code; FILE:COLUMN names the column to search in.")
@click.option("--vectors", type=FILE, help="The vectors of the codes, row by row; with --image-shape for pictures.")
@click.option("--labels", help="Labels of the codes, one each: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--image-shape", help="Shape of the images that --vectors are: 28x28, 32x32x3 or 3x32x32.")
@click.option("--ids", help="Ids of the codes, integers or text, one per code: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--column", default="code", show_default=True, help="Column of codes of a Parquet file.")
@click.option("--id", "id_column", default="id", show_default=True, help="Column of ids of a Parquet file.")
@click.option("--bits", type=BITS, show_default="that of the model or of the file", help="Code length.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="any free port", help="Port.")
@vector_options
@trust
def explore(
    model: Path,
    codes: Path,
    items: str | None,
    vectors: Path | None,
    labels: str | None,
    image_shape: str | None,
    ids: str | None,
    column: str,
    id_column: str,
    bits: int | None,
    port: int,
    key: str | None,
    columns: str | None,
    trust: tuple[str, ...],
) -> None:
    """Search among CODES of a MODEL in a browser, by item or by a pasted vector.

    CODES is a file of packed codes or a saved index. The page is served on 127.0.0.1 alone, at an address with a random
    token, which is printed: open it in a browser. Only what the options name is served. Ctrl-C stops the server.

    \b
    Examples:
      proxcode explore my.proxcode codes.npy --items items.csv
      proxcode explore my.proxcode codes.npy --items items.csv:title --vectors data.npy --image-shape 8x8
    """
    if image_shape is not None and vectors is None:
        raise click.UsageError("--image-shape is the shape of --vectors: pass these too.")
    if vectors is None and (key or columns):
        raise click.UsageError("--key and --columns apply to --vectors: pass these too.")

    from proxcode.files import open_codes

    header = read_header(model)
    check_bits(header, bits)
    file = open_codes(codes, column=column, id_column=id_column if ids is None else None)
    n_bits = _code_length(file, bits, header)
    packed, own_ids = file.read()
    n_codes = len(packed)
    read = {"codes": InputFile(codes, file.taken, n_codes, unit="codes")}
    if ids is not None:
        given = _labels(ids, "ids", n_codes)
        own_ids, read["ids"] = given.labels, _input(ids, given, "ids")
    texts = None if items is None else _items(items, n_codes, read)
    source = None if vectors is None else VectorFile(vectors, key, columns)
    opened = None if source is None else _vectors(source, header, image_shape, n_codes, read)
    known = None if labels is None else _labels(labels, "labels", n_codes)
    if labels is not None and known is not None:
        read["labels"] = _input(labels, known, "samples")
    say(read)

    from proxcode.explore import CodeExplorer, ExploreServer
    from proxcode.explore.items import Items
    from proxcode.explore.live_report import lengths_up_to
    from proxcode.pipeline import load

    explorer = CodeExplorer(
        load(model, trusted=trust or None),
        packed,
        n_bits=n_bits,
        fingerprint=file.fingerprint,
        ids=own_ids if file.has_ids or ids is not None else None,
        items=None if texts is None else Items(*texts),
        labels=None if known is None else known.labels,
        vectors=opened,
        image_shape=image_shape,
    )
    lengths = lengths_up_to(n_bits, explorer.model)
    listed = None if lengths is None else ",".join(map(str, lengths))
    of_report = {"labels": labels, "image-shape": image_shape, "key": key, "columns": columns, "lengths": listed}
    _serve(ExploreServer(explorer, port, command=_report_command(model, vectors, of_report)))


def _code_length(file: "CodeFile", bits: int | None, header: ModelHeader) -> int:
    n_bits = file.code_length(bits, header.n_bits_)
    if n_bits > header.n_bits_:
        raise ValueError(f"{file.path} has codes of {n_bits} bits, the model of {header.n_bits_}: pass its own model.")
    return n_bits


def _labels(source: str, name: str, n_codes: int) -> "TakenLabels":
    from proxcode.files import take_labels

    found = take_labels(source).for_samples(n_codes)
    _check_rows(source, name, len(found.labels), n_codes)
    return found


def _input(source: str, found: "TakenLabels", unit: str) -> InputFile:
    from proxcode.files import split_column

    return InputFile(split_column(source)[0], found.taken, len(found.labels), unit=unit)


def _items(source: str, n_codes: int, read: dict[str, InputFile]) -> "tuple[dict[str, Texts], str | None]":
    """Return the columns of items, and the one to search in."""
    from proxcode.files import Taken, split_column
    from proxcode.files.text_columns import read_text_columns

    path, column = split_column(source)
    texts = read_text_columns(path)
    if column is not None and column not in texts:
        raise ValueError(f"{path} has no column {column!r}: expected one of {', '.join(texts)}.")
    n_rows = len(next(iter(texts.values())).ends)
    _check_rows(str(path), "items", n_rows, n_codes)
    read["items"] = InputFile(path, Taken(columns=tuple(texts)), n_rows, unit="items")
    return texts, column


def _vectors(
    source: VectorFile, header: ModelHeader, image_shape: str | None, n_codes: int, read: dict[str, InputFile]
) -> "NDArray[np.floating[Any]]":
    opened: Vectors = source.open(model=header)
    if image_shape is not None:
        from proxcode.report.images import check_shape, parse_shape

        check_shape(parse_shape(image_shape), opened.n_columns)
    samples = opened.read()
    _check_rows(str(source.path), "vectors", len(samples), n_codes)
    read["vectors"] = source.input_file(opened.taken, samples.shape, opened.dtype)
    return samples


def _check_rows(source: str, name: str, n_rows: int, n_codes: int) -> None:
    if n_rows != n_codes:
        raise ValueError(f"{source} holds {n_rows:,} {name} for {n_codes:,} codes: expected one for each.")


def _report_command(model: Path, vectors: Path | None, options: dict[str, str | None]) -> str:
    """Return the command that writes the report to a file."""
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return shlex.join(["proxcode", "report", str(model), str(vectors), *given, "-o", "report.html"])


def _serve(server: "ExploreServer") -> None:
    """Print the address, and serve until Ctrl-C or the signal to end."""
    from threadpoolctl import threadpool_limits

    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    # A process that runs in the background of a shell ignores Ctrl-C unless told otherwise.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        click.echo(f"Explore at {server.address} (Ctrl-C stops)")
        # The product of one vector is faster in one thread, and several would wait for one another.
        with threadpool_limits(1, user_api="blas"):
            server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
    finally:
        server.server_close()
        for number, handler in before.items():
            signal.signal(number, handler)
