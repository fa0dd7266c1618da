"""Inputs that the options describe: near pairs, files of vectors, the headers of model files, and code lengths.

All files can be opened without scikit-learn and numba: a verb opens its inputs before it imports these, so that a wrong
file is reported at once.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from proxcode.cli.reading import InputFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxcode.files import Taken, TakenLabels, Vectors
    from proxcode.pipeline import Model
    from proxcode.proximity import Proximity
    from proxcode.utils.engine import Engine
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
    unlabelled: str | None = None

    def __post_init__(self) -> None:
        """Raise a usage error for options that contradict each other."""
        if self.others is not None and self.pairs is None:
            raise click.UsageError("--others applies to the pairs that --pairs does not list: pass --pairs too.")
        if self.metric is not None and (self.labels is not None or self.pairs is not None):
            raise click.UsageError("--metric applies to distances, which --labels and --pairs do not use: omit it.")
        if self._for_classes and self.labels is None:
            raise click.UsageError("--new-classes, --balanced and --unlabelled apply to classes: pass --labels too.")
        definitions = ("labels", "pairs", "radius", "neighbors")
        given = [f"--{name}" for name in definitions if getattr(self, name) is not None]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)} each define near pairs: pass only one of them.")

    def proximity(self, y: "NDArray[Any] | None" = None) -> "Proximity | None":
        """Return the proximity for labels y, None for the default one: by the labels, or for top-k search without."""
        from proxcode.files import read_pairs

        pairs = None if self.pairs is None else read_pairs(self.pairs)

        from proxcode.proximity import GivenPairs, WithinRadius

        if pairs is not None:
            return GivenPairs(pairs, others=self.others)
        if y is not None:
            return self._by_label(y)
        if self.radius is None and self.neighbors is None and self.metric is None:
            return None
        return WithinRadius(self.radius, self.neighbors, metric=self.metric or "euclidean")

    def _by_label(self, y: "NDArray[Any]") -> "Proximity | None":
        from proxcode.proximity import SameLabel

        if not self._for_classes:
            return None
        named = {} if self.unlabelled is None else {"unlabelled": self._missing_label(y)}
        return SameLabel(balanced=self.balanced, new_classes=self.new_classes, **named)

    def _missing_label(self, y: "NDArray[Any]") -> str | float | None:
        """Return the value of --unlabelled as a label of the kind of y, None for an empty text."""
        is_text = y.dtype.kind in "US" or (y.dtype.kind == "O" and any(isinstance(label, str) for label in y.flat))
        if is_text or not self.unlabelled:
            return self.unlabelled or None
        try:
            return int(self.unlabelled)
        except ValueError:
            pass
        try:
            return float(self.unlabelled)
        except ValueError:
            raise ValueError(
                f"--unlabelled {self.unlabelled}: {self.labels} holds numbers; pass one, or '' if -1 is a class."
            ) from None

    @property
    def _for_classes(self) -> bool:
        return self.new_classes or self.balanced or self.unlabelled is not None

    def label_files(self) -> list[Path]:
        """Return the files of --labels."""
        from proxcode.files import label_files

        return [] if self.labels is None else label_files(self.labels)

    def take_labels(self, n_samples: int, vectors: "VectorFile | None" = None) -> "TakenLabels | None":
        """Read one label per sample, file by file where `vectors` are in several files; None without --labels."""
        from proxcode.files import take_labels

        if self.labels is None:
            return None
        found = take_labels(self.labels, None if vectors is None else vectors.sizes()).for_samples(n_samples)
        if (n_labels := len(found.labels)) != n_samples:
            raise ValueError(f"{self.labels} holds {n_labels} labels for {n_samples} samples: expected one each.")
        return found

    def inputs(self, proximity: "Proximity", labels: "TakenLabels | None") -> dict[str, InputFile]:
        """Return what was read for near pairs: the labels, or the list of pairs of the proximity."""
        from proxcode.files import Taken, split_column

        if self.pairs is not None:
            return {"pairs": InputFile(self.pairs, Taken(), len(proximity.get_params()["pairs"]), unit="pairs")}
        if labels is None:
            return {}
        y, taken = labels.labels, labels.taken
        width = None if y.ndim == 1 else y.shape[1]
        n_files, path = len(self.label_files()), split_column(str(self.labels))[0]
        n_unlabelled = count_unlabelled(proximity, y)
        return {"labels": InputFile(path, taken, len(y), width, "samples", n_files=n_files, n_unlabelled=n_unlabelled)}


def count_unlabelled(proximity: "Proximity", y: "NDArray[Any] | None") -> int | None:
    """Return the number of samples without a label, None where near pairs are not those of a class."""
    from proxcode.proximity import SameLabel
    from proxcode.utils.labels import UNLABELLED

    if y is None or not isinstance(proximity, SameLabel):
        return None
    return int((proximity.read(y) == UNLABELLED).sum())


class ModelHeader(NamedTuple):
    """What a model file says of its model, by the names of the fitted attributes."""

    n_features_in_: int
    n_bits_: int


def read_header(path: Path) -> ModelHeader:
    """Read the header of a file of a model or a pipeline; raise an error for any other file."""
    from proxcode.storage.model_file import read_sizes

    sizes = read_sizes(path)
    return ModelHeader(sizes["n_features"], sizes["n_bits"])


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors with the array or the columns to use of it."""

    path: Path
    key: str | None = None
    columns: str | None = None

    @classmethod
    def named(cls, source: str, key: str | None = None, columns: str | None = None) -> "VectorFile":
        """Return the file of "FILE", or of "FILE:KEY" with an array of its own."""
        from proxcode.files import split_column

        path, own_key = split_column(source)
        return cls(path, own_key or key, columns)

    @property
    def column_list(self) -> list[str] | None:
        """The columns to use, None for all."""
        return self.columns.split(",") if self.columns else None

    def open(self, *, labels: str | None = None, model: ModelHeader | None = None) -> "Vectors":
        """Open the vectors, without the column of `labels` in the same file, with the features that a model expects."""
        from proxcode.files import open_vectors

        drop = self._label_column(labels)
        vectors = open_vectors(self.path, key=self.key, columns=self.column_list, drop=drop)
        if model is not None:
            vectors.check_features(model.n_features_in_)
        return vectors

    def _label_column(self, labels: str | None) -> tuple[str, ...]:
        """Return the column of labels, if it is one of this file."""
        from proxcode.files import KEYED_FORMATS, label_files, split_column

        if labels is None or self.path.suffix.lower() in KEYED_FORMATS:
            return ()
        _, column = split_column(labels)
        own = {file.resolve() for file in self.input_files()}
        is_own = any(file.resolve() in own for file in label_files(labels))
        return (column,) if column is not None and is_own else ()

    def samples(self, *, labels: str | None = None, engine: "Engine") -> "tuple[NDArray[Any] | Samples, InputFile]":
        """Return all vectors, without the column of `labels`, and what they were taken of.

        The vectors of a file are an array; many files, or a large one, are opened.
        """
        from proxcode.files import open_samples, stands_for_many
        from proxcode.utils.engine import LocalEngine

        is_small = not self.path.exists() or self.path.stat().st_size < MAX_READ
        if is_small and isinstance(engine, LocalEngine) and not stands_for_many(self.path):
            opened = self.open(labels=labels)
            X = opened.read()
            return X, self.input_file(opened.taken, X.shape, opened.dtype)
        drop = self._label_column(labels)
        samples = open_samples(self.path, key=self.key, columns=self.column_list, drop=drop, engine=engine)
        return samples, self.input_file(samples.taken, samples.shape, samples.dtype)

    def input_file(self, taken: "Taken", shape: tuple[int | None, int], dtype: Any) -> InputFile:
        """Return what was taken of the file, or of several files."""
        n_rows, n_columns = shape
        return InputFile(self.path, taken, n_rows, n_columns, type=str(dtype), n_files=len(self.input_files()))

    def sizes(self) -> "dict[Path, int]":
        """Return the number of vectors of each file where there are several, else nothing."""
        from proxcode.files import open_samples, stands_for_many

        if not stands_for_many(self.path):
            return {}
        samples = open_samples(self.path, key=self.key, columns=self.column_list)
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


