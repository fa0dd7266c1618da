"""Vectors from files: the same rows and blocks from all formats."""

from collections.abc import Callable, Sequence
from pathlib import Path

from proxcode.files._arrays import ARRAY_FORMATS, KEYED_FORMATS, ArrayVectors
from proxcode.files._arrow import ARROW_FORMATS, ArrowVectors
from proxcode.files._base import Choice, Column, FilePath, Vectors, by_suffix, existing_file
from proxcode.files._text import DELIMITERS, TextVectors
from proxcode.storage.container import kind_of

VECTOR_FORMATS: dict[str, Callable[[Path, Choice], Vectors]] = {
    **dict.fromkeys(ARRAY_FORMATS, ArrayVectors),
    **dict.fromkeys(DELIMITERS, TextVectors),
    **dict.fromkeys(ARROW_FORMATS, ArrowVectors),
}


def open_vectors(
    path: FilePath,
    *,
    key: str | None = None,
    columns: Sequence[Column] | str | None = None,
    drop: Sequence[Column] | str = (),
) -> Vectors:
    r"""Open a file of vectors, one per row; the suffix determines the format.

    Parameters
    ----------
    path : path
        A file `.npy`, `.npz`, `.safetensors`, `.h5`, `.hdf5`, `.fvecs`, `.bvecs`, `.ivecs`, `.csv`, `.tsv`, `.parquet`,
        `.arrow` or `.feather`.
    key : str, default=None
        Name of the array in an npz, safetensors or HDF5 file. None takes the only array of two dimensions.
    columns : sequence of str or int, or one str, default=None
        Columns to take, by name or by number from 0. None takes all columns of a matrix or a text file; a column of
        text then raises an error, because skipping it would hide a misspelt number. None takes from Parquet and Arrow
        files, whose columns have types, the column of lists of numbers or else all columns of numbers.
    drop : sequence of str or int, or one str, default=()
        Columns to drop from those.

    Returns
    -------
    Vectors
        With `n_rows`, `n_columns`, `dtype`, `blocks(size, start)` and `read()`.

    Notes
    -----
    The first row of a text file holds column names if one of its cells is not a number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "samples.csv")
    ...     _ = path.write_text("x,y,label\n0,1,cat\n2,3,dog\n")
    ...     open_vectors(path, drop=["label"]).read()
    array([[0., 1.],
           [2., 3.]])
    """
    path = existing_file(path)
    vectors = by_suffix(path, VECTOR_FORMATS)
    if key is not None and path.suffix.lower() not in KEYED_FORMATS:
        raise ValueError(f"key={key!r}: {path} has no keys; only npz, safetensors and HDF5 files have.")
    choice = Choice(key, [columns] if isinstance(columns, str) else columns, [drop] if isinstance(drop, str) else drop)
    return vectors(path, choice)


def holds_vectors(path: Path) -> bool:
    """Return whether a file holds vectors by its suffix, and is not a model, an index or a checkpoint."""
    suffix = path.suffix.lower()
    if suffix != ".safetensors":
        return suffix in VECTOR_FORMATS
    try:
        kind_of(path)
    except (ValueError, OSError):
        return True
    return False
