"""The verb `demo`: codes of the digits bundled with scikit-learn, compared with LSH and ITQ."""

from pathlib import Path
from time import perf_counter

import click

from proxcode.cli.evaluate import check_figure
from proxcode.cli.options import FILE, make_folder
from proxcode.cli.reports import pairs_report

# Code lengths, in bits; the shorter codes are prefixes of the longest.
LENGTHS = (8, 16, 32, 64)
# Number of digits that are not used for training.
N_NEW = 797
# Number of digits that the kernels are compiled with.
N_WARM_UP = 100


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
    click.echo(f"Codes of handwritten digits: 1,000 training samples, {N_NEW} new samples.")

    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from proxcode.code import ProximityPreservingCode
    from proxcode.evaluation import MODEL, evaluate
    from proxcode.plots import figure_page, save_figure

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=N_NEW, random_state=0, stratify=y)
    # The seconds below are those of fitting: a small fit compiles the kernels, or loads them from numba's cache.
    click.echo("Kernels, compiled in the first run and cached: ", nl=False)
    start = perf_counter()
    ProximityPreservingCode(n_bits=2, random_state=0).fit(X[:N_WARM_UP], y[:N_WARM_UP])
    click.echo(f"{perf_counter() - start:.1f} s.\n")
    start = perf_counter()
    model = ProximityPreservingCode(n_bits=LENGTHS[-1], random_state=0, verbose=True).fit(X, y)
    # Codes of all lengths share this time, which the seconds of single bits do not include.
    shared = perf_counter() - start - sum(record.seconds for record in model.history_)
    evaluation = evaluate(model, X_test, y_test, lengths=LENGTHS, train=X)
    evaluation.rows = [
        row._replace(fit_seconds=(row.fit_seconds or 0.0) + shared) if row.method == MODEL else row
        for row in evaluation.rows
    ]
    title = f"{LENGTHS[-1]}-bit codes of handwritten digits, {N_NEW} new samples"
    save_figure(figure_page(evaluation, title), output / "digits.png")
    click.echo(pairs_report(evaluation, output / "digits.png"))
