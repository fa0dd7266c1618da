"""Cells of one column of a text file: the labels of samples, or the ids of codes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from proxcode.files._base import Taken, find_column
from proxcode.files._text import DELIMITERS, Line, TextTable, text_lines

# Files of which each line is a cell, and tabular text files.
TEXT_FORMATS = (".txt", *DELIMITERS)


class Cells(NamedTuple):
    """Cells without white space around them, and the column that they were taken of.

    `n_blank` is the number of blank lines after the last cell: empty cells, or the end of a file written by hand.
    """

    values: list[str]
    taken: Taken
    n_blank: int


def cells_of_lines(path: Path, column: str | None) -> Cells:
    """Return the lines of a text file."""
    if column is not None:
        raise ValueError(f"{path} has one value per line and no column {column!r}: omit the column.")
    lines = [(number, line.strip()) for number, line in text_lines(path)]
    n_blank = _n_blank(lines)
    return Cells([text for _, text in lines[: len(lines) - n_blank]], Taken(), n_blank)


def cells_of_column(table: TextTable, column: str | None) -> Cells:
    """Return a column of a tabular text file, by its name or number; None is the first one."""
    number = find_column(table.path, table.names, table.n_columns, 0 if column is None else column)
    rows = list(table.rows(blank_end=True))
    n_blank = _n_blank(rows)
    values = [table.cells(row)[number].strip() for row in rows[: len(rows) - n_blank]]
    return Cells(values, Taken(columns=(table.names[number] if table.names else number,)), n_blank)


def _n_blank(lines: Sequence[Line]) -> int:
    """Return the number of blank lines at the end."""
    return next((k for k, (_, text) in enumerate(reversed(lines)) if text), len(lines))
