"""What the verbs of the command line share: errors in one sentence, options, checks of outputs, printing."""

import errno
import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import click

from proxcode.cli.printing import facts

FILE = click.Path(path_type=Path)
HASHES = click.Choice(["kernel", "linear", "svm"])
METRICS = click.Choice(
    ["euclidean", "cosine", "manhattan", "chebyshev", "correlation", "canberra", "braycurtis", "hamming"]
)
BITS = click.IntRange(1, 1024)
COUNT = click.IntRange(1)
SEED = click.IntRange(0, 2**32 - 1)
EXTRAS = {"matplotlib": "plots", "pyarrow": "tables", "h5py": "tables", "skops": "skops"}


class Sentences(click.Group):
    """A group whose commands end with one sentence where something is wrong, and with a traceback under --debug."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take --debug wherever it stands."""
        ctx.meta["debug"] = "--debug" in args
        return super().parse_args(ctx, [argument for argument in args if argument != "--debug"])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            remedy = "goes on from what was finished" if ctx.meta.get("resumes") else "begins anew"
            click.echo(f"Interrupted: the same command {remedy}.", err=True)
            sys.exit(130)
        except Exception as error:
            if ctx.meta["debug"] or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise  # click ends in silence where nobody reads on, as in `| head`
            raise click.ClickException(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, MemoryError):
        reason = f" ({error})" if str(error) else ""
        return f"there is not enough memory{reason}: take fewer vectors, or a larger machine."
    if isinstance(error, ModuleNotFoundError) and (package := str(error.name).partition(".")[0]) in EXTRAS:
        return f"{package} is missing: pip install 'proxcode[{EXTRAS[package]}]'."
    if isinstance(error, OSError) and error.strerror is not None:
        named = f"{error.filename}: " if error.filename is not None else ""
        return f"{named}{error.strerror}: {_REMEDIES.get(error.errno or 0, 'choose another file or folder')}."
    text = " ".join(str(error).split())
    is_ours = isinstance(error, ValueError | TypeError | OSError | ImportError)
    return text if is_ours and text else f"unexpected {type(error).__name__}: {text} (--debug shows where)."


_REMEDIES = {
    errno.EACCES: "choose another place, or change its permissions",
    errno.EPERM: "choose another place, or change its permissions",
    errno.EROFS: "choose another place, or change its permissions",
    errno.ENOSPC: "free some space, then give the same command again",
    errno.EDQUOT: "free some space, then give the same command again",
}


def _gathered(name: str, gather: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Options that several verbs share, and that reach a verb as one argument."""

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def with_gathered(**values: Any) -> Any:
            own = {parameter: values.pop(parameter) for parameter in signature(gather).parameters}
            return command(**values, **{name: gather(**own)})

        decorated: Any = with_gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _part(key: str | None, columns: str | None) -> tuple[str | None, tuple[str, ...]]:
    return key, tuple(columns.split(",")) if columns else ()


def _near(
    labels: str | None,
    pairs: Path | None,
    others: str | None,
    radius: float | None,
    neighbors: float | None,
    metric: str | None,
) -> Any:
    from proxcode.cli.jobs import Near

    if others is not None and pairs is None:
        raise click.UsageError("--others says what the pairs not in --pairs are: give --pairs too.")
    if metric is not None and (labels is not None or pairs is not None):
        raise click.UsageError("--metric measures distances, and --labels and --pairs need none: leave it out.")
    return Near(labels, pairs, others or "unknown", radius, neighbors, metric or "euclidean")


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
force = click.option("--force", is_flag=True, help="Replace the output file if it is there.")
part_options = _gathered(
    "part",
    _part,
    click.option("--key", help="Array to take, in a file of several (.npz, .safetensors, .h5)."),
    click.option("--columns", help="Columns to take, comma-separated names or numbers from 0 (tables)."),
)
near_options = _gathered(
    "near",
    _near,
    click.option("--labels", help="Near is the same label: FILE, FILE:COLUMN or FILE:KEY; or a 0/1 matrix."),
    click.option("--pairs", type=FILE, help="Near as listed: a CSV of i, j, near or far (or +1, -1)."),
    click.option("--others", type=click.Choice(["unknown", "far"]), help="Pairs not in --pairs; else unknown."),
    click.option("--radius", type=click.FloatRange(0), help="Near is within this distance."),
    click.option(
        "--neighbors",
        type=click.FloatRange(0, min_open=True),
        help="Near is within the distance that gives so many on average.",
    ),
    click.option("--metric", type=METRICS, help="Of --radius and --neighbors; else euclidean."),
)


def check_free(output: Path | None, force: bool) -> None:
    """Refuse what cannot be written, or would be written over, before any work is done."""
    if output is None:
        return
    if output.is_dir():
        raise click.ClickException(f"{output} is a folder: name a file in it.")
    if output.exists() and not force:
        raise click.ClickException(f"{output} is there already: give another name, or --force to replace it.")
    check_folder(output.parent, output.name)


def check_folder(folder: Path, name: str) -> None:
    """Refuse a folder that cannot be written to."""
    if not folder.is_dir():
        raise click.ClickException(f"there is no folder {folder} to write {name} to: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.ClickException(
            f"the folder {folder} cannot be written to: choose another, or change its permissions."
        )


def make_folder(folder: Path) -> None:
    """Make a folder to write to, or say why it cannot be."""
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"{folder} is a file: name a folder to write to.")
    folder.mkdir(parents=True, exist_ok=True)
    check_folder(folder, "results")


def show(as_json: bool, record: dict[str, Any], text: Callable[[], str] | None = None) -> None:
    """Print a record, as JSON or for people."""
    click.echo(json.dumps(record) if as_json else text() if text else facts(record))
