"""Codes of many files, computed here or on a cluster, one Parquet file of codes for each file of vectors.

1. The inputs are listed, and each gets a name in the output folder; names that would collide are refused.
2. An output whose stamp (`files/codes.py`) names the same model, options and content of its input is finished already.
3. Each other file is one task of an engine. A worker has the model, reads its input, and writes its output atomically.
4. A file that cannot be encoded is set aside with the reason, and tried again by the next run.
5. `manifest.json` lists what is finished and what was set aside. It is written from time to time and at the end; what a
   killed run did not list is found by step 2.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from proxcode.encoding.manifest import Manifest
from proxcode.encoding.task import EncodeFile, Task, described
from proxcode.files import VECTOR_FORMATS, Column, FilePath, is_empty, list_files
from proxcode.storage.atomic import is_disk_error, resume_note
from proxcode.storage.listing import fixed_part
from proxcode.utils.engine import LOCAL, Engine
from proxcode.utils.progress import ProgressDisplay
from proxcode.utils.validation import check_integer

if TYPE_CHECKING:
    from proxcode.pipeline import Model


class EncodedFiles(NamedTuple):
    """What `encode_files` wrote.

    Attributes
    ----------
    outputs : list of Path
        Files of codes that are finished, in the order of their inputs.
    rows : int
        Number of codes in them.
    n_bits : int
    n_kept : int
        Number of them that an earlier run had finished.
    failed : dict of Path to str
        Inputs that were set aside, and why.
    manifest : Path
    """

    outputs: list[Path]
    rows: int
    n_bits: int
    n_kept: int
    failed: dict[Path, str]
    manifest: Path


def encode_files(
    model: Model,
    source: Any,
    output: FilePath,
    *,
    key: str | None = None,
    columns: Sequence[Column] | str | None = None,
    drop: Sequence[Column] | str = (),
    n_bits: int | None = None,
    code_column: str = "code",
    engine: Engine | None = None,
    overwrite: bool = False,
    progress: bool = False,
) -> EncodedFiles:
    """Write the codes of many files to a folder, one Parquet file for each file of vectors.

    An output has a column of codes, of packed bytes as `model.encode` gives them, after all columns of a Parquet or
    Arrow file that are not vectors, or after a column `row` of row numbers for other files. Finished files are not
    encoded again unless their input has changed: after an interruption the same call resumes.

    Parameters
    ----------
    model : ProximityPreservingCode or CodePipeline
    source : path, sequence of paths, or pyarrow.dataset.Dataset
        Files, folders and patterns such as `vectors/*.parquet`.
    output : path
        Folder to write to; it is made if it does not exist.
    key, columns, drop
        The vectors of a file, as in `proxcode.files.open_vectors`.
    n_bits : int, default=None
        Number of leading bits to write; None is all.
    code_column : str, default="code"
        Name of the column of codes.
    engine : Engine, default=None
        Where files are encoded. None: in this process, one after another. See `proxcode.engines`.
    overwrite : bool, default=False
        Whether outputs of another model, of other options or of other inputs are replaced; if not, they raise a
        FileExistsError.
    progress : bool, default=False
        Show the number of finished files on standard error.

    Returns
    -------
    EncodedFiles
        Its `failed` names the files that could not be encoded; the others are finished.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from proxcode import ProximityPreservingCode
    >>> X = np.random.default_rng(0).normal(size=(300, 8))
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "a.npy"), X[:100])
    ...     np.save(Path(folder, "b.npy"), X[100:])
    ...     encoded = encode_files(model, f"{folder}/*.npy", f"{folder}/codes")
    >>> [path.name for path in encoded.outputs], encoded.rows, encoded.failed
    (['a.parquet', 'b.parquet'], 300, {})
    """
    outputs = plan_outputs(source, output)

    from sklearn.utils.validation import check_is_fitted

    from proxcode.hashing.encoder import without_codes

    if not hasattr(model, "fingerprint"):
        raise TypeError(f"model={model!r}: expected a fitted ProximityPreservingCode or CodePipeline.")
    check_is_fitted(model, "n_bits_")
    n_bits = model.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, model.n_bits_)
    chosen, dropped = ([names] if isinstance(names, str) else names for names in (columns, drop))
    choice = {
        "key": key,
        "columns": None if chosen is None else list(chosen),
        "drop": [] if dropped is None else list(dropped),
        "code_column": code_column,
    }
    settings = {"model": model.fingerprint(n_bits), "n_bits": str(n_bits), "choice": json.dumps(choice)}
    tasks = {path: Task.of(path, target, settings) for path, target in outputs.items()}
    folder = Path(output).absolute()
    manifest = Manifest.read(folder, settings, {task.name for task in tasks.values()}, overwrite)
    finished = {path: found for path, task in tasks.items() if (found := task.finished()) is not None}
    todo = [task.checked(overwrite) for path, task in tasks.items() if path not in finished]
    folder.mkdir(parents=True, exist_ok=True)
    for path, found in finished.items():
        manifest.add(tasks[path], manifest.known(tasks[path]) or described(outputs[path], found.rows))
    try:
        manifest.write()
        with ProgressDisplay("encoded", "files", len(tasks), done=len(finished), shown=progress) as display:
            encode = EncodeFile(without_codes(model), n_bits, choice)
            results = (engine or LOCAL).map(encode, todo) if todo else []
            for task, result in zip(todo, results, strict=True):
                manifest.add(task, result)
                manifest.write_if_due()
                display.update()
    except OSError as error:
        if is_disk_error(error):
            error.add_note(resume_note(error))
        raise
    finally:
        manifest.write()
    done = [task for task in tasks.values() if task.name in manifest.files]
    return EncodedFiles(
        outputs=[Path(task.output) for task in done],
        rows=sum(manifest.files[task.name]["rows"] for task in done),
        n_bits=n_bits,
        n_kept=len(finished),
        failed={path: manifest.failed[task.path] for path, task in tasks.items() if task.path in manifest.failed},
        manifest=manifest.path,
    )


def plan_outputs(source: Any, output: FilePath) -> dict[Path, Path]:
    """Return the output of each input; raise an error for inputs and a folder that do not fit together."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: the codes of many files are written to a folder; name another.")
    if not folder.exists() and folder.suffix.lower() in VECTOR_FORMATS:
        raise ValueError(f"{folder} is the name of a file: the codes of many files are written to a folder; name one.")
    is_many = isinstance(source, Iterable) and not isinstance(source, str) and not hasattr(source, "schema")
    sources = list(source) if is_many else [source]
    if not sources:
        raise ValueError("the list of files is empty: name at least one.")
    inputs = {file.absolute(): None for given in sources for file in list_files(given)}
    if len(inputs) > 1:
        # Not parts without rows, as Spark writes them.
        inputs = {file: None for file in inputs if not _has_no_rows(file)} or inputs
    resolved = folder.resolve()
    for given in sources:
        if isinstance(given, str | os.PathLike) and (root := _root(Path(given))) and resolved.is_relative_to(root):
            raise ValueError(f"the output folder {folder} lies in the input {given}: choose a folder outside.")
    outputs: dict[Path, Path] = {}
    inputs_of: dict[Path, Path] = {}
    for path in inputs:
        target = folder.absolute() / f"{path.stem}.parquet"
        if path.resolve().is_relative_to(resolved):
            raise ValueError(f"the input {path} lies in the output folder {folder}: choose another folder.")
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}: check its name and folder.")
        if target in inputs_of:
            raise ValueError(
                f"the codes of {inputs_of[target]} and of {path} would both be {target.name}: rename one of them, or "
                "encode them to two folders."
            )
        outputs[path], inputs_of[target] = target, path
    return outputs


def _has_no_rows(path: Path) -> bool:
    """Return whether a file has no rows; a file that cannot be read is not one of these, and is set aside later."""
    try:
        return is_empty(path)
    except (ValueError, OSError):
        return False


def _root(path: Path) -> Path | None:
    """Return the folder all of whose files a folder or a pattern with ** may take, None for any other source."""
    if path.is_dir():
        return path.resolve()
    if "**" not in path.parts or path.exists():
        return None
    return fixed_part(path).resolve()