def read_labelled(
    source: VectorFile, options: ProximityOptions, model: ModelHeader
) -> "tuple[NDArray[Any], TakenLabels | None, InputFile]":
    """Read the vectors of a file and their labels, if there are any; also return what was taken of the file."""
    opened = source.open(labels=options.labels, model=model)
    X = opened.read()
    return X, options.take_labels(len(X)), source.input_file(opened.taken, X.shape, opened.dtype)


def as_known_labels(taken: "TakenLabels | None", proximity: "Proximity") -> "TakenLabels | None":
    """Return labels in the type of those that a model knows: a file that holds digits alone is read as numbers.

    Numbers become strings where all known labels are strings. Where known labels are numbers, a string that stands for
    one of them becomes this number.
    """
    import numpy as np

    from proxcode.utils.labels import is_missing

    classes = getattr(proximity, "classes_", None)
    if taken is None or taken.labels.ndim != 1 or not classes:
        return taken
    known = {label: label for label in (*classes, getattr(proximity, "unlabelled", None)) if label is not None}
    are_strings = all(isinstance(label, str) for label in classes)
    by_number = {_number(label): label for label in reversed(known) if isinstance(label, str)}
    found = {label for label in taken.labels.tolist() if not is_missing(label)}
    known_as = {}
    for label in found - set(classes):
        text = str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        if not isinstance(label, str):
            known_as[label] = (
                known.get(text) or by_number.get(label) or known.get(label, text if are_strings else label)
            )
        elif not are_strings:
            known_as[label] = known.get(_number(label), label)
    if all(label == other for label, other in known_as.items()):
        return taken
    labels = np.empty(len(taken.labels), object)
    labels[:] = [known_as.get(label, label) for label in taken.labels.tolist()]
    return taken._replace(labels=labels)


def _number(text: str) -> float | None:
    """Return the number that a text stands for, None where it stands for none."""
    for kind in (int, float):
        try:
            return kind(text) if "_" not in text else None
        except ValueError:
            continue
    return None


def check_bits(model: "ModelHeader | Model", n_bits: int | None) -> None:
    """Raise ValueError for a code length that the model does not have."""
    if n_bits is not None and not 1 <= n_bits <= model.n_bits_:
        raise ValueError(f"--bits {n_bits}: expected 1 to {model.n_bits_}, the code length of the model.")


def in_memory(X: "NDArray[Any] | Samples") -> "NDArray[Any] | Samples":
    """Return samples as an array where they are small and read in this process, else as they are."""
    from proxcode.utils.engine import LocalEngine
    from proxcode.utils.samples import Samples

    is_read_here = isinstance(X, Samples) and isinstance(X.engine, LocalEngine)
    return X[slice(None)] if is_read_here and X.nbytes < MAX_READ else X
