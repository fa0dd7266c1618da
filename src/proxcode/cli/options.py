"""Options that several verbs share, and checks of output paths before any work."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path)
BITS = click.IntRange(1, 1024)
COUNT = click.IntRange(1)
SEED = click.IntRange(0, 2**32 - 1)
METRICS = click.Choice(
    ["euclidean", "cosine", "manhattan", "chebyshev", "correlation", "canberra", "braycurtis", "hamming"]
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force = click.option("--force", is_flag=True, help="Replace the output file if it already exists.")

trust = click.option(
    "--trust",
    multiple=True,
    help="Type of another library that the model may load, where it has classifiers or other transformers; repeatable.",
)


def _stacked(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


vector_options = _stacked(
    click.option("--key", help="Name of the array in a file of several arrays (.npz, .safetensors, .h5)."),
    click.option("--columns", help="Columns to use: comma-separated names, or numbers from 0."),
)
table_options = _stacked(
    click.option("--table", help="Table of codes in a database, or SCHEMA.TABLE."),
    click.option(
        "--column", default="code", show_default=True, help="Column of codes, of the table or a Parquet file."
    ),
    click.option("--id", "id_column", default="id", show_default=True, help="Column of ids, of both."),
)
engine_options = _stacked(
    click.option(
        "--engine",
        type=click.Choice(["local", "dask", "ray", "spark"]),
        show_default="local",
        help="Where many files are read and computed: in this process, or on the workers of a cluster.",
    ),
    click.option(
        "--scheduler", help="Address of the cluster of --engine.", show_default="workers on this machine are started"
    ),
)
# A verb receives these as keyword arguments and passes them on to `ProximityOptions`.
proximity_options = _stacked(
    click.option(
        "--labels",
        help="Samples with the same label, or a shared label of a 0/1 matrix, are near. FILE, FILE:COLUMN or FILE:KEY.",
    ),
    click.option(
        "--unlabelled",
        metavar="LABEL",
        show_default="-1",
        help="Label that means no label, as empty cells and NaN always do; '' for none, if -1 is a class.",
    ),
    click.option(
        "--pairs",
        type=FILE,
        help="File of near pairs, rows i, j; or of near and far pairs, rows i, j and near or far (also 1 or 0, +1 or "
        "-1, true or false).",
    ),
    click.option(
        "--others",
        type=click.Choice(["unknown", "far"]),
        show_default="unknown, or mostly far if no far pair is listed",
        help="Kind of the pairs that --pairs does not list.",
    ),
    click.option("--radius", type=click.FloatRange(0), help="Samples within this distance are near."),
    click.option(
        "--neighbors",
        type=click.FloatRange(0, min_open=True),
        help="Samples are near within the distance that gives each sample this many near samples on average.",
    ),
    click.option("--metric", type=METRICS, show_default="euclidean", help="Distance of --radius and --neighbors."),
)


def check_output(output: Path | None, force: bool, *inputs: Path | str | None) -> None:
    """Raise an error for a file that cannot be written, that is an input, or that exists and is not to be replaced.

    An input is a path, FILE:COLUMN or FILE:KEY; None is ignored.
    """
    if output is None:
        return

    from proxcode.storage.atomic import check_target

    check_target(output)
    for given in inputs:
        if given is not None and any(_is_same_file(output, name) for name in _possible_files(str(given))):
            raise click.ClickException(f"the output {output} is the input {given}: choose another name for the output.")
    if os.path.lexists(output) and not force:
        raise click.ClickException(f"{output} already exists; choose another name or pass --force.")
    _check_folder(output.parent, output.name)


def _is_same_file(output: Path, name: str) -> bool:
    """Return whether two paths lead to the same file, also by a symbolic or a hard link."""
    try:
        return output.samefile(name)
    except OSError:
        return False


def _possible_files(given: str) -> list[str]:
    """Return the names that may be those of a file in FILE, FILE:COLUMN or FILE:KEY; both may contain colons."""
    return [given, *(given[:at] for at, character in enumerate(given) if character == ":")]


def make_folder(folder: Path) -> None:
    """Make a folder to write to, or raise an error that tells why this is impossible."""
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"{folder} is a file: expected the path of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    _check_folder(folder, "results")


def _check_folder(folder: Path, name: str) -> None:
    if not folder.is_dir():
        raise click.ClickException(f"there is no folder {folder} to write {name} to: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.ClickException(f"the folder {folder} is not writable: choose another, or change its permissions.")
