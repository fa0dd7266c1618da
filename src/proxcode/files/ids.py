"""Ids of codes from files: integers or text.

Labels that look like numbers are numbers; ids in a text file are what is written there. They are integers only if each
of them is written as integers are, without leading zeros: "007" and "1.10" stay text.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import FilePath, Taken, shown
from proxcode.files._cells import TEXT_FORMATS, Cells, cells_of_column, cells_of_lines
from proxcode.files._text import TextTable
from proxcode.files.labels import label_files, split_column, take_labels
from proxcode.files.samples import is_empty
from proxcode.storage.texts import as_object_array

# An integer as Python writes it.
INTEGER = re.compile(r"0|-?[1-9][0-9]*")


class TakenIds(NamedTuple):
    """Ids, and what they were taken of.

    Attributes
    ----------
    ids : ndarray of integers, or of strings
    taken : Taken
    is_text : bool
        Whether they were read from a text file, where the text of an integer may be meant as text.
    source : str
    """

    ids: NDArray[Any]
    taken: Taken
    is_text: bool
    source: str

    def beside(self, has_strings: bool | None) -> NDArray[Any]:
        """Return the ids in the type of others that they join: strings, integers, or None for either."""
        is_integer = self.ids.dtype.kind in "iu"
        if has_strings and is_integer and self.is_text:
            return as_object_array(self.ids.astype(np.str_).tolist())
        if has_strings is False and not is_integer:
            return self._integers()
        return self.ids

    def _integers(self) -> NDArray[np.int64]:
        """Return strings as integers. Raises ValueError for one that is no integer."""
        wrong = next((one for one in self.ids.tolist() if not re.fullmatch(r"-?[0-9]{1,18}", one)), None)
        if wrong is not None or not self.is_text:
            raise ValueError(f"{self.source} holds {shown(str(wrong or self.ids[0]))}: expected integer ids.")
        return np.array([int(one) for one in self.ids.tolist()], np.int64)


def take_ids(source: FilePath) -> TakenIds:
    r"""Read ids: one per row, of a file or column as in `read_labels`.

    Raises ValueError for missing ids, and for numbers that are not integers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     _ = path.write_text("number,name\n7,007\n8,a\n")
    ...     take_ids(f"{path}:number").ids, take_ids(f"{path}:name").ids
    (array([7, 8]), array(['007', 'a'], dtype=object))
    """
    files = [file for file in label_files(source) if not is_empty(file)]
    if files and all(file.suffix.lower() in TEXT_FORMATS for file in files):
        _, column = split_column(source)
        read = [_cells(file, column) for file in files]
        ids = _from_cells(str(source), [cell for part in read for cell in part.values])
        return TakenIds(ids, read[0].taken, True, str(source))
    labels, taken, _ = take_labels(source)
    return TakenIds(_checked(str(source), labels), taken, False, str(source))


def _cells(path: Path, column: str | None) -> Cells:
    if path.suffix.lower() == ".txt":
        return cells_of_lines(path, column)
    table = TextTable(path)
    table.check_not_empty()
    if column is None and table.n_columns > 1:
        raise ValueError(f"{path} has {table.n_columns} columns: name the one of the ids, {path}:COLUMN.")
    return cells_of_column(table, column)


def _from_cells(source: str, cells: list[str]) -> NDArray[Any]:
    """Return cells as integers if all of them are written as integers are and fit into 64 bits, otherwise as text."""
    if not cells:
        raise ValueError(f"{source} holds no ids: expected at least one.")
    if "" in cells:
        raise ValueError(f"{source} holds a blank id in row {cells.index('')}, counted from 0: write one for each row.")
    if all(map(INTEGER.fullmatch, cells)):
        try:
            return np.array([int(cell) for cell in cells], np.int64)
        except OverflowError:
            pass
    return as_object_array(cells)


def _checked(source: str, ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids of an array or of a column of Arrow."""
    if ids.ndim != 1:
        raise ValueError(f"{source} has {ids.shape[1]} columns: name the one of the ids, {source}:COLUMN.")
    values = ids.tolist()
    is_missing = np.array([value is None or (isinstance(value, float) and math.isnan(value)) for value in values])
    if is_missing.any():
        row = int(np.argmax(is_missing))
        raise ValueError(f"{source} holds no id in row {row}, counted from 0: write one for each row.")
    if ids.dtype.kind not in "iuUO":
        raise ValueError(f"{source} holds {ids.dtype} values: expected integers or text.")
    return ids
