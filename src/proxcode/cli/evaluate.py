"""The verb `evaluate`: measure a model on all pairs of new samples, or by a search of a database."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.inputs import ModelHeader, ProximityOptions, VectorFile, read_header, read_labels_of
from proxcode.cli.options import COUNT, FILE, as_json, check_output, force, proximity_options, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reports import pairs_record, pairs_report, search_record, search_report

if TYPE_CHECKING:
    from proxcode.proximity import Proximity


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

    def read(self, header: ModelHeader, key: str | None, columns: str | None) -> dict[str, Any]:
        """Read the inputs of `evaluate_search`, after the headers of both files were checked."""
        sources = (self.database, self.database_labels), (self.queries, self.query_labels)
        opened = [VectorFile.named(str(of), key, columns).open(labels=labels, model=header) for of, labels in sources]
        database, queries = (vectors.read() for vectors in opened)
        return {
            "database": database,
            "queries": queries,
            "database_labels": read_labels_of(self.database_labels, len(database)),
            "query_labels": read_labels_of(self.query_labels, len(queries)),
            "k": self.k or None,
            "exclude_self": self.exclude_self,
            "batch_size": self.batch or 1,
            "n_threads": self.threads or 1,
        }

    def check(self, vectors: Path | None, near: ProximityOptions) -> None:
        """Raise a usage error unless the options are those of all pairs of `vectors`, or of a search."""
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
        if vectors is not None and (given := [name for name, value in own.items() if value]):
            raise click.UsageError(f"{' and '.join(given)} apply to a search: pass --database and --queries.")
        if both and near != ProximityOptions():
            raise click.UsageError(
                "--labels, --pairs, --radius, --neighbors and their options define near pairs of VECTORS: in a search, "
                "pass --database-labels and --query-labels."
            )
        if (self.database_labels is None) != (self.query_labels is None):
            raise click.UsageError("a search needs labels on both sides: pass --database-labels and --query-labels.")


@dataclass(frozen=True)
class PeerOptions:
    """Values of the options of the methods to compare with, None where an option is not given."""

    lengths: str | None
    peers: str | None
    train: Path | None
    train_labels: str | None

    def __post_init__(self) -> None:
        """Raise a usage error for labels without vectors."""
        if self.train_labels is not None and self.train is None:
            raise click.UsageError("--train-labels are labels of --train: pass its vectors too.")

    def read(self, header: ModelHeader) -> dict[str, Any]:
        """Read the inputs that `evaluate` and `evaluate_search` share."""
        train = labels = None
        if self.train is not None:
            train = VectorFile(self.train).open(labels=self.train_labels, model=header).read()
            labels = read_labels_of(self.train_labels, len(train))
        return {
            "lengths": None if self.lengths is None else _code_lengths(self.lengths),
            "peers": None if self.peers is None else [name for name in self.peers.split(",") if name],
            "train": train,
            "train_labels": labels,
        }


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE, required=False)
@proximity_options
@click.option("--database", help="Search among these vectors, instead of measuring all pairs: FILE or FILE:KEY.")
@click.option("--queries", help="Search for these vectors: FILE or FILE:KEY.")
@click.option("--database-labels", help="Labels of the database: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--query-labels", help="Labels of the queries: FILE, FILE:COLUMN or FILE:KEY.")
@click.option(
    "-k", type=COUNT, multiple=True, show_default="1, 10, 100", help="Measure the first k found; may be repeated."
)
@click.option("--exclude-self", is_flag=True, help="A query that is in the database does not find itself.")
@click.option("--batch", type=COUNT, show_default="1", help="Number of queries of each search that is timed.")
@click.option("--threads", type=COUNT, show_default="1", help="Number of threads of a search that is timed.")
@vector_options
@click.option("--lengths", show_default="8,16,32,... and that of the model", help="Comma-separated code lengths.")
@click.option("--train", type=FILE, help="Vectors to fit the peers to, ideally the training samples of the model.")
@click.option("--train-labels", help="Labels of --train, for peers that learn from them.")
@click.option(
    "--peers",
    show_default="LSH,ITQ, with --train-labels also Hadamard,WCW-ITQ",
    help="Comma-separated peers to compare with; '' for none.",
)
@click.option("--figure", type=FILE, default="evaluation.png", show_default=True, help="Figure: .png, .pdf or .svg.")
@force
@as_json
def evaluate(
    model: Path,
    vectors: Path | None,
    database: str | None,
    queries: str | None,
    database_labels: str | None,
    query_labels: str | None,
    k: tuple[int, ...],
    exclude_self: bool,
    batch: int | None,
    threads: int | None,
    key: str | None,
    columns: str | None,
    lengths: str | None,
    train: Path | None,
    train_labels: str | None,
    peers: str | None,
    figure: Path,
    force: bool,
    as_json: bool,
    **near: Any,
) -> None:
    """Measure a model on new samples: on all pairs of VECTORS, or by a search for --queries in --database.

    The measures are printed and drawn on one page, beside those of other methods at the same code lengths. These are
    fitted to --train; without it to VECTORS or to the database, which favours them.

    Near pairs of VECTORS are those of the model's proximity, or those that an option defines. In a search, vectors with
    the label of the query are relevant, without labels its nearest vectors, or those within the radius of the model.

    \b
    Examples:
      proxcode evaluate my.proxcode new.npy --labels new_labels.npy --figure evaluation.png
      proxcode evaluate my.proxcode --database base.npy --queries q.npy --figure search.png
      proxcode evaluate my.proxcode --database base.npy --database-labels base_labels.npy \\
        --queries q.npy --query-labels q_labels.npy -k 1 -k 10 \\
        --train vectors.npy --train-labels labels.npy --figure by_labels.png
    """
    options = ProximityOptions(**near)
    search = SearchOptions(database, queries, database_labels, query_labels, k, exclude_self, batch, threads)
    search.check(vectors, options)
    others = PeerOptions(lengths, peers, train, train_labels)
    inputs = (model, vectors, database, queries, database_labels, query_labels, train, train_labels)
    check_output(figure, force, *inputs, options.labels, options.pairs)
    check_suffix(figure)
    header = read_header(model)
    if vectors is None:
        arguments = search.read(header, key, columns) | others.read(header)
        check_figure()

        from proxcode.code import ProximityPreservingCode
        from proxcode.evaluation import evaluate_search
        from proxcode.plots import save_figure, search_page

        found = evaluate_search(ProximityPreservingCode.load(model), **arguments, verbose=True)
        title = f"{model.name}: {Path(str(queries)).name} in {Path(str(database)).name}"
        save_figure(search_page(found, title), figure, overwrite=force)
        show(as_json, search_record(found, figure), lambda: search_report(found, figure))
        return
    X = VectorFile(vectors, key, columns).open(labels=options.labels, model=header).read()
    y = options.read_labels(len(X))
    arguments = others.read(header)
    check_figure()

    from proxcode.code import ProximityPreservingCode
    from proxcode.evaluation import evaluate as evaluate_pairs
    from proxcode.plots import figure_page, save_figure

    fitted = ProximityPreservingCode.load(model)
    proximity = _proximity(options, y, fitted.proximity_)
    evaluation = evaluate_pairs(fitted, X, y, proximity=proximity, **arguments, verbose=True)
    save_figure(figure_page(evaluation, f"{model.name} on {vectors.name}"), figure, overwrite=force)
    show(as_json, pairs_record(evaluation, figure), lambda: pairs_report(evaluation, figure))


def _code_lengths(text: str) -> list[int]:
    """Return comma-separated code lengths as integers."""
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise click.UsageError(f"--lengths {text}: expected comma-separated integers, such as 16,32,64.")
    return [int(part) for part in text.split(",")]


def _proximity(options: ProximityOptions, y: Any, learned: "Proximity") -> "Proximity | None":
    """Return the proximity that the options define, None for that of the model."""
    from proxcode.proximity import Nearest, SameLabel, SharedLabel, WithinRadius, default_proximity

    if options == ProximityOptions():
        if isinstance(learned, Nearest | WithinRadius):
            return None
        raise ValueError(
            f"the near pairs of new samples do not follow from the model's {type(learned).__name__}: pass their "
            "--labels, or --pairs, --radius or --neighbors."
        )
    if (defined := options.proximity()) is not None:
        return defined
    return None if isinstance(learned, SameLabel | SharedLabel) else default_proximity(y)


def check_suffix(figure: Path) -> None:
    """Raise an error for a figure of unknown suffix."""
    from proxcode.plots import FORMATS

    if figure.suffix.lower().removeprefix(".") not in FORMATS:
        raise click.ClickException(f"{figure}: expected a figure with the suffix .{', .'.join(FORMATS)}.")


def check_figure() -> None:
    """Raise an error before any measurement if no figure can be drawn."""
    import matplotlib.figure  # noqa: F401  raises the error that names the missing package
