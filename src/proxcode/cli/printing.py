"""Records as aligned text, for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WHOLE = 2.0**53  # floats below hold every whole number


def facts(record: Mapping[str, Any]) -> str:
    """Return one line for each entry, values aligned.

    Examples
    --------
    >>> print(facts({"kind": "model", "training loss": 0.0125, "points": 59000, "value": 19620.0}))
    kind           model
    training loss  0.0125
    points         59,000
    value          19,620
    """
    width = max(map(len, record), default=0)
    return "\n".join(f"{name:{width}}  {cell(value, grouped=True)}" for name, value in record.items())


def columns(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table with a line of names, numbers flush right.

    Examples
    --------
    >>> print(columns(["method", "bits", "auc"], [["PPC", 8, 0.5], ["LSH", 16, None]]))
    method  bits     auc
    PPC        8  0.5000
    LSH       16       -
    """
    by_column = list(zip(*rows, strict=True)) or [()] * len(names)
    aligned = [_aligned(name, values) for name, values in zip(names, by_column, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))


def _aligned(name: str, values: Sequence[Any]) -> list[str]:
    texts = [name, *map(cell, values)]
    width = max(map(len, texts))
    is_text = any(isinstance(value, str) for value in values)
    return [text.ljust(width) if is_text else text.rjust(width) for text in texts]


def cell(value: Any, grouped: bool = False) -> str:
    """Return a value as short text, a dash for none; grouped, whole numbers with all their digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if grouped and (isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < WHOLE)):
        return f"{int(value):,}"
    if isinstance(value, float):
        return f"{value:.4f}" if 5e-5 <= abs(value) < 1e4 or value == 0 else f"{value:.4g}"
    return str(value)
