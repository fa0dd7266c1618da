"""Results as files and text: rows of CSV files, means with their spread, reasons why code lengths were left out.

An experiment first writes what it measured to CSV files, `NAME_splits.csv`, `NAME_left_out.csv` and
`NAME_parameters.csv`. Its tables and figures are made from these files alone, so that they can be made again without
the measurements.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from proxcode.experiments.registry import method_named
from proxcode.experiments.runner import Cell, Row, results, write_rows

LEFT_OUT = ("protocol", "method", "bits", "reason")


def write_splits(folder: Path, name: str, rows: list[Row], cells: list[Cell]) -> list[Path]:
    """Write the measures of all splits, which code lengths were left out, and the parameters; return the paths."""
    paths = [folder / f"{name}_{part}.csv" for part in ("splits", "left_out", "parameters")]
    write_rows(paths[0], rows)
    write_rows(paths[1], left_out(cells, folder), LEFT_OUT)
    write_rows(paths[2], parameters(cells))
    return paths


def read_splits(folder: Path, name: str) -> tuple[list[Row], list[Row]]:
    """Return the measures of all splits and the code lengths left out, as `write_splits` wrote them."""
    return read_rows(folder / f"{name}_splits.csv"), read_rows(folder / f"{name}_left_out.csv")


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a CSV file; a column of integers or of numbers has values of that type, others are texts."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: run the experiment first.")
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    columns = [_typed(column) for column in zip(*rows, strict=True)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _typed(column: tuple[str, ...]) -> list[Any]:
    for kind in (int, float):
        try:
            return [kind(value) for value in column]
        except ValueError:
            continue
    return list(column)


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


def left_out(cells: list[Cell], folder: Path) -> list[Row]:
    """Return a row for each protocol, method and code length that was left out, with the reason."""
    found: dict[tuple[str, str, int, str], None] = {}
    for cell in cells:
        for n_bits, result in results(cell, folder).items():
            if "left_out" in result:
                found[cell.protocol, cell.method, n_bits, result["left_out"]] = None
    return [dict(zip(LEFT_OUT, values, strict=True)) for values in found]


def parameters(cells: list[Cell]) -> list[Row]:
    """Return a row for each method with its parameters as a text, code length and seed left out.

    Examples
    --------
    >>> parameters([Cell("labels digits", "SDH", 0, (8,))])
    [{'method': 'SDH', 'parameters': 'n_anchors=1000, n_rounds=5'}]
    """
    rows = []
    for name, n_bits in {cell.method: cell.bits[0] for cell in cells}.items():
        values = method_named(name).make(n_bits, 0, None).get_params(deep=False)
        others = ("n_bits", "random_state", "verbose", "proximity")
        listed = [f"{key}={value!r}" for key, value in values.items() if key not in others and value is not None]
        rows.append({"method": name, "parameters": ", ".join(listed)})
    return rows


def parameters_listed(rows: list[Row]) -> str:
    r"""List the parameters of methods.

    Examples
    --------
    >>> parameters_listed([{"method": "SDH", "parameters": "n_anchors=1000"}])
    '\nParameters:\n\n- SDH: n_anchors=1000\n'
    """
    return "\nParameters:\n\n" + "".join(f"- {row['method']}: {row['parameters'] or 'none'}\n" for row in rows)


def reasons(rows: list[Row]) -> str:
    r"""List which methods and code lengths were left out, and why.

    Examples
    --------
    >>> reasons([{"protocol": "labels digits", "method": "ITQ", "bits": 100, "reason": "n_bits=100: too many."}])
    '\nLeft out:\n\n- ITQ at 100 bits: n_bits=100: too many.\n'
    """
    by_reason: dict[str, list[Row]] = {}
    for row in rows:
        by_reason.setdefault(row["reason"], []).append(row)
    lines = []
    for reason, alike in by_reason.items():
        names = ", ".join(dict.fromkeys(row["method"] for row in alike))
        lengths = ", ".join(map(str, sorted({row["bits"] for row in alike})))
        lines.append(f"- {names} at {lengths} bits: {reason}\n")
    return "\nLeft out:\n\n" + "".join(lines) if lines else ""
