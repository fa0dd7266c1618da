"""Results for people: means with their spread, and what was left out and why."""

from pathlib import Path

import numpy as np

from proxcode.experiments.runner import Cell, left_out
from proxcode.storage.atomic import atomic_write


def mean_and_spread(areas: list[float]) -> tuple[float, float]:
    """Return the mean of splits and their standard deviation, NaN where there are too few."""
    mean = float(np.mean(areas)) if areas else float("nan")
    return mean, float(np.std(areas, ddof=1)) if len(areas) > 1 else float("nan")


def shown(mean: float, spread: float = float("nan")) -> str:
    """Return figures for people.

    Examples
    --------
    >>> shown(*mean_and_spread([0.1, 0.2, 0.3])), shown(0.1), shown(float("nan"))
    ('0.200 ± 0.100', '0.100', '')
    """
    return "" if np.isnan(mean) else f"{mean:.3f}" + ("" if np.isnan(spread) else f" ± {spread:.3f}")


def reasons(cells: list[Cell], output: Path) -> str:
    """Return for people what was left out and why."""
    lines = []
    for reason, some in left_out(cells, output).items():
        lengths = sorted({cell.bits[0] for cell in some})
        names = ", ".join(dict.fromkeys(cell.method for cell in some))
        lines.append(f"- {names} at {', '.join(map(str, lengths))} bits: {reason}")
    return "\nLeft out:\n\n" + "\n".join(lines) + "\n" if lines else ""


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    with atomic_write(path) as partial:
        partial.write_text(text)
