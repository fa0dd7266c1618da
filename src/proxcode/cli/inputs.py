"""Inputs that the options describe: near pairs, files of vectors, the headers of model files, and code lengths.

All files can be opened without scikit-learn and numba: a verb opens its inputs before it imports these, so that a wrong
file is reported at once.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxcode.code import ProximityPreservingCode
    from proxcode.files import FileSamples, Vectors
    from proxcode.proximity import Proximity
    from proxcode.utils.engine import Engine
    from proxcode.utils.rows import Index
    from proxcode.utils.samples import Samples

# Bytes of vectors above which they are read in blocks instead of being held in memory.
MAX_READ = 2 * 2**30


@dataclass(frozen=True)
class ProximityOptions:
    """Values of the options that define near pairs, None where an option is not given."""

    labels: str | None = None
    pairs: Path | None = None
    others: str | None = None
    radius: float | None = None
    neighbors: float | None = None
    metric: str | None = None
    new_classes: bool = False
    balanced: bool = False

    def __post_init__(self) -> None:
        """Raise a usage error for options that contradict each other."""
        if self.others is not None and self.pairs is None:
            raise click.UsageError("--others applies to the pairs that --pairs does not list: pass --pairs too.")
        if self.metric is not None and (self.labels is not None or self.pairs is not None):
            raise click.UsageError("--metric applies to distances, which --labels and --pairs do not use: omit it.")
        if self._for_classes and self.labels is None:
            raise click.UsageError("--new-classes and --balanced apply to classes: pass --labels too.")
        definitions = ("labels", "pairs", "radius", "neighbors")
        given = [f"--{name}" for name in definitions if getattr(self, name) is not None]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)} each define near pairs: pass only one of them.")

    def proximity(self) -> "Proximity | None":
        """Return the proximity, None for the default one: by the labels, or for top-k search without them."""
        from proxcode.files import read_pairs

        pairs = None if self.pairs is None else read_pairs(self.pairs)

        from proxcode.proximity import GivenPairs, WithinRadius

        if pairs is not None:
            return GivenPairs(pairs, others=self.others)
        if self.labels is not None:
            return self._by_label()
        if self.radius is None and self.neighbors is None and self.metric is None:
            return None
        return WithinRadius(self.radius, self.neighbors, metric=self.metric or "euclidean")

    def _by_label(self) -> "Proximity | None":
        from proxcode.proximity import SameLabel

        return SameLabel(balanced=self.balanced, new_classes=self.new_classes) if self._for_classes else None

    @property
    def _for_classes(self) -> bool:
        return self.new_classes or self.balanced

    def label_files(self) -> list[Path]:
        """Return the files of --labels."""
        from proxcode.files import list_files, split_column

        return [] if self.labels is None else list_files(split_column(self.labels)[0])

    def read_labels(self, n_samples: int, vectors: "VectorFile | None" = None) -> "NDArray[Any] | None":
        """Read one label per sample, file by file where `vectors` are in several files; None without --labels."""
        from proxcode.files import read_labels

        if self.labels is None:
            return None
        labels = read_labels(self.labels, None if vectors is None else vectors.sizes())
        if len(labels) != n_samples:
            raise ValueError(f"{self.labels} holds {len(labels)} labels for {n_samples} samples: expected one each.")
        return labels


class ModelHeader(NamedTuple):
    """What a model file says of its model, by the names of the fitted attributes."""

    n_features_in_: int
    n_bits_: int


def read_header(path: Path) -> ModelHeader:
    """Read the header of a model file; raise an error for any other file."""
    from proxcode.storage.container import read_file, reading
    from proxcode.storage.model_file import KIND, check_content

    content, _ = read_file(path, KIND, mapped=True)
    with reading(path, KIND):
        sizes = check_content(content)
        return ModelHeader(sizes["n_features"], sizes["n_bits"])


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors with the array or the columns to use of it."""

    path: Path
    key: str | None = None
    columns: str | None = None

    def open(self, *, labels: str | None = None, model: ModelHeader | None = None) -> "Vectors":
        """Open the vectors, without the column of `labels` in the same file, with the features that a model expects."""
        from proxcode.files import open_vectors

        columns = self.columns.split(",") if self.columns else None
        vectors = open_vectors(self.path, key=self.key, columns=columns, drop=self._label_column(labels))
        if model is not None:
            vectors.check_features(model.n_features_in_)
        return vectors

    def _label_column(self, labels: str | None) -> tuple[str, ...]:
        """Return the column of labels, if it is one of this file."""
        from proxcode.files import KEYED_FORMATS, list_files, split_column

        if labels is None or self.path.suffix.lower() in KEYED_FORMATS:
            return ()
        source, column = split_column(labels)
        if column is None or not _resolved(list_files(source)) & _resolved(list_files(self.path)):
            return ()
        return (column,)

    def samples(
        self, n_samples: int | None = None, *, labels: str | None = None, engine: "Engine"
    ) -> "tuple[NDArray[Any] | Samples, slice | Index, int]":
        """Return the vectors to learn from, their rows, and the number of all vectors.

        They are in memory, or in files if they are large or an engine reads them; `n_samples` evenly spaced ones.
        """
        from proxcode.utils.engine import LocalEngine
        from proxcode.utils.rows import ALL, evenly_spaced
        from proxcode.utils.samples import Samples

        X = self._all_samples(labels, engine)
        if n_samples is None or n_samples >= len(X):
            return X, ALL, len(X)
        rows = evenly_spaced(len(X), n_samples)
        is_small = n_samples * X.shape[1] * X.dtype.itemsize < MAX_READ
        if isinstance(X, Samples) and not (isinstance(engine, LocalEngine) and is_small):
            return X.select(rows), rows, len(X)
        return X[rows], rows, len(X)

    def _all_samples(self, labels: str | None, engine: "Engine") -> "NDArray[Any] | FileSamples":
        from proxcode.files import open_samples, stands_for_many
        from proxcode.utils.engine import LocalEngine

        is_local = isinstance(engine, LocalEngine)
        is_large = self.path.exists() and self.path.stat().st_size >= MAX_READ
        if is_local and not stands_for_many(self.path) and not is_large:
            return self.open(labels=labels).read()
        columns = self.columns.split(",") if self.columns else None
        drop = self._label_column(labels)
        samples = open_samples(self.path, key=self.key, columns=columns, drop=drop, engine=engine)
        return samples[:] if is_local and samples.nbytes < MAX_READ else samples

    def sizes(self) -> "dict[Path, int]":
        """Return the number of vectors of each file where there are several, else nothing."""
        from proxcode.files import open_samples, stands_for_many

        if not stands_for_many(self.path):
            return {}
        columns = self.columns.split(",") if self.columns else None
        samples = open_samples(self.path, key=self.key, columns=columns)
        return dict(zip(samples.paths, (samples.starts[1:] - samples.starts[:-1]).tolist(), strict=True))

    def input_files(self) -> list[Path]:
        """Return the files that hold the vectors."""
        from proxcode.files import list_files

        return list_files(self.path)

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


def check_bits(model: "ModelHeader | ProximityPreservingCode", n_bits: int | None) -> None:
    """Raise ValueError for a code length that the model does not have."""
    if n_bits is not None and not 1 <= n_bits <= model.n_bits_:
        raise ValueError(f"--bits {n_bits}: expected 1 to {model.n_bits_}, the code length of the model.")


def _resolved(paths: list[Path]) -> set[Path]:
    return {path.resolve() for path in paths}
