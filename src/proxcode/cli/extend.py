"""The verb `extend`: a model learns further bits."""

from pathlib import Path

import click

from proxcode.cli.inputs import ProximityOptions, VectorFile, as_known_labels, read_header, read_labelled
from proxcode.cli.options import BITS, FILE, as_json, check_output, force, trust, vector_options
from proxcode.cli.printing import learned_figures, show
from proxcode.cli.reading import say


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option("--bits", type=BITS, required=True, help="New code length, above the present one.")
@click.option(
    "--labels", help="Labels, one per vector, where MODEL has learned from labels; read as text if these are."
)
@click.option("-o", "--output", type=FILE, required=True, help="Model file to write; MODEL itself with --force.")
@vector_options
@trust
@force
@as_json
def extend(
    model: Path,
    vectors: Path,
    bits: int,
    labels: str | None,
    output: Path,
    key: str | None,
    columns: str | None,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Let MODEL learn further bits; those that it has are kept.

    VECTORS are those of the fit. A model that can be updated takes other ones, too: it learns from those that it does
    not know as in `proxcode update`, and further bits from the pairs of VECTORS alone.

    \b
    Example:
      proxcode extend my.proxcode vectors.npy --labels labels.npy --bits 96 -o longer.proxcode
    """
    options = ProximityOptions(labels=labels)
    check_output(output, force, vectors, labels, *options.label_files())
    header = read_header(model)
    if bits <= header.n_bits_:
        raise ValueError(f"--bits {bits}: expected more than {header.n_bits_}, the code length of the model.")
    X, taken, vector_file = read_labelled(VectorFile(vectors, key, columns), options, header)

    from proxcode.pipeline import CodePipeline, load

    fitted = load(model, trusted=trust or None)
    taken = as_known_labels(taken, fitted.proximity_)
    read = {"vectors": vector_file, **options.inputs(fitted.proximity_, taken)}
    say(read)
    n_updates = len(fitted.updates_)
    # Progress is shown by the code, the last step of a pipeline; the file does not depend on it.
    code = fitted.steps[-1][1] if isinstance(fitted, CodePipeline) else fitted
    code.set_params(verbose=True)
    fitted.extend(bits, X, None if taken is None else taken.labels)
    code.set_params(verbose=False)
    fitted.save(output, overwrite=force)
    added = {"samples added": fitted.updates_[-1].n_added} if len(fitted.updates_) > n_updates else {}
    figures = learned_figures(fitted.history_, fitted.training_loss_)
    show(as_json, {"model": str(output), **figures, **added}, read=read)
