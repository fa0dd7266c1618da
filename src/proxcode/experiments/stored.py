"""Measurements whose results are stored in files, so that an interrupted experiment can be resumed."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from proxcode.experiments.parallel import run_tasks
from proxcode.experiments.runner import Record, environment, read_json, write_text
from proxcode.utils.progress import ProgressDisplay


class Measurement(NamedTuple):
    """A measurement, and the file with its result.

    Attributes
    ----------
    path : Path
    settings : dict
        What the result depends on, a digest of the source code included: a stored result of other settings is not used.
    measure : callable
        Returns the result, which JSON can represent; a `partial` of a function at the top level of a module.
    """

    path: Path
    settings: dict[str, Any]
    measure: Callable[[], Any]

    def record(self) -> Record:
        """Return the stored record, an empty one if there is none with these settings."""
        record = read_json(self.path)
        return record if record.get("settings") == self.settings else {}


def file_name(*keys: object) -> str:
    """Return the name of a file for some keys.

    Examples
    --------
    >>> file_name("l1, 2 dimensions", "the paper's", 0)
    'l1_2_dimensions-the_papers-0.json'
    """
    return "-".join(re.sub(r"[^\w()-]+", "", str(key).replace(" ", "_")) for key in keys) + ".json"


def results(measurements: Sequence[Measurement], *, verbose: bool = False, jobs: int = 1) -> list[Any]:
    """Measure what has no stored result, in up to `jobs` processes; return all results."""
    missing = [one for one in measurements if not one.record()]
    n_runs = len(measurements)
    with ProgressDisplay("finished", "runs", n_runs, done=n_runs - len(missing), shown=verbose) as progress:
        run_tasks(_store, missing, jobs, progress)
    return [one.record()["result"] for one in measurements]


def _store(one: Measurement) -> None:
    record = {"settings": one.settings, "result": one.measure(), **environment()}
    write_text(one.path, json.dumps(record))
