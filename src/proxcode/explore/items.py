"""What is known of each stored code beside its bits: columns of text, one of which is searched."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.explore.text_search import TextSearch
from proxcode.storage.texts import Texts

# Rows that show whether a column holds text or numbers.
PROBED = 1000


class Items:
    """Columns of text, a row for each code.

    Parameters
    ----------
    columns : mapping of str to Texts
        As `files.text_columns.read_text_columns` returns them.
    searched : str, default=None
        The column that is searched as one types. None: the first one that holds more than numbers.

    Examples
    --------
    >>> items = Items({"price": Texts.of(["20", "35"]), "name": Texts.of(["Lamp", "red chair"])})
    >>> items.names, items.at(np.array([1]))
    (['name', 'price'], [['red chair', '35']])
    >>> items.find("chair", 5)
    array([1])
    """

    def __init__(self, columns: Mapping[str, Texts], searched: str | None = None) -> None:
        lengths = {name: len(column.ends) for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"columns of items have the lengths {lengths}: expected at least one, all of one length.")
        if searched is not None and searched not in columns:
            raise ValueError(f"there is no column {searched!r} of items: expected one of {', '.join(columns)}.")
        first = searched or next((name for name, column in columns.items() if _holds_text(column)), next(iter(columns)))
        self.names = [first, *(name for name in columns if name != first)]
        self._columns = [columns[name] for name in self.names]

    def __len__(self) -> int:
        return len(self._columns[0].ends)

    @cached_property
    def _search(self) -> TextSearch:
        return TextSearch(self._columns[0])

    def find(self, text: str, limit: int) -> NDArray[np.int64]:
        """Return the rows of up to `limit` items whose searched column contains a text."""
        return self._search.find(text, limit)

    def at(self, rows: NDArray[np.int64]) -> list[list[str]]:
        """Return the cells of some rows, the searched column first."""
        return [list(cells) for cells in zip(*(column.at(rows) for column in self._columns), strict=True)]


def _holds_text(column: Texts) -> bool:
    return any(not _is_number(cell) for cell in column.at(np.arange(min(PROBED, len(column.ends)))))


def _is_number(cell: Any) -> bool:
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True
