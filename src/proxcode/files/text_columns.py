"""All columns of a tabular file as strings, for people to read.

The strings of a column are kept as bytes (`storage.texts`): a million rows take little more memory than the file.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from proxcode.files._arrow import ARROW_FORMATS, import_arrow, open_arrow
from proxcode.files._base import FilePath, by_suffix, existing_file
from proxcode.files._text import DELIMITERS, TextTable, text_lines
from proxcode.storage.texts import Texts

# Rows that are Python strings at a time.
ROWS = 65_536
# What replaces the character NUL, which separates strings while they are converted.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Types of Parquet and Arrow columns that are not read: people cannot read them.
NOT_TEXT = ("binary", "list", "struct", "map", "union", "interval", "extension")

Block = Sequence[Sequence[str]]


def read_text_columns(path: FilePath) -> dict[str, Texts]:
    r"""Read the columns of a tabular file as strings, by their names.

    Parameters
    ----------
    path : path
        A `.csv` or `.tsv` file, whose first row holds column names if one of its cells is not a number; a `.parquet`,
        `.arrow` or `.feather` file, whose columns of lists and bytes are left out; or a `.txt` file, of which each line
        is a string of the only column, "text". Columns without a name are named by their number from 0.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "items.csv")
    ...     _ = file.write_text("name,price\nlamp,20\n\"chair, red\",35\n")
    ...     columns = read_text_columns(file)
    >>> {name: column.at(np.array([1, 0])) for name, column in columns.items()}
    {'name': ['chair, red', 'lamp'], 'price': ['35', '20']}
    """
    path = existing_file(path)
    names, blocks = by_suffix(path, FORMATS)(path)
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{path} has {names.count(repeated)} columns {repeated!r}: rename them.")
    parts = [[Texts.of(_without_nul(values)) for values in block] for block in blocks]
    if not parts:
        raise ValueError(f"{path} has no rows: expected at least one.")
    return {name: _joined(column) for name, column in zip(names, zip(*parts, strict=True), strict=True)}


def _joined(parts: Sequence[Texts]) -> Texts:
    starts = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
    ends = [part.ends + start for part, start in zip(parts, starts, strict=True)]
    return Texts(np.concatenate([part.data for part in parts]), np.concatenate(ends))


def _without_nul(values: Sequence[str]) -> Sequence[str]:
    # Joined, because a search of each value takes ten times as long.
    if "\0" not in "".join(values):
        return values
    return [value.replace("\0", REPLACEMENT) for value in values]


def _delimited(path: Path) -> tuple[Sequence[str], Iterator[Block]]:
    table = TextTable(path)
    table.check_not_empty()
    rows = map(table.cells, table.rows())
    blocks = (list(zip(*chunk, strict=True)) for chunk in _chunks(rows))
    return table.names or [str(column) for column in range(table.n_columns)], blocks


def _lines(path: Path) -> tuple[Sequence[str], Iterator[Block]]:
    return ["text"], ([chunk] for chunk in _chunks(text for _, text in text_lines(path)))


def _chunks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(rows, ROWS)):
        yield chunk


def _arrow(path: Path) -> tuple[Sequence[str], Iterator[Block]]:
    file = open_arrow(path)
    names = [file.name_of(number) for number, kind in enumerate(file.types) if _is_readable(str(kind))]
    if not names:
        raise ValueError(f"{path} has no column that can be shown as text: expected strings or numbers.")
    return names, _arrow_blocks(path, names)


def _is_readable(kind: str) -> bool:
    """Return whether people can read the values of a type, such as `large_list<item: double>`.

    Examples
    --------
    >>> [_is_readable(kind) for kind in ("string", "binary_view", "dictionary<values=string, indices=int8, ordered=0>")]
    [True, False, True]
    """
    name = re.split(r"[<\[,]", kind.removeprefix("dictionary<values="))[0]
    return not any(part in name for part in NOT_TEXT)


def _arrow_blocks(path: Path, names: list[str]) -> Iterator[Block]:
    text = import_arrow(path).string()
    for _, batch in open_arrow(path).batches(names):
        if len(batch):
            yield [["" if cell is None else cell for cell in column.cast(text).to_pylist()] for column in batch.columns]


FORMATS = {**dict.fromkeys(DELIMITERS, _delimited), **dict.fromkeys(ARROW_FORMATS, _arrow), ".txt": _lines}
