"""Results as text: means with their spread, and the reasons why code lengths were left out."""

from pathlib import Path

import numpy as np

from proxcode.experiments.runner import Cell, Row, results


def mean_and_spread(values: list[float]) -> tuple[float, float]:
    """Return mean and standard deviation over splits; NaN if there are too few values."""
    mean = float(np.mean(values)) if values else float("nan")
    return mean, float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def select(rows: list[Row], figure: str, **keys: object) -> list[float]:
    """Return one measure of all rows that have the given values.

    Examples
    --------
    >>> rows = [{"method": "PPC", "bits": 8, "auc": 0.5}, {"method": "LSH", "bits": 8, "auc": 0.2}]
    >>> select(rows, "auc", method="PPC", bits=8)
    [0.5]
    """
    return [row[figure] for row in rows if all(row[name] == value for name, value in keys.items())]


def shown(mean: float, spread: float = float("nan")) -> str:
    """Format a mean and its spread; an undefined mean is an empty text.

    Examples
    --------
    >>> shown(*mean_and_spread([0.1, 0.2, 0.3])), shown(0.1), shown(float("nan"))
    ('0.200 ± 0.100', '0.100', '')
    """
    return "" if np.isnan(mean) else f"{mean:.3f}" + ("" if np.isnan(spread) else f" ± {spread:.3f}")


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    r"""Format a table in Markdown.

    Examples
    --------
    >>> markdown_table(["method", "8 bits"], [["PPC", "0.5"]])
    '| method | 8 bits |\n|---|---|\n| PPC | 0.5 |\n'
    """
    first, *others = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    return "\n".join([first, "|---" * len(header) + "|", *others]) + "\n"


def reasons(cells: list[Cell], output: Path) -> str:
    """List which methods and code lengths were left out, and why."""
    left_out: dict[str, list[tuple[str, int]]] = {}
    for cell in cells:
        for n_bits, result in results(cell, output).items():
            if "left_out" in result:
                left_out.setdefault(result["left_out"], []).append((cell.method, n_bits))
    lines = []
    for reason, keys in left_out.items():
        names = ", ".join(dict.fromkeys(name for name, _ in keys))
        lengths = ", ".join(map(str, sorted({n_bits for _, n_bits in keys})))
        lines.append(f"- {names} at {lengths} bits: {reason}\n")
    return "\nLeft out:\n\n" + "".join(lines) if lines else ""
