"""A file to encode, and what a worker does with it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from proxcode.files import open_vectors
from proxcode.files.codes import Stamped, read_stamp, write_codes
from proxcode.storage.atomic import atomic_write, is_disk_error

if TYPE_CHECKING:
    from proxcode.pipeline import Model

# Entries of a stamp in which all codes of a folder agree, and how a sentence names codes that differ.
SETTINGS = {"n_bits": "another length", "model": "another model", "choice": "other columns or options"}


class Result(NamedTuple):
    """Rows, size in bytes and digest of a file of codes, or the reason why there is none."""

    rows: int = 0
    size: int = 0
    sha256: str = ""
    reason: str | None = None


@dataclass(frozen=True)
class Task:
    """A file to encode.

    Attributes
    ----------
    path, output : str
    size, mtime_ns : int
        Size of the input in bytes, and the time of its last change.
    settings : dict of str
        What all codes of a folder agree in, by the names of `SETTINGS`.
    may_replace : bool
        Whether an existing output is replaced.
    """

    path: str
    output: str
    size: int
    mtime_ns: int
    settings: dict[str, str]
    may_replace: bool = False

    @classmethod
    def of(cls, path: Path, output: Path, settings: dict[str, str]) -> Task:
        """Return the task for an input as it is now."""
        status = path.stat()
        return cls(str(path), str(output), status.st_size, status.st_mtime_ns, settings)

    @property
    def name(self) -> str:
        """Name of the output in its folder."""
        return Path(self.output).name

    @property
    def stamp(self) -> dict[str, str]:
        """What the output tells about itself."""
        return {**self.settings, "input": self.path, "size": str(self.size), "mtime_ns": str(self.mtime_ns)}

    def finished(self) -> Stamped | None:
        """Return the footer of the output if it holds the codes of the input, which may have been moved; else None."""
        found = read_stamp(Path(self.output))
        compared = {name: value for name, value in self.stamp.items() if name != "input"}
        return found if found is not None and compared.items() <= found.stamp.items() else None

    def checked(self, overwrite: bool) -> Task:
        """Return the task with the right to replace an output of the same input; raise FileExistsError for another."""
        if not os.path.lexists(self.output):
            return self
        if not overwrite:
            found = read_stamp(Path(self.output))
            if found is None:
                raise exists(f"{self.output} exists, but does not hold codes of proxcode")
            for name, text in SETTINGS.items():
                if found.stamp.get(name) != self.settings[name]:
                    raise exists(f"{self.output} holds codes of {text}")
            if found.stamp.get("input") != self.path:
                raise exists(f"{self.output} holds codes of {found.stamp.get('input')}, not of {self.path}")
        return replace(self, may_replace=True)


@dataclass(frozen=True)
class EncodeFile:
    """Encodes a file; a worker gets it once."""

    model: Model
    n_bits: int
    choice: dict[str, Any]

    def __call__(self, task: Task) -> Result:
        """Return what was written, or the reason why the file is set aside."""
        try:
            # A worker may have died after it wrote the file.
            found = task.finished()
            return self._write(task) if found is None else described(Path(task.output), found.rows)
        except Exception as error:
            # No other file could be written either.
            if is_disk_error(error) and getattr(error, "filename", None) == task.output:
                raise
            if task.may_replace and not isinstance(error, BlockingIOError):
                # Codes of what the input was, or of another model, must not be taken for those of the others; a file
                # that another process writes at the moment is left to it.
                Path(task.output).unlink(missing_ok=True)
            return Result(reason=_reason(task.path, error))

    def _write(self, task: Task) -> Result:
        path = Path(task.path)
        before = path.stat()
        vectors = open_vectors(path, **{name: self.choice[name] for name in ("key", "columns", "drop")})
        vectors.check_features(self.model.n_features_in_)
        with atomic_write(task.output, overwrite=task.may_replace) as partial:
            n_rows = write_codes(
                partial,
                vectors,
                lambda block: self.model.encode(block, self.n_bits),
                column=self.choice["code_column"],
                stamp=task.stamp,
            )
            after = path.stat()
            if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
                raise ValueError(f"{path} changed while it was read: encode it again once it is complete.")
            return described(partial, n_rows)


def described(path: Path, rows: int) -> Result:
    """Return the size and the digest of a file of codes."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Result(rows, path.stat().st_size, digest)


def exists(what: str, remedy: str = "choose another folder, or replace them (--force, overwrite=True)") -> Exception:
    """Return the error for files that a run would replace or mix with others."""
    return FileExistsError(f"{what}: {remedy}.")


def _reason(path: str, error: Exception) -> str:
    """Return the message of an error as one sentence that names the file."""
    if isinstance(error, OSError) and error.strerror is not None:
        text = f"{error.filename or path}: {error.strerror}"
    else:
        text = " ".join(str(error).split()) or type(error).__name__
    text = text if path in text else f"{path}: {text}"
    return text if text.endswith(".") else f"{text}."
