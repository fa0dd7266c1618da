"""The verb `update`: a model learns from further samples."""

from pathlib import Path

import click

from proxcode.cli.inputs import ProximityOptions, VectorFile, as_known_labels, read_header, read_labelled
from proxcode.cli.options import FILE, as_json, check_output, force, trust, vector_options
from proxcode.cli.printing import show
from proxcode.cli.reading import say


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option(
    "--labels",
    required=True,
    help="Labels, one per vector: FILE, FILE:COLUMN or FILE:KEY; read as text if those of MODEL are.",
)
@click.option("-o", "--output", type=FILE, required=True, help="Model file to write; MODEL itself with --force.")
@vector_options
@trust
@force
@as_json
def update(
    model: Path,
    vectors: Path,
    labels: str,
    output: Path,
    key: str | None,
    columns: str | None,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Let MODEL learn from further VECTORS, of known or new classes, or with other labels than before.

    Codes that are stored stay valid and are not computed again: codes of the updated model are compared with them.
    Vectors that the model knows already change nothing, unless their labels have changed.

    \b
    Examples:
      proxcode update my.proxcode new.npy --labels new_labels.npy -o updated.proxcode
      proxcode update my.proxcode new.npy --labels new_labels.npy -o my.proxcode --force
    """
    options = ProximityOptions(labels=labels)
    check_output(output, force, vectors, labels, *options.label_files())
    X, taken, vector_file = read_labelled(VectorFile(vectors, key, columns), options, read_header(model))

    from proxcode.pipeline import load

    fitted = load(model, trusted=trust or None)
    taken = as_known_labels(taken, fitted.proximity_)
    read = {"vectors": vector_file, **options.inputs(fitted.proximity_, taken)}
    say(read)
    fitted.update(X, None if taken is None else taken.labels)
    fitted.save(output, overwrite=force)
    learned = fitted.updates_[-1]
    record = {
        "model": str(output),
        "samples added": learned.n_added,
        "samples relabelled": learned.n_relabelled,
        "samples known before": learned.n_repeated,
        "samples without a label": learned.n_unlabelled,
        "new classes": learned.new_classes if as_json else ", ".join(map(str, learned.new_classes)) or "none",
    }
    show(as_json, record, read=read)
