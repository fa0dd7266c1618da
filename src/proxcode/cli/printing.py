"""Results as JSON or as aligned text."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

# Below this magnitude a float represents every integer exactly.
EXACT_INTEGERS = 2.0**53


def show(as_json: bool, record: Mapping[str, Any], text: Callable[[], str] | None = None) -> None:
    """Print a record as JSON or as text, which `text` returns; by default one line per entry."""
    click.echo(json.dumps(record) if as_json else text() if text else facts(record))


def facts(record: Mapping[str, Any]) -> str:
    """Return one line per entry, with the values aligned.

    Examples
    --------
    >>> print(facts({"kind": "model", "training loss": 0.0125, "samples": 59000, "value": 19620.0}))
    kind           model
    training loss  0.0125
    samples        59,000
    value          19,620
    """
    width = max(map(len, record), default=0)
    return "\n".join(f"{name:{width}}  {cell(value, grouped=True)}" for name, value in record.items())


def columns(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return aligned columns below a line of names; columns of numbers are right-aligned.

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
    """Return a value as short text, None as a dash; `grouped` separates the thousands of integers by commas."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    is_integer = isinstance(value, int) or (
        isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGERS
    )
    if grouped and is_integer:
        return f"{int(value):,}"
    if isinstance(value, float):
        return f"{value:.4f}" if 5e-5 <= abs(value) < 1e4 or value == 0 else f"{value:.4g}"
    return str(value)
