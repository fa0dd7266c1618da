"""The paper's figures, each an experiment that writes its files to a folder.

`EXPERIMENTS` holds them by name: `run(output, quick, verbose)` returns the files written. A quick run takes one seed,
few points and few bits, to see that all works. What an experiment needs is imported when it runs.
"""

from collections.abc import Callable
from pathlib import Path

Experiment = Callable[[Path, bool, bool], list[Path]]


def _initial_guess(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Show that the initial guess hardly matters, and that bit update beats vector update."""
    from proxcode.experiments.initial_guess import run

    return run(output, quick, verbose)


EXPERIMENTS: dict[str, Experiment] = {"initial-guess": _initial_guess}

__all__ = ["EXPERIMENTS", "Experiment"]
