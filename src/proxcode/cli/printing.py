"""Results as JSON or aligned text, and errors as one sentence."""

import errno
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from proxcode.cli.reading import InputFile
    from proxcode.metrics import BitRecord

# Below this magnitude a float represents every integer exactly.
EXACT_INTEGERS = 2.0**53
# What text shows for a key of JSON, where it is not the key itself.
LABELS = {
    "radius": "near up to distance",
    "loss in learning": "share of misplaced pairs in learning",
    "training loss": "share of misplaced training pairs",
    "near pairs within radius": "near pairs up to that distance",
    "near pairs within radius in fit": "near pairs up to that distance in fit",
    "far pairs within radius": "far pairs up to that distance",
    "far pairs within radius in fit": "far pairs up to that distance in fit",
    "misplaced_share": "share of misplaced pairs",
    "pr_area": "PR area",
    "map": "mAP",
    "search_ms": "search ms",
    "encode_ms": "encode ms",
    "fit_seconds": "fit s",
}
# Optional packages and the extra of proxcode that installs each of them.
EXTRAS = {"matplotlib": "plots", "pyarrow": "tables", "h5py": "tables", "skops": "skops"}
REMEDIES = dict.fromkeys(
    (errno.EACCES, errno.EPERM, errno.EROFS), "choose another location, or change its permissions"
) | {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space, then run the same command again"),
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), then run the same command again",
    errno.EIO: "check the disk, then run the same command again",
}


def show(
    as_json: bool,
    record: Mapping[str, Any],
    text: Callable[[], str] | None = None,
    read: "Mapping[str, InputFile] | None" = None,
) -> None:
    """Print a record as JSON or as text, which `text` returns; by default one line per entry.

    JSON also has the inputs that were `read`, as "read"; for text `reading.say` names them before the work begins.
    """
    inputs = {"read": {name: file.record() for name, file in read.items()}} if read else {}
    click.echo(json.dumps({**record, **inputs}) if as_json else text() if text else facts(record))


def facts(record: Mapping[str, Any]) -> str:
    """Return one line per entry, with the values aligned.

    Examples
    --------
    >>> print(facts({"kind": "model", "radius": 13, "samples": 59000, "value": 19620.0}))
    kind                 model
    near up to distance  13
    samples              59,000
    value                19,620
    """
    labels = [label(name) for name in record]
    width = max(map(len, labels), default=0)
    values = (cell(value, grouped=True) for value in record.values())
    return "\n".join(f"{text:{width}}  {value}" for text, value in zip(labels, values, strict=True))


def label(name: str) -> str:
    """Return what text shows for a key of JSON.

    Examples
    --------
    >>> label("pr_area"), label("bits")
    ('PR area', 'bits')
    """
    return LABELS.get(name, name)


def learned_figures(history: "Sequence[BitRecord]", training_loss: float | None) -> dict[str, Any]:
    """Return the figures of a fitted model; None for those that its file does not have."""
    last = history[-1]
    shares = {
        "loss in learning": last.loss,
        "training loss": math.nan if training_loss is None else training_loss,
        "near pairs within radius": last.near_within,
        "far pairs within radius": last.far_within,
    }
    known = {name: None if math.isnan(share) else share for name, share in shares.items()}
    return {"bits": len(history), "radius": last.radius, **known}


def recall_figure(recall: float) -> dict[str, float]:
    """Return the recall of the near pairs that a code was learned from, where a search did not find all of them."""
    return {"recall of near pairs": recall} if recall < 1 else {}


def aligned_columns(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return aligned columns below a line of names; columns of numbers are right-aligned.

    Examples
    --------
    >>> print(aligned_columns(["method", "bits", "PR area"], [["proxcode", 8, 0.5], ["LSH", 16, None]]))
    method    bits  PR area
    proxcode     8   0.5000
    LSH         16        -
    """
    by_column = list(zip(*rows, strict=True)) or [()] * len(names)
    aligned = []
    for name, values in zip(names, by_column, strict=True):
        texts = [name, *map(cell, values)]
        width = max(map(len, texts))
        is_text = any(isinstance(value, str) for value in values)
        aligned.append([text.ljust(width) if is_text else text.rjust(width) for text in texts])
    return "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))


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


def one_sentence(error: Exception) -> str:
    """Return the message of an exception as one line that ends with a full stop.

    Examples
    --------
    >>> one_sentence(PermissionError(13, "Permission denied", "/root/m.proxcode"))
    '/root/m.proxcode: Permission denied: choose another location, or change its permissions.'
    >>> one_sentence(ValueError("n_bits=0: expected an integer from 1 to 1024"))
    'n_bits=0: expected an integer from 1 to 1024.'
    """
    if isinstance(error, MemoryError):
        reason = f" ({error})" if str(error) else ""
        return f"not enough memory{reason}: use fewer samples, or a machine with more memory."
    if isinstance(error, ModuleNotFoundError) and (package := str(error.name).partition(".")[0]) in EXTRAS:
        return f"{package} is not installed: pip install 'proxcode[{EXTRAS[package]}]'."
    if isinstance(error, OSError) and error.strerror is not None:
        place = f"{error.filename}: " if error.filename is not None else ""
        # A note says what was kept, and how to resume.
        notes = getattr(error, "__notes__", []) or [REMEDIES.get(error.errno or 0, "choose another file or folder")]
        return f"{place}{error.strerror}: {notes[-1]}."
    text = " ".join(str(error).split())
    if not text or not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return f"unexpected {type(error).__name__}: {text} (--debug shows the traceback)."
    return text if text.endswith((".", "?")) else f"{text}."
