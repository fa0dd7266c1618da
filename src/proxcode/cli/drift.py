"""The verb `drift`: whether a model still suits new samples."""

from pathlib import Path

import click

from proxcode.cli.inputs import ProximityOptions, VectorFile, as_known_labels, read_header, read_labelled
from proxcode.cli.options import FILE, as_json, trust, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reading import say


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option(
    "--labels",
    help="Labels, one per vector: FILE, FILE:COLUMN or FILE:KEY; read as text if those of MODEL are.",
)
@vector_options
@trust
@as_json
def drift(
    model: Path,
    vectors: Path,
    labels: str | None,
    key: str | None,
    columns: str | None,
    trust: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare VECTORS, a new batch, with the samples that MODEL was fitted to, and advise what to do.

    \b
    Example:
      proxcode drift my.proxcode new.npy --labels new_labels.npy
    """
    options = ProximityOptions(labels=labels)
    X, taken, vector_file = read_labelled(VectorFile(vectors, key, columns), options, read_header(model))

    from proxcode.pipeline import load

    fitted = load(model, trusted=trust or None)
    taken = as_known_labels(taken, fitted.proximity_)
    read = {"vectors": vector_file, **options.inputs(fitted.proximity_, taken)}
    say(read)
    found = fitted.drift(X, None if taken is None else taken.labels)
    record = {
        "samples": found.n_samples,
        "change of bit balance": found.balance_change,
        "of which chance": min(found.balance_change, found.balance_chance),
        "radius": fitted.radius_,
        "near pairs within radius": found.near_within,
        "near pairs within radius in fit": found.near_within_fit,
        "far pairs within radius": found.far_within,
        "far pairs within radius in fit": found.far_within_fit,
        "new classes": found.new_classes if as_json else ", ".join(map(str, found.new_classes)) or "none",
        "action": found.action,
        "advice": found.advice,
    }
    show(as_json, record, read=read)
