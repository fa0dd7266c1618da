"""The manifest of a folder of codes: which files are finished, and which were set aside."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import Any

from proxcode.encoding.task import SETTINGS, Result, Task, exists
from proxcode.storage.atomic import atomic_write

NAME = "manifest.json"
# Shortest time between two writes while files are encoded, in seconds.
SECONDS = 2.0


class Manifest:
    """Finished files and those set aside; `write` writes them as JSON.

    Parameters
    ----------
    path : Path
    settings : dict of str
        What all codes of the folder agree in.
    files : dict
        For the name of each file of codes its input, the size and the time of change of the input, and the rows, size
        and SHA-256 of the file itself.
    failed : dict of str
        The reason for each input that was set aside.
    """

    def __init__(self, path: Path, settings: dict[str, str], files: dict[str, Any], failed: dict[str, str]) -> None:
        self.path, self.settings, self.files, self.failed = path, settings, files, failed
        self._last = time.monotonic()

    @classmethod
    def read(cls, folder: Path, settings: dict[str, str], planned: Collection[str], overwrite: bool) -> Manifest:
        """Return the manifest of a folder, an empty one where there is none.

        Raises FileExistsError if its codes are of other settings, and with `overwrite` if one of them is not among the
        `planned` names: it would stay beside codes of these settings.
        """
        path = folder / NAME
        if not path.exists():
            return cls(path, settings, {}, {})
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            files, failed = dict(content["files"]), dict(content["failed"])
            if not all(isinstance(entry, dict) for entry in files.values()):
                raise TypeError("an entry is not an object")
            theirs = {name: content[name] if name == "model" else json.dumps(content[name]) for name in SETTINGS}
        except (ValueError, LookupError, TypeError) as error:
            if overwrite:
                return cls(path, settings, {}, {})
            raise exists(f"{path} is not a manifest of codes") from error
        different = [text for name, text in SETTINGS.items() if theirs[name] != settings[name]]
        if not different:
            return cls(path, settings, files, failed)
        if not overwrite:
            raise exists(f"{folder} holds codes of {different[0]}")
        for name in files:
            if name not in planned and (folder / name).exists():
                raise exists(
                    f"{folder / name} holds codes of {different[0]}, and none of the inputs replaces it",
                    "remove it, or choose another folder",
                )
        return cls(path, settings, {}, {})

    def known(self, task: Task) -> Result | None:
        """Return the entry of a finished file, None if it is not listed or not as it was."""
        entry = self.files.get(task.name, {})
        is_listed = (entry.get("input_size"), entry.get("input_mtime_ns")) == (task.size, task.mtime_ns)
        if not is_listed or entry.get("size") != Path(task.output).stat().st_size:
            return None
        return Result(entry["rows"], entry["size"], entry["sha256"])

    def add(self, task: Task, result: Result) -> None:
        """List a file that was finished or set aside."""
        if result.reason is not None:
            self.files.pop(task.name, None)
            self.failed[task.path] = result.reason
            return
        self.failed.pop(task.path, None)
        self.files[task.name] = {
            "input": task.path,
            "input_size": task.size,
            "input_mtime_ns": task.mtime_ns,
            "rows": result.rows,
            "size": result.size,
            "sha256": result.sha256,
        }

    def write(self) -> None:
        """Write the manifest atomically."""
        settings = {name: value if name == "model" else json.loads(value) for name, value in self.settings.items()}
        content = {"proxcode": version("proxcode"), **settings, "files": self.files, "failed": self.failed}
        with atomic_write(self.path) as partial:
            partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        self._last = time.monotonic()

    def write_if_due(self) -> None:
        """Write the manifest unless it was written a moment ago."""
        if time.monotonic() - self._last >= SECONDS:
            self.write()
