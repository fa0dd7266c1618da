"""The verb `demo`: codes of the digits bundled with scikit-learn, compared with LSH and ITQ."""

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from proxcode.cli.evaluate import check_figure, draw, report
from proxcode.cli.options import FILE, make_folder

if TYPE_CHECKING:
    from proxcode.evaluation import Evaluation

LENGTHS = (8, 16, 32, 64)
N_NEW = 797


@click.command()
@click.option("--output", type=FILE, default="demo", show_default=True, help="Folder for the figure.")
def demo(output: Path) -> None:
    """Learn codes of bundled digits and measure them.

    The metrics are printed, and a figure is saved.

    \b
    Example:
      proxcode demo --output demo
    """
    check_figure()
    make_folder(output)
    click.echo(f"Codes of handwritten digits: 1,000 training samples, {N_NEW} new samples.\n")
    evaluation = run_demo(verbose=sys.stderr.isatty())
    figure = output / "digits.png"
    draw(evaluation, f"{LENGTHS[-1]}-bit codes of handwritten digits, {N_NEW} new samples", figure)
    click.echo(report(evaluation, figure))


def run_demo(verbose: bool = False) -> "Evaluation":
    """Fit the longest code once and measure it and its prefixes on held-out samples."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from proxcode.code import ProximityPreservingCode
    from proxcode.evaluation import MODEL, evaluate

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=N_NEW, random_state=0, stratify=y)
    start = perf_counter()
    model = ProximityPreservingCode(n_bits=LENGTHS[-1], random_state=0, verbose=verbose).fit(X, y)
    # Codes of all lengths share this time, which the seconds of single bits do not include.
    shared = perf_counter() - start - sum(record.seconds for record in model.history_)
    evaluation = evaluate(model, X_test, y_test, lengths=LENGTHS, train=X)
    evaluation.rows = [
        row._replace(seconds=(row.seconds or 0.0) + shared) if row.method == MODEL else row for row in evaluation.rows
    ]
    return evaluation
