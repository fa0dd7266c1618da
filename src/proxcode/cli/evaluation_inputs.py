"""Options of the verb `evaluate`, and the vectors and labels that they name."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.inputs import ModelHeader, ProximityOptions, VectorFile, read_labelled
from proxcode.cli.reading import InputFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxcode.files import TakenLabels
    from proxcode.proximity import Proximity


@dataclass(frozen=True)
class LabelledVectors:
    """Vectors of an option, and their labels, if there are any."""

    vectors: "NDArray[Any]"
    taken: "TakenLabels | None"
    options: ProximityOptions
    vector_file: InputFile

    @classmethod
    def read(cls, source: VectorFile, options: ProximityOptions, header: ModelHeader) -> "LabelledVectors":
        """Read vectors with the features that a model expects, and the labels of the options."""
        vectors, taken, vector_file = read_labelled(source, options, header)
        return cls(vectors, taken, options, vector_file)

    @property
    def labels(self) -> "NDArray[Any] | None":
        """The labels, None if there are none."""
        return None if self.taken is None else self.taken.labels

    def inputs(self, name: str, proximity: "Proximity", prefix: str = "") -> dict[str, InputFile]:
        """Return what was read: the vectors by this name, and labels or pairs, whose names get a prefix."""
        others = self.options.inputs(proximity, self.taken)
        return {name: self.vector_file, **{f"{prefix}{kind}": file for kind, file in others.items()}}


@dataclass(frozen=True)
class SearchOptions:
    """Values of the options of a search, None where an option is not given."""

    database: str | None
    queries: str | None
    database_labels: str | None
    query_labels: str | None
    k: tuple[int, ...]
    exclude_self: bool
    batch: int | None
    threads: int | None

    def read(
        self, header: ModelHeader, key: str | None, columns: str | None, unlabelled: str | None
    ) -> list[LabelledVectors]:
        """Read the database and the queries, after the headers of both files were checked."""
        sources = (self.database, self.database_labels), (self.queries, self.query_labels)
        files = [VectorFile.named(str(of), key, columns) for of, _ in sources]
        options = [ProximityOptions(labels=of, unlabelled=None if of is None else unlabelled) for _, of in sources]
        for file, near in zip(files, options, strict=True):
            file.open(labels=near.labels, model=header)
        return [LabelledVectors.read(*source, header) for source in zip(files, options, strict=True)]

    def arguments(self) -> dict[str, Any]:
        """Return the values of the options that `evaluate_search` has as parameters."""
        return {
            "k": self.k or None,
            "exclude_self": self.exclude_self,
            "batch_size": self.batch or 1,
            "n_threads": self.threads or 1,
        }

    def check(self, vectors: Path | None, near: dict[str, Any]) -> ProximityOptions:
        """Return the options of near pairs. Raise a usage error unless all are those of VECTORS, or of a search."""
        own = {
            "--database-labels": self.database_labels,
            "--query-labels": self.query_labels,
            "-k": self.k,
            "--exclude-self": self.exclude_self,
            "--batch": self.batch,
            "--threads": self.threads,
        }
        both = self.database is not None and self.queries is not None
        if vectors is not None and (self.database is not None or self.queries is not None):
            raise click.UsageError("VECTORS is for all pairs, --database and --queries for a search: pass one of both.")
        if vectors is None and not both:
            raise click.UsageError(
                "pass VECTORS to measure all pairs, or --database and --queries to measure a search."
            )
        if vectors is not None:
            if given := [name for name, value in own.items() if value]:
                raise click.UsageError(f"{' and '.join(given)} apply to a search: pass --database and --queries.")
            return ProximityOptions(**near)
        if any(value is not None for name, value in near.items() if name != "unlabelled"):
            raise click.UsageError(
                "--labels, --pairs, --radius, --neighbors and their options define near pairs of VECTORS: in a search, "
                "pass --database-labels and --query-labels."
            )
        if (self.database_labels is None) != (self.query_labels is None):
            raise click.UsageError("a search needs labels on both sides: pass --database-labels and --query-labels.")
        if near["unlabelled"] is not None and self.database_labels is None:
            raise click.UsageError("--unlabelled applies to labels: pass --database-labels and --query-labels too.")
        return ProximityOptions()


@dataclass(frozen=True)
class PeerOptions:
    """Values of the options of the methods to compare with, None where an option is not given."""

    lengths: str | None
    peers: str | None
    train: Path | None
    train_labels: str | None

    def __post_init__(self) -> None:
        """Raise a usage error for labels without vectors, or a wrong code length."""
        if self.train_labels is not None and self.train is None:
            raise click.UsageError("--train-labels are labels of --train: pass its vectors too.")
        if self.lengths is not None and not all(part.strip().isdecimal() for part in self.lengths.split(",")):
            raise click.UsageError(f"--lengths {self.lengths}: expected comma-separated integers, such as 16,32,64.")

    def read(self, header: ModelHeader) -> LabelledVectors | None:
        """Read the training samples, None if there are none."""
        if self.train is None:
            return None
        return LabelledVectors.read(VectorFile(self.train), ProximityOptions(labels=self.train_labels), header)

    def arguments(self, training: LabelledVectors | None) -> dict[str, Any]:
        """Return the parameters that `evaluate` and `evaluate_search` share."""
        return {
            "lengths": None if self.lengths is None else [int(part) for part in self.lengths.split(",")],
            "peers": None if self.peers is None else [name.strip() for name in self.peers.split(",") if name.strip()],
            "train": None if training is None else training.vectors,
            "train_labels": None if training is None else training.labels,
            "verbose": True,
        }
