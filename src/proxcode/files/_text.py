"""CSV and TSV files, row by row.

The first row holds names if one of its cells is not a number. A row may go on over several lines inside quotes; lines
with nothing on them are no rows, but empty cells in a table of one column where other rows follow.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import Choice, Vectors, choose, no_key

DELIMITERS = {".csv": ",", ".tsv": "\t"}
Line = tuple[int, str]


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, nan and inf included."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def text_lines(path: Path) -> Iterator[Line]:
    """Give the lines of a text file with their numbers from 1, without the end of line."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, 1):
                yield number, text.removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 text (byte {error.object[error.start]:#x}): save it as UTF-8.") from None


class TextTable:
    """A table in a text file.

    Attributes
    ----------
    names : tuple of str
        Names of the columns; none if the first row is one of numbers.
    n_columns : int
    first : (int, str)
        The first row, of names or of numbers, and its line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.delimiter = DELIMITERS[path.suffix.lower()]
        first = next(filter(lambda line: line[1], self._lines()), None)
        if first is None:
            raise ValueError(f"{path} is empty: write it again.")
        self.first = first
        cells = self.cells(first)
        self.n_columns = len(cells)
        self.names = () if all(map(is_number, cells)) else tuple(cell.strip() for cell in cells)

    def check_not_empty(self) -> None:
        """Refuse a table without rows."""
        if next(self.rows(), None) is None:
            raise ValueError(f"{self.path} is an empty table, a row of names and no more: give at least one row.")

    def rows(self) -> Iterator[Line]:
        """Give the rows below the names with the number of their line; all have the same number of cells."""
        blank: list[Line] = []
        lines = dropwhile(lambda line: not line[1], self._lines())
        for row in islice(lines, 1 if self.names else 0, None):
            if not row[1]:
                blank.append(row)
                continue
            if self.n_columns == 1:  # an empty cell, unless nothing follows
                yield from blank
            blank.clear()
            self._check_width(row)
            yield row

    def _check_width(self, row: Line) -> None:
        has_quotes = '"' in row[1]
        n_cells = len(self.cells(row)) if has_quotes else row[1].count(self.delimiter) + 1
        if n_cells != self.n_columns:
            raise ValueError(
                f"{self.path}: line {row[0]} has {n_cells} cells, the first row has {self.n_columns}: make them equal."
            )

    def cells(self, row: Line) -> list[str]:
        """Split a row."""
        if '"' not in row[1]:  # much faster than a reader for each row
            return row[1].split(self.delimiter)
        try:
            return next(csv.reader([row[1]], delimiter=self.delimiter))
        except csv.Error as error:
            raise ValueError(f"{self.path}: line {row[0]} cannot be split into cells ({error}).") from error

    def name(self, column: int) -> str:
        """Return what to call a column in a sentence."""
        return repr(self.names[column]) if self.names else str(column)

    def _lines(self) -> Iterator[Line]:
        """Give the rows, names included."""
        lines = text_lines(self.path)
        for number, text in lines:
            if '"' in text and text.count('"') % 2:
                yield number, self._to_closing_quote(number, text, lines)
            else:
                yield number, text

    def _to_closing_quote(self, number: int, text: str, lines: Iterator[Line]) -> str:
        parts = [text]
        for _, following in lines:
            parts.append(following)
            if following.count('"') % 2:
                return "\n".join(parts)
        raise ValueError(f"{self.path}: a quote opened in line {number} is never closed: close it.")


class TextVectors(Vectors):
    """Columns of numbers of a text file; all columns, unless some are chosen or dropped."""

    def __init__(self, path: Path, choice: Choice) -> None:
        no_key(path, choice)
        self.path = path
        self.n_rows = None
        self.dtype = np.dtype(np.float64)
        self._table = TextTable(path)
        self._table.check_not_empty()
        self._chosen = choose(path, self._table.names, self._table.n_columns, choice)
        self.n_columns = len(self._chosen)

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        rows = self._table.rows()
        n_before = sum(1 for _ in islice(rows, start))
        if n_before < start:
            raise ValueError(f"start={start}: {self.path} has rows 0 to {n_before - 1}.")
        while chunk := list(islice(rows, size)):
            yield self._numbers(chunk)

    def _numbers(self, rows: Sequence[Line]) -> NDArray[np.float64]:
        try:
            numbers = np.loadtxt(
                [text for _, text in rows],
                delimiter=self._table.delimiter,
                usecols=self._chosen,
                comments=None,
                quotechar='"',
                ndmin=2,
            )
        except ValueError as error:
            self._explain(rows)
            raise ValueError(f"{self.path}: lines {rows[0][0]} to {rows[-1][0]} hold no numbers ({error}).") from error
        if len(numbers) < len(rows):  # NumPy passes over empty lines
            self._explain(rows)
        return numbers

    def _explain(self, rows: Sequence[Line]) -> None:
        for row in rows:
            cells = self._table.cells(row)
            for column in self._chosen:
                if not is_number(cells[column]):
                    raise ValueError(
                        f"{self.path}: line {row[0]}, column {self._table.name(column)} holds {cells[column]!r}, not a "
                        "number: drop the column, or write nan for a missing value."
                    )
