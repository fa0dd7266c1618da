"""CSV and TSV files, row by row.

The first row holds column names if one of its cells is not a number. A quoted cell may contain line breaks. Blank lines
are skipped, except in a file of one column, where a blank line between rows is an empty cell.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import Choice, Taken, Vectors, bad_start, choose, shown

DELIMITERS = {".csv": ",", ".tsv": "\t"}
# Characters of one row: a quote that is still open after so many is taken for damage.
MAX_ROW = 2**27
# Number of a line, from 1, and its text.
Line = tuple[int, str]


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, nan and inf included."""
    try:
        float(cell)
    except ValueError:
        return False
    # Python accepts 1_000, other programs do not.
    return "_" not in cell


def text_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a text file with their numbers from 1, without line ends."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, 1):
                yield number, text.removesuffix("\n")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"{path} is not UTF-8 text (byte {byte:#x}): save it as UTF-8.") from None


class TextTable:
    """A tabular text file.

    Attributes
    ----------
    names : tuple of str
        Column names, empty if the first row holds numbers.
    n_columns : int
    first : (int, str)
        The first row, of names or of numbers, with its line number.
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
        """Raise ValueError for a file without rows below the names."""
        if next(self.rows(), None) is None:
            raise ValueError(f"{self.path} has no rows below its column names: expected at least one.")

    def rows(self, *, blank_end: bool = False) -> Iterator[Line]:
        """Yield the rows below the names with their line numbers; all have the same number of cells.

        With `blank_end`, blank lines at the end of a file of one column are rows too.
        """
        blank: list[Line] = []
        lines = dropwhile(lambda line: not line[1], self._lines())
        for row in islice(lines, 1 if self.names else 0, None):
            if not row[1]:
                blank.append(row)
                continue
            if self.n_columns == 1:
                yield from blank
            blank.clear()
            number, text = row
            n_cells = len(self.cells(row)) if '"' in text else text.count(self.delimiter) + 1
            if n_cells != self.n_columns:
                raise ValueError(
                    f"{self.path}: line {number} has {n_cells} cells, the first row has {self.n_columns}: expected as "
                    "many."
                )
            yield row
        if blank_end and self.n_columns == 1:
            yield from blank

    def cells(self, row: Line) -> list[str]:
        """Split a row into its cells."""
        # Much faster than a csv.reader per row.
        if '"' not in row[1]:
            return row[1].split(self.delimiter)
        try:
            return next(csv.reader([row[1]], delimiter=self.delimiter))
        except csv.Error as error:
            raise ValueError(f"{self.path}: line {row[0]} cannot be split into cells ({error}).") from error

    def _lines(self) -> Iterator[Line]:
        """Yield the rows, names included; a row with a line break in quotes is one item."""
        lines = text_lines(self.path)
        for number, text in lines:
            parts = [text]
            is_open, n_characters = text.count('"') % 2, len(text)
            while is_open:
                _, following = next(lines, (0, None))
                if following is None or n_characters > MAX_ROW:
                    raise ValueError(f"{self.path}: the quote opened in line {number} is never closed: close it.")
                parts.append(following)
                is_open = not following.count('"') % 2
                n_characters += len(following) + 1
            yield number, "\n".join(parts)


class TextVectors(Vectors):
    """Columns of numbers of a text file: all columns, unless some are chosen or dropped."""

    def __init__(self, path: Path, choice: Choice) -> None:
        self.path = path
        self.n_rows = None
        self.dtype = np.dtype(np.float64)
        self._table = TextTable(path)
        self._table.check_not_empty()
        self._chosen = choose(path, self._table.names, self._table.n_columns, choice)
        self.n_columns = len(self._chosen)
        self.names = [self._table.names[column] for column in self._chosen] if self._table.names else []
        self.taken = Taken(columns=tuple(self.names or self._chosen))

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        rows = self._table.rows()
        n_before = sum(1 for _ in islice(rows, start))
        if n_before < start:
            raise bad_start(self.path, start, n_before)
        while chunk := list(islice(rows, size)):
            yield self._numbers(chunk)

    def _numbers(self, rows: Sequence[Line]) -> NDArray[np.float64]:
        texts, delimiter = [text for _, text in rows], self._table.delimiter
        try:
            numbers = np.loadtxt(
                texts, delimiter=delimiter, usecols=self._chosen, comments=None, quotechar='"', ndmin=2
            )
        except ValueError as error:
            self._check_cells(rows)
            raise ValueError(f"{self.path}: lines {rows[0][0]} to {rows[-1][0]} are not numbers ({error}).") from error
        # NumPy skips the empty lines of a file of one column.
        if len(numbers) < len(rows):
            self._check_cells(rows)
        return numbers

    def _check_cells(self, rows: Sequence[Line]) -> None:
        """Raise ValueError for the first cell that is not a number."""
        for row in rows:
            cells = self._table.cells(row)
            for column in self._chosen:
                if not is_number(cells[column]):
                    name = shown(self._table.names[column]) if self._table.names else column
                    raise ValueError(
                        f"{self.path}: line {row[0]}, column {name} holds {shown(cells[column])}, not a number: drop "
                        "the column, or write nan for a missing value."
                    )
