"""The verb `evaluate`: measure a model on new samples."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.inputs import ProximityOptions, VectorFile, count_unlabelled, read_header
from proxcode.cli.options import FILE, as_json, check_output, force, proximity_options, trust, vector_options
from proxcode.cli.printing import aligned_columns, show
from proxcode.cli.reading import say

if TYPE_CHECKING:
    from proxcode.evaluation import Evaluation
    from proxcode.proximity import Proximity


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@proximity_options
@vector_options
@click.option("--train", type=FILE, help="Vectors to fit the peers to, ideally the training samples of the model.")
@click.option(
    "--peers", default="LSH,ITQ", show_default=True, help="Comma-separated peers to compare with; '' for none."
)
@click.option("--figure", type=FILE, default="evaluation.png", show_default=True, help="Figure: .png, .pdf or .svg.")
@trust
@force
@as_json
def evaluate(
    model: Path,
    vectors: Path,
    key: str | None,
    columns: str | None,
    train: Path | None,
    peers: str,
    figure: Path,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
    **near: Any,
) -> None:
    """Measure a model on VECTORS that it was not fitted to.

    The metrics are printed, and plots drawn on one page. Near pairs are those of the model's proximity,
    or those that an option defines. The peers are fitted to --train; without it to VECTORS, which favours them.

    \b
    Example:
      proxcode evaluate my.proxcode new.npy --labels new_labels.npy --figure evaluation.png
    """
    options = ProximityOptions(**near)
    check_output(figure, force, model, vectors, train, options.labels, options.pairs)
    check_suffix(figure)
    header = read_header(model)
    source = VectorFile(vectors, key, columns)
    opened = source.open(labels=options.labels, model=header)
    X = opened.read()
    labels = options.take_labels(len(X))
    y = None if labels is None else labels.labels
    training = None if train is None else VectorFile(train).open(model=header)
    X_train = None if training is None else training.read()
    check_figure()

    from proxcode.evaluation import evaluate as measure
    from proxcode.pipeline import load
    from proxcode.plots import figure_page, save_figure

    fitted = load(model, trusted=trust or None)
    proximity = _proximity(options, y, fitted.proximity_)
    near_pairs = fitted.proximity_ if proximity is None else proximity
    read = {"vectors": source.input_file(opened.taken, X.shape, opened.dtype), **options.inputs(near_pairs, labels)}
    if train is not None and training is not None and X_train is not None:
        read["train"] = VectorFile(train).input_file(training.taken, X_train.shape, training.dtype)
    say(read)
    n_unlabelled = count_unlabelled(near_pairs, y)
    names = [name for name in peers.split(",") if name]
    evaluation = measure(fitted, X, y, proximity=proximity, peers=names, train=X_train, verbose=True)
    save_figure(figure_page(evaluation, f"{model.name} on {vectors.name}"), figure, overwrite=force)
    record = {
        "rows": [row._asdict() for row in evaluation.rows],
        "left out": {f"{method} {bits}": reason for (method, bits), reason in evaluation.left_out.items()},
        "radius": fitted.radius_,
        "figure": str(figure),
        "samples without a label": n_unlabelled,
    }
    left_out = [f"{n_unlabelled:,} of {len(X):,} samples have no label and take no part."] if n_unlabelled else []
    show(as_json, record, lambda: "\n".join([report(evaluation, figure), *left_out]), read)


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


def report(evaluation: "Evaluation", figure: Path) -> str:
    """Return an evaluation as text: the metrics that any method has, peers without a code, radius and figure."""
    rows = [row._asdict() for row in evaluation.rows]
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    lines = [aligned_columns(names, ([row[name] for name in names] for row in rows))]
    lines += [f"{method} {bits} bits left out: {reason}" for (method, bits), reason in evaluation.left_out.items()]
    lines.append(f"Two codes count as near up to Hamming distance {evaluation.model.radius_}.")
    return "\n".join([*lines, f"Figure: {figure}"])
