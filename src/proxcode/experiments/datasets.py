"""Datasets by name: `load("mnist")`.

A dataset that is stored in a file is searched in this order:

1. the folder of the environment variable PROXCODE_DATA,
2. the cache folder: PROXCODE_CACHE, or the subfolder proxcode of XDG_CACHE_HOME or ~/.cache,
3. OpenML, if the dataset is available there; the download is verified and stored in the cache folder.

Both folders hold the same `.npz` files with the arrays `x` (n_samples, n_features), if available the labels `y`, and
`is_train` or `n_train`, the number of training samples, which come first.
"""

import hashlib
import os
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from proxcode.storage.atomic import atomic_write

Arrays = dict[str, NDArray[Any]]


class Dataset(NamedTuple):
    """Samples, with their labels and their usual split if they have one."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int64] | None
    is_train: NDArray[np.bool_] | None
    about: str

    @property
    def labels(self) -> NDArray[np.int64]:
        """The labels y; raises ValueError if there are none."""
        if self.y is None:
            raise ValueError(f"dataset {self.name!r} has no labels: use a protocol with near by a radius.")
        return self.y


def load(name: str) -> Dataset:
    """Load a dataset.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.

    Returns
    -------
    Dataset
        X is float32 of shape (n_samples, n_features), y integer or None, is_train boolean or None. `about` names the
        source.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.X.shape, digits.X.dtype, digits.is_train
    ((1797, 64), dtype('float32'), None)
    """
    if name not in DATASETS:
        raise ValueError(f"name={name!r}: expected one of {', '.join(DATASETS)}.")
    return DATASETS[name]()


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    about = "1,797 handwritten digits of 8 x 8 pixels, UCI, bundled with scikit-learn"
    return Dataset("digits", X.astype(np.float32), y.astype(np.int64), None, about)


def _uniform() -> Dataset:
    X = np.random.default_rng(0).random((4000, 10)) - 0.5
    about = "4,000 uniform samples in 10 dimensions, as in the benchmark of MLH (Norouzi and Fleet, 2011); generated"
    return Dataset("uniform-10d", X.astype(np.float32), None, np.arange(len(X)) < 1000, about)


def _from_file(name: str) -> Dataset:
    file, about = _FILES[name]
    arrays = _arrays(name, file)
    X = arrays["base" if name == "sift10k" else "x"].astype(np.float32)
    y = arrays["y"].astype(np.int64) if "y" in arrays else None
    is_train = np.arange(len(X)) < arrays["n_train"] if "n_train" in arrays else arrays.get("is_train")
    return Dataset(name, X, y, is_train, about)


# File and description of each dataset that is stored in a file.
_FILES = {
    "mnist": ("mnist.npz", "70,000 handwritten digits of 28 x 28 pixels (LeCun et al., 1998); OpenML 554"),
    "fashion-mnist": ("fashion_mnist.npz", "70,000 images of clothing, 28 x 28 (Xiao et al., 2017); OpenML 40996"),
    "cifar10-gist": (
        "cifar10_gist512.npz",
        "GIST of 60,000 photographs of 32 x 32 pixels in 10 classes (Krizhevsky, 2009); images from OpenML 40927",
    ),
    "scene15-gist": ("scene15_gist512.npz", "GIST of 4,485 photographs of 15 kinds of scene (Lazebnik et al., 2006)"),
    "banking77": (
        "banking77_use512.npz",
        "sentence embeddings of 13,083 questions to a bank with 77 intents (Casanueva et al., 2020); CC BY 4.0",
    ),
    "notredame-sift": (
        "notredame_sift128.npz",
        "SIFT of 103,936 Photo Tourism patches (Winder and Brown, 2007), for Notredame of the benchmark of MLH",
    ),
    "nursery": ("nursery.npz", "12,960 applications to nursery schools, 8 ordinal attributes, 5 classes; UCI"),
    "sift10k": ("sift10k.npz", "10,000 SIFT descriptors, the base of a small benchmark whose queries are among them"),
}
DATASETS: dict[str, Callable[[], Dataset]] = {
    "digits": _digits,
    **{name: partial(_from_file, name) for name in _FILES},
    "uniform-10d": _uniform,
}


def _arrays(name: str, file: str) -> Arrays:
    """Return the arrays of a file from the first source that has it; downloads are stored in the cache folder."""
    cache = _cache_folder()
    folders = [cache]
    if value := os.environ.get("PROXCODE_DATA"):
        folders.insert(0, Path(value).expanduser())
        # Without this check a misspelt folder would start a download.
        if not folders[0].is_dir():
            raise NotADirectoryError(f"PROXCODE_DATA={value}: expected an existing folder; correct it or unset it.")
    for path in (folder / file for folder in folders):
        if path.is_file():
            try:
                with path.open("rb") as opened, np.load(opened) as arrays:
                    return dict(arrays)
            except (OSError, ValueError, EOFError, BadZipFile) as error:
                raise ValueError(f"{path} cannot be read ({error}): copy it again or delete it.") from error
    if file not in (*_OPENML, "cifar10_gist512.npz"):
        raise FileNotFoundError(
            f"dataset {name!r}: {file} was not found and cannot be downloaded; set PROXCODE_DATA to a folder that "
            f"contains it, or copy it to {cache}."
        )
    # Created before the download, which could not be stored otherwise.
    cache.mkdir(parents=True, exist_ok=True)
    made = _downloaded(_OPENML[file], name) if file in _OPENML else _cifar10_gist(name)
    write_arrays(cache / file, made)
    return made


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write an `.npz` file atomically."""
    with atomic_write(path) as partial_file, partial_file.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # NumPy 2.0 has no `allow_pickle`


