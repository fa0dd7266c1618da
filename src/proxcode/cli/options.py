"""Options that several verbs share, the inputs they describe, and checks of output paths before any work."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxcode.code import ProximityPreservingCode
    from proxcode.files import Vectors
    from proxcode.proximity import Proximity

FILE = click.Path(path_type=Path)
BITS = click.IntRange(1, 1024)
COUNT = click.IntRange(1)
SEED = click.IntRange(0, 2**32 - 1)
METRICS = click.Choice(
    ["euclidean", "cosine", "manhattan", "chebyshev", "correlation", "canberra", "braycurtis", "hamming"]
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force = click.option("--force", is_flag=True, help="Replace the output file if it already exists.")


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
# A verb receives these as keyword arguments and passes them on to `ProximityOptions`.
proximity_options = _stacked(
    click.option(
        "--labels",
        help="Samples with the same label, or a shared label of a 0/1 matrix, are near. FILE, FILE:COLUMN or FILE:KEY.",
    ),
    click.option("--pairs", type=FILE, help="File of near and far pairs: rows i, j, near or far (or +1, -1)."),
    click.option(
        "--others",
        type=click.Choice(["unknown", "far"]),
        show_default="unknown",
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


@dataclass(frozen=True)
class ProximityOptions:
    """Values of the options that define near pairs, None where an option is not given."""

    labels: str | None = None
    pairs: Path | None = None
    others: str | None = None
    radius: float | None = None
    neighbors: float | None = None
    metric: str | None = None

    def __post_init__(self) -> None:
        """Raise a usage error for options that contradict each other."""
        if self.others is not None and self.pairs is None:
            raise click.UsageError("--others applies to the pairs that --pairs does not list: pass --pairs too.")
        if self.metric is not None and (self.labels is not None or self.pairs is not None):
            raise click.UsageError("--metric applies to distances, which --labels and --pairs do not use: omit it.")
        definitions = ("labels", "pairs", "radius", "neighbors")
        given = [f"--{name}" for name in definitions if getattr(self, name) is not None]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)} each define near pairs: pass only one of them.")

    def proximity(self) -> "Proximity | None":
        """Return the proximity, None for the default one of the labels."""
        from proxcode.files import read_pairs
        from proxcode.proximity import GivenPairs, WithinRadius

        if self.pairs is not None:
            return GivenPairs(read_pairs(self.pairs), others=self.others or "unknown")
        if self.labels is not None:
            return None
        return WithinRadius(self.radius, self.neighbors, metric=self.metric or "euclidean")

    def read_labels(self, n_samples: int) -> "NDArray[Any] | None":
        """Read one label per sample; None without --labels."""
        from proxcode.files import read_labels

        if self.labels is None:
            return None
        labels = read_labels(self.labels)
        if len(labels) != n_samples:
            raise ValueError(f"{self.labels} holds {len(labels)} labels for {n_samples} samples: expected one each.")
        return labels


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors with the array or the columns to use of it."""

    path: Path
    key: str | None = None
    columns: str | None = None

    def open(self, *, labels: str | None = None, model: "ProximityPreservingCode | None" = None) -> "Vectors":
        """Open the vectors.

        Parameters
        ----------
        labels : str, default=None
            Value of --labels: a column of the same file that holds the labels is not part of the vectors.
        model : ProximityPreservingCode, default=None
            Model that expects vectors of its number of features.
        """
        from proxcode.files import KEYED_FORMATS, open_vectors, split_column

        drop: tuple[str, ...] = ()
        if labels is not None and self.path.suffix.lower() not in KEYED_FORMATS:
            label_file, column = split_column(labels)
            if column is not None and label_file.resolve() == self.path.resolve():
                drop = (column,)
        columns = self.columns.split(",") if self.columns else None
        vectors = open_vectors(self.path, key=self.key, columns=columns, drop=drop)
        if model is not None and vectors.n_columns != model.n_features_in_:
            raise ValueError(
                f"{self.path} has {vectors.n_columns} features, but the model was fitted to {model.n_features_in_}: "
                "choose columns, or another file."
            )
        return vectors

    @property
    def identity(self) -> str:
        """Text that changes with the content of the file and the choice of vectors."""
        status = self.path.stat()
        return json.dumps([str(self.path.resolve()), status.st_size, status.st_mtime_ns, self.key, self.columns])


def holds_vectors(path: Path) -> bool:
    """Return whether a file holds vectors by its suffix, and is not a model, an index or a checkpoint."""
    from proxcode.files import VECTOR_FORMATS
    from proxcode.storage.container import kind_of

    suffix = path.suffix.lower()
    if suffix != ".safetensors":
        return suffix in VECTOR_FORMATS
    try:
        kind_of(path)
    except (ValueError, OSError):
        return True
    return False


def check_bits(model: "ProximityPreservingCode", n_bits: int | None) -> None:
    """Raise ValueError for a code length that the model does not have."""
    if n_bits is not None and not 1 <= n_bits <= model.n_bits_:
        raise ValueError(f"--bits {n_bits}: expected 1 to {model.n_bits_}, the code length of the model.")


def check_output(output: Path | None, force: bool) -> None:
    """Raise an error for a file that cannot be written, or that exists and is not to be replaced."""
    if output is None:
        return
    if output.is_dir():
        raise click.ClickException(f"{output} is a folder: name a file in it.")
    if output.exists() and not force:
        raise click.ClickException(f"{output} already exists; choose another name or pass --force.")
    _check_folder(output.parent, output.name)


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
