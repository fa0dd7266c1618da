"""Vectors from files: one class for each format, the same rows and blocks from all."""

from collections.abc import Callable, Sequence
from pathlib import Path

from proxcode.files._arrays import HDF5Vectors, NpyVectors, NpzVectors, SafetensorsVectors, TexmexVectors
from proxcode.files._arrow import ArrowVectors
from proxcode.files._base import Choice, FilePath, Vectors, by_suffix, existing_file
from proxcode.files._text import TextVectors

VECTOR_FORMATS: dict[str, Callable[[Path, Choice], Vectors]] = {
    ".npy": NpyVectors,
    ".npz": NpzVectors,
    ".safetensors": SafetensorsVectors,
    ".h5": HDF5Vectors,
    ".hdf5": HDF5Vectors,
    ".fvecs": TexmexVectors,
    ".bvecs": TexmexVectors,
    ".ivecs": TexmexVectors,
    ".csv": TextVectors,
    ".tsv": TextVectors,
    ".parquet": ArrowVectors,
    ".arrow": ArrowVectors,
    ".feather": ArrowVectors,
}


def open_vectors(
    path: FilePath,
    *,
    key: str | None = None,
    columns: Sequence[str | int] | str | None = None,
    drop: Sequence[str | int] | str = (),
) -> Vectors:
    r"""Open a table of vectors, one in each row; the format goes by the suffix.

    Parameters
    ----------
    path : path
        A file `.npy`, `.npz`, `.safetensors`, `.h5`, `.hdf5`, `.fvecs`, `.bvecs`, `.ivecs`, `.csv`, `.tsv`, `.parquet`,
        `.arrow` or `.feather`.
    key : str, default=None
        Which array of an npz, safetensors or HDF5 file; None is the only one of two dimensions.
    columns : sequence of str or int, or one str, default=None
        Columns to take, by name or by number from 0. None takes all of a matrix or a text file: a column of text is
        refused there, not left out, for one misspelt number would otherwise cost a column. Of Parquet and Arrow files,
        whose columns have types, None takes the one column of lists of numbers, or else all columns of numbers.
    drop : sequence of str or int, or one str, default=()
        Columns to leave out of those.

    Returns
    -------
    Vectors
        With `n_rows`, `n_columns`, `dtype`, `blocks(size, start)` and `read()`.

    Notes
    -----
    The first row of a text file holds names if one of its cells is not a number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "points.csv")
    ...     _ = path.write_text("x,y,label\n0,1,cat\n2,3,dog\n")
    ...     open_vectors(path, drop=["label"]).read()
    array([[0., 1.],
           [2., 3.]])
    """
    path = existing_file(path)
    choice = Choice(key, [columns] if isinstance(columns, str) else columns, [drop] if isinstance(drop, str) else drop)
    return by_suffix(path, VECTOR_FORMATS)(path, choice)
