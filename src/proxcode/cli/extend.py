"""The verb `extend`: a model learns further bits."""

from pathlib import Path
from typing import Any

import click

from proxcode.cli.inputs import ProximityOptions, VectorFile, read_header
from proxcode.cli.options import BITS, FILE, as_json, check_output, force, vector_options
from proxcode.cli.printing import learned_figures, show


@click.command()
@click.argument("model", type=FILE)
@click.argument("vectors", type=FILE)
@click.option("--bits", type=BITS, required=True, help="New code length, above the present one.")
@click.option("--labels", help="Labels, one per vector, where the model has learned from labels.")
@click.option("-o", "--output", type=FILE, required=True, help="Model file to write; MODEL itself with --force.")
@vector_options
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
    X = VectorFile(vectors, key, columns).open(labels=labels, model=header).read()
    y = options.read_labels(len(X))

    from proxcode.code import ProximityPreservingCode

    fitted: Any = ProximityPreservingCode.load(model).set_params(verbose=True)
    n_updates = len(fitted.updates_)
    fitted.extend(bits, X, y).set_params(verbose=False).save(output, overwrite=force)
    added = {"samples added": fitted.updates_[-1].n_added} if len(fitted.updates_) > n_updates else {}
    show(as_json, {"model": str(output), **learned_figures(fitted.history_, fitted.training_loss_), **added})