def _cache_folder() -> Path:
    if value := os.environ.get("PROXCODE_CACHE"):
        return Path(value).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "proxcode"


class _Source(NamedTuple):
    """Images on OpenML, the training images first; SHA-256 of their bytes and those of the labels, if known."""

    name: str
    data_id: int
    shape: tuple[int, int]
    n_train: int
    digest: str | None = None


_OPENML = {
    "mnist.npz": _Source(
        "mnist_784", 554, (70_000, 784), 60_000, "c2069063c1105f2bf96266aef1ff68c6e13bdda7a54e37bf19c16f1db24efc83"
    ),
    # The digests of these two are not known. They are verified by shape and range, and their order by the training
    # images, which are equally many of each class: in another order they hardly would be.
    "fashion_mnist.npz": _Source("Fashion-MNIST", 40996, (70_000, 784), 60_000),
    "cifar10_raw.npz": _Source("CIFAR_10", 40927, (60_000, 3072), 50_000),
}


def _downloaded(source: _Source, name: str) -> Arrays:
    """Return verified images and labels as bytes; without `n_train` if they are not in the usual order."""
    from sklearn.datasets import fetch_openml

    about = f"OpenML {source.data_id} ({source.name})"
    remedy = f"try again, or set PROXCODE_DATA to a folder that contains {_FILES[name][0]}."
    # The parser liac-arff is slower, but does not need pandas.
    parser = "auto" if find_spec("pandas") else "liac-arff"
    try:
        values, labels = fetch_openml(
            data_id=source.data_id, as_frame=False, return_X_y=True, parser=parser, cache=False
        )
    except (OSError, ValueError, HTTPException) as error:
        raise ConnectionError(
            f"{name} is neither in PROXCODE_DATA nor in {_cache_folder()}, and {about} could not be downloaded "
            f"({error}): {remedy}"
        ) from error
    # Values that a byte cannot hold are detected below.
    with np.errstate(invalid="ignore"):
        x, y = values.astype(np.uint8), labels.astype(np.uint8)
    if x.shape != source.shape or y.shape != x.shape[:1] or not np.array_equal(x, values):
        raise ValueError(
            f"{about} for {name} has shape {x.shape} and values from {values.min():g} to {values.max():g}; expected "
            f"shape {source.shape} and integers from 0 to 255: {remedy}"
        )
    if source.digest is not None and _digest(x, y) != source.digest:
        raise ValueError(f"{about} for {name} has SHA-256 {_digest(x, y)}; expected {source.digest}: {remedy}")
    arrays = {"x": x, "y": y}
    if source.digest is not None or len(set(np.bincount(y[: source.n_train]))) == 1:
        arrays["n_train"] = np.array(source.n_train)
    return arrays


def _digest(x: NDArray[np.uint8], y: NDArray[np.uint8]) -> str:
    return hashlib.sha256(x.tobytes() + y.tobytes()).hexdigest()


def _cifar10_gist(name: str) -> Arrays:
    from proxcode.experiments.gist import gist

    raw = _arrays(name, "cifar10_raw.npz")
    planes = raw["x"].reshape(-1, 3, 32, 32)
    return {**raw, "x": gist(planes.transpose(0, 2, 3, 1)).astype(np.float16)}
