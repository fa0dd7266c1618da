"""The verb `evaluate`: measure a model on all pairs of new samples, or by a search of a database."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.evaluation_inputs import LabelledVectors, PeerOptions, SearchOptions
from proxcode.cli.inputs import ProximityOptions, VectorFile, read_header
from proxcode.cli.options import COUNT, FILE, as_json, check_output, force, proximity_options, trust, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reading import InputFile, say
from proxcode.cli.reports import pairs_record, pairs_report, search_record, search_report

if TYPE_CHECKING:
    from proxcode.evaluation import Evaluation, SearchEvaluation
    from proxcode.pipeline import Model
    from proxcode.proximity import Proximity


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
@trust
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
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
    **near: Any,
) -> None:
    """Measure a model on new samples: on all pairs of VECTORS, or by a search for --queries in --database.

    The measures are printed and drawn on one page, beside those of other methods at the same code lengths. These are
    fitted to --train; without it to VECTORS or to the database, which favours them.

    Near pairs of VECTORS are those of the model's proximity, or those that an option defines. In a search, vectors with
    the label of the query are relevant, without labels its nearest vectors, or those within the radius of the model.
    Vectors without a label take no part; their number is printed.

    \b
    Examples:
      proxcode evaluate my.proxcode new.npy --labels new_labels.npy --figure evaluation.png
      proxcode evaluate my.proxcode --database base.npy --queries q.npy --figure search.png
      proxcode evaluate my.proxcode --database base.npy --database-labels base_labels.npy \\
        --queries q.npy --query-labels q_labels.npy -k 1 -k 10 \\
        --train vectors.npy --train-labels labels.npy --figure by_labels.png
    """
    search = SearchOptions(database, queries, database_labels, query_labels, k, exclude_self, batch, threads)
    options = search.check(vectors, near)
    others = PeerOptions(lengths, peers, train, train_labels)
    inputs = (model, vectors, database, queries, database_labels, query_labels, train, train_labels)
    check_output(figure, force, *inputs, options.labels, options.pairs)
    check_suffix(figure)
    header = read_header(model)
    if vectors is None:
        sources = search.read(header, key, columns, near["unlabelled"])
    else:
        sources = [LabelledVectors.read(VectorFile(vectors, key, columns), options, header)]
    training = others.read(header)
    check_figure()

    from proxcode.pipeline import load
    from proxcode.plots import figure_page, save_figure, search_page

    fitted = load(model, trusted=trust or None)
    arguments = others.arguments(training)
    if vectors is None:
        found, read = _evaluate_search(fitted, training, search.arguments() | arguments, *sources)
        page = search_page(found, f"{model.name}: {Path(str(queries)).name} in {Path(str(database)).name}")
        record, text = search_record(found, figure), search_report(found, figure)
    else:
        pairs, read = _evaluate_pairs(fitted, training, arguments, *sources)
        page = figure_page(pairs, f"{model.name} on {vectors.name}")
        record, text = pairs_record(pairs, figure), pairs_report(pairs, figure)
    save_figure(page, figure, overwrite=force)
    show(as_json, record, lambda: text, read)


def _evaluate_pairs(
    fitted: "Model", training: LabelledVectors | None, arguments: dict[str, Any], samples: LabelledVectors
) -> "tuple[Evaluation, dict[str, InputFile]]":
    """Evaluate all pairs of samples, after saying what was read, which is returned too."""
    from proxcode.evaluation import evaluate as evaluate_pairs

    proximity = _proximity(samples.options, samples.labels, fitted.proximity_)
    near_pairs = fitted.proximity_ if proximity is None else proximity
    read = samples.inputs("vectors", near_pairs)
    if training is not None:
        read |= training.inputs("train", _reads_labels(training, near_pairs, fitted), "train ")
    say(read)
    return evaluate_pairs(fitted, samples.vectors, samples.labels, proximity=proximity, **arguments), read


def _evaluate_search(
    fitted: "Model",
    training: LabelledVectors | None,
    arguments: dict[str, Any],
    database: LabelledVectors,
    queries: LabelledVectors,
) -> "tuple[SearchEvaluation, dict[str, InputFile]]":
    """Evaluate a search of the database for the queries, after saying what was read, which is returned too."""
    from proxcode.evaluation import evaluate_search

    given: Any = database.options.proximity(database.labels)
    read = database.inputs("database", _reads_labels(database, given, fitted), "database ")
    read |= queries.inputs("queries", _reads_labels(queries, given, fitted), "query ")
    if training is not None:
        read |= training.inputs("train", _reads_labels(training, given, fitted), "train ")
    say(read)
    samples = database.vectors, queries.vectors, database.labels, queries.labels
    return evaluate_search(fitted, *samples, proximity=given, **arguments), read


def _reads_labels(source: LabelledVectors, given: "Proximity | None", fitted: "Model") -> "Proximity":
    """Return the proximity that tells which samples have no label: the given one, if it is one of classes."""
    from proxcode.evaluation.labels import label_proximity
    from proxcode.proximity import SameLabel

    return label_proximity(source.labels, given if isinstance(given, SameLabel) else None, fitted.proximity_)


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
    if (defined := options.proximity(y)) is not None:
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
