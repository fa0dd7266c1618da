"""What a command read: one line on standard error for each input, and a record for --json."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from proxcode.files import Taken

# Columns that a line names before it abbreviates the list.
MAX_COLUMNS = 4


@dataclass(frozen=True)
class InputFile:
    """What was taken of an input.

    Attributes
    ----------
    path : Path or str
        A file, or the folder or pattern of several files.
    taken : Taken
        The array or the columns, of several files those of the first one.
    rows : int or None
        None where only reading all rows tells their number.
    width : int, default=None
        Numbers in a row; None for one value per row.
    unit : str, default=""
        What a row is, where that is not a vector: "codes", "pairs".
    type : str, default=None
        Type of the numbers.
    n_files : int, default=1
    n_unlabelled : int, default=None
        Number of samples without a label; None where that has no meaning.
    """

    path: Path | str
    taken: "Taken"
    rows: int | None
    width: int | None = None
    unit: str = ""
    type: str | None = None
    n_files: int = 1
    n_unlabelled: int | None = None

    def record(self) -> dict[str, Any]:
        """Return what was taken by name, without what is not known."""
        columns = None if self.taken.columns is None else list(self.taken.columns)
        found: dict[str, Any] = {"file": str(self.path), "files": None if self.n_files == 1 else self.n_files}
        found |= {"array": self.taken.array, "columns": columns, "rows": self.rows, "width": self.width}
        found |= {"type": self.type, "without a label": self.n_unlabelled}
        return {name: value for name, value in found.items() if value is not None}

    def text(self) -> str:
        """Return what was taken in words.

        Examples
        --------
        >>> from proxcode.files import Taken
        >>> InputFile("data.npz", Taken("x"), 60000, 512, type="float16").text()
        "array 'x' of data.npz (60,000 x 512, float16)"
        >>> InputFile("y.csv", Taken(columns=("class",)), 500, unit="samples", n_unlabelled=12).text()
        "column 'class' of y.csv (500 samples, 12 without a label)"
        >>> InputFile("parts", Taken(columns=("a", "b", "c", "d", "e")), 9, 5, type="float32", n_files=3).text()
        "columns 'a', 'b', ..., 'e' of 3 files of parts (9 x 5, float32)"
        """
        place = str(self.path) if self.n_files == 1 else f"{self.n_files:,} files of {self.path}"
        part = _part(self.taken)
        rows = None if self.rows is None else f"{self.rows:,}{f' {self.unit}' if self.unit else ''}"
        if self.width is not None:
            rows = f"{self.width} columns" if self.rows is None else f"{self.rows:,} x {self.width}"
        without = f"{self.n_unlabelled:,} without a label" if self.n_unlabelled else None
        facts = ", ".join(fact for fact in (rows, self.type, without) if fact)
        return f"{f'{part} of ' if part else ''}{place}{f' ({facts})' if facts else ''}"


def _part(taken: "Taken") -> str:
    """Return an array and columns in words; an empty text for all of a file."""
    parts = [] if taken.array is None else [f"array {taken.array!r}"]
    if taken.columns is not None:
        names = [repr(column) for column in taken.columns]
        shown = names if len(names) <= MAX_COLUMNS else [*names[:2], "...", names[-1]]
        parts.insert(0, f"column{'s' if len(names) > 1 else ''} {', '.join(shown)}")
    return " of ".join(parts)


def say(inputs: Mapping[str, InputFile]) -> None:
    """Write a line for each input to standard error."""
    for name, file in inputs.items():
        # A terminal or a reader of a pipe that is gone does not end the work.
        with suppress(OSError, ValueError):
            click.echo(f"read {name}: {file.text()}", err=True)
