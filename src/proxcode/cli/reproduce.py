"""The verb `reproduce`: run the experiments of the paper."""

from pathlib import Path

import click

from proxcode.cli.evaluate import check_figure
from proxcode.cli.options import FILE, as_json, make_folder
from proxcode.cli.printing import show


@click.command()
@click.argument("names", nargs=-1)
@click.option("--output", type=FILE, default="results", show_default=True, help="Folder for results and figures.")
@click.option("--quick", is_flag=True, help="Run a small version that shows that the experiment works.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of processes; several have one thread each.",
)
@click.option("--from-files", is_flag=True, help="Only redraw tables and figures from the CSV files in the folder.")
@as_json
def reproduce(names: tuple[str, ...], output: Path, quick: bool, jobs: int, from_files: bool, as_json: bool) -> None:
    """Run experiments of the paper by their NAMES, or all.

    Without a name, list them. Finished parts are not repeated unless the code that computes them has changed: after an
    interruption, the same command resumes.

    \b
    Examples:
      proxcode reproduce table1 --output results
      proxcode reproduce all --quick
      proxcode reproduce all --jobs 2
      proxcode reproduce all --output results --from-files
    """
    from proxcode.experiments import EXPERIMENTS, redraw_experiments, run_experiments

    if not names:
        show(as_json, {name: experiment.about for name, experiment in EXPERIMENTS.items()})
        return
    unknown = [name for name in names if name not in (*EXPERIMENTS, "all")]
    if unknown:
        raise click.ClickException(f"unknown experiment {unknown[0]!r}: expected one of {', '.join(EXPERIMENTS)}, all.")
    check_figure()
    chosen = EXPERIMENTS if "all" in names else names
    if from_files:
        written = redraw_experiments(chosen, output, quick=quick)
        show(as_json, {"files": [str(path) for path in written]}, lambda: "\n".join(map(str, written)))
        return
    make_folder(output)
    click.get_current_context().meta["resumable"] = True
    written = run_experiments(chosen, output, quick=quick, verbose=True, jobs=jobs)
    show(as_json, {"files": [str(path) for path in written]}, lambda: "\n".join(map(str, written)))
