"""Protocols: how a dataset is split, and which pairs of queries and base samples are near.

- labels: random test samples, all others for training; the test samples are queries and base, near means same label,
- train-base: the same split; the test samples are the queries and the training samples the base,
- unseen: training on some of the classes; the samples of the other classes are queries and base,
- radius: near means within the radius at which training samples have a given mean number of neighbours; the test
  samples are the queries and the training samples the base. "radius-unit" first subtracts the training mean and scales
  samples to unit norm, as in the MLH benchmark.

The seed determines the split.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.datasets import Dataset, load
from proxcode.metrics import QUERY_BLOCK
from proxcode.proximity import Proximity, WithinRadius
from proxcode.utils.blocks import map_blocks

Matrix = NDArray[Any]
Index = NDArray[np.int64]


class Size(NamedTuple):
    """Numbers of samples of a split; None: all remaining samples."""

    n_train: int | None
    n_test: int


QUICK = Size(1500, 300)


class Split(ABC):
    """Training samples, and test samples that are compared with base samples.

    Attributes
    ----------
    train, test, base : ndarrays of shape (n, n_features)
        The test samples are the queries.
    labels : ndarray or None
        Labels of the training samples.
    proximity : Proximity or None
        Proximity to learn; None: by labels.
    own_columns : ndarray or None
        Place of each query in the base, where a query does not count as its own neighbour; None: no query belongs to
        the base.
    rows : dict of str to ndarray
        Row numbers of the samples in the dataset, stored with the results.
    """

    train: Matrix
    test: Matrix
    base: Matrix
    labels: Matrix | None = None
    proximity: Proximity | None = None
    own_columns: Index | None = None
    rows: dict[str, Index]

    @abstractmethod
    def near_rows(self, queries: slice) -> NDArray[np.bool_]:
        """Mark the near base samples of a slice of the queries; shape (n_queries, n_base)."""


class ByLabel(Split):
    """Samples of the same label are near."""

    base_labels: Matrix

    def __init__(self, X: Matrix, y: Matrix, train: Index, test: Index) -> None:
        self.train, self.labels, self.test, self.test_labels = X[train], y[train], X[test], y[test]
        self.rows = {"train": train, "test": test}

    def near_rows(self, queries: slice) -> NDArray[np.bool_]:
        """Compare labels."""
        return self.test_labels[queries, None] == self.base_labels


class TestAgainstTest(ByLabel):
    """Each test sample is a query to all other test samples."""

    __test__ = False  # not a test of pytest

    def __init__(self, X: Matrix, y: Matrix, train: Index, test: Index) -> None:
        super().__init__(X, y, train, test)
        self.base, self.base_labels, self.own_columns = self.test, self.test_labels, np.arange(len(test))


class TestAgainstTrain(ByLabel):
    """Each test sample is a query to all training samples."""

    __test__ = False  # not a test of pytest

    def __init__(self, X: Matrix, y: Matrix, train: Index, test: Index) -> None:
        super().__init__(X, y, train, test)
        self.base, self.base_labels = self.train, y[train]


class WithinRadiusOfTest(Split):
    """Training samples within the radius of a test sample are near."""

    def __init__(self, train: Matrix, test: Matrix, mean_neighbors: float, rows: dict[str, Index]) -> None:
        from scipy.spatial.distance import cdist

        self.train, self.test, self.base, self.rows = train, test, train, rows
        self.proximity = WithinRadius(mean_neighbors=mean_neighbors)
        radius = self.proximity.fit(train).radius_
        blocks = map_blocks(lambda some: cdist(test[some], train) <= radius, len(test), QUERY_BLOCK)
        self._neighbors = [np.flatnonzero(row) for _, block in blocks for row in block]

    def near_rows(self, queries: slice) -> NDArray[np.bool_]:
        """Look up the lists of neighbours within the radius."""
        neighbors = self._neighbors[queries]
        near = np.zeros((len(neighbors), len(self.base)), bool)
        for row, columns in zip(near, neighbors, strict=True):
            row[columns] = True
        return near


def labels_split(
    dataset: str, seed: int, size: Size, kind: Callable[..., Split] = TestAgainstTest, unit_rows: bool = False
) -> Split:
    """Draw test samples at random; the others are the training samples."""
    data = load(dataset)
    rows = _draw(data, seed, size)
    return kind(_unit(data.X) if unit_rows else data.X, _labels(data), rows["train"], rows["test"])


def unseen_split(dataset: str, seed: int, size: Size, n_seen: int) -> Split:
    """Draw n_seen of the classes for training; the samples of the other classes are the test samples."""
    data = load(dataset)
    y = _labels(data)
    rng = np.random.default_rng(seed)
    is_seen = np.isin(y, rng.permutation(np.unique(y))[:n_seen])
    order = rng.permutation(len(data.X))
    train, test = order[is_seen[order]][: size.n_train], order[~is_seen[order]][: size.n_test]
    return TestAgainstTest(data.X, y, train, test)


def radius_split(
    dataset: str,
    seed: int,
    size: Size,
    mean_neighbors: float,
    n_components: int | None = None,
    unit_rows: bool = False,
) -> Split:
    """Draw training and test samples at random; near means within a radius."""
    data = load(dataset)
    rows = _draw(data, seed, size)
    train, test = data.X[rows["train"]], data.X[rows["test"]]
    if n_components is not None:
        from sklearn.decomposition import PCA

        pca = PCA(n_components, svd_solver="covariance_eigh").fit(train)
        train, test = pca.transform(train), pca.transform(test)
    if unit_rows:
        mean = train.mean(axis=0)
        train, test = _unit(train - mean), _unit(test - mean)
    return WithinRadiusOfTest(train, test, min(mean_neighbors, len(train) / 10), rows)


def _draw(data: Dataset, seed: int, size: Size) -> dict[str, Index]:
    order = np.random.default_rng(seed).permutation(len(data.X))
    return {"train": order[size.n_test :][: size.n_train], "test": order[: size.n_test]}


def _labels(data: Dataset) -> Matrix:
    if data.y is None:
        raise ValueError(f"dataset {data.name!r} has no labels: use a radius protocol.")
    return data.y


def _unit(X: Matrix) -> Matrix:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


class Protocol(NamedTuple):
    """A kind of split of a dataset, and its size.

    Attributes
    ----------
    split : function of seed and size
    size : Size
        Size of the full experiment.
    """

    split: "partial[Split]"
    size: Size

    def __str__(self) -> str:
        """Return a description of the split without size and seed."""
        settings = {name: getattr(value, "__name__", value) for name, value in sorted(self.split.keywords.items())}
        return f"{self.split.func.__name__} {' '.join(self.split.args)} {settings}"


_CIFAR_PCA: dict[str, Any] = {"mean_neighbors": 100, "n_components": 40}
PROTOCOLS: dict[str, Protocol] = {
    "labels cifar10-gist": Protocol(partial(labels_split, "cifar10-gist"), Size(None, 1000)),
    "timing cifar10-gist": Protocol(partial(labels_split, "cifar10-gist"), Size(10_000, 10_000)),
    "labels mnist": Protocol(partial(labels_split, "mnist"), Size(None, 1000)),
    "labels banking77": Protocol(partial(labels_split, "banking77"), Size(None, 1000)),
    "labels digits": Protocol(partial(labels_split, "digits"), Size(None, 500)),
    "train-base mnist": Protocol(
        partial(labels_split, "mnist", kind=TestAgainstTrain, unit_rows=True), Size(5000, 1000)
    ),
    "radius cifar10-gist": Protocol(partial(radius_split, "cifar10-gist", **_CIFAR_PCA), Size(20_019, 2000)),
    "radius-unit cifar10-gist": Protocol(
        partial(radius_split, "cifar10-gist", **_CIFAR_PCA, unit_rows=True), Size(20_019, 2000)
    ),
    "radius scene15-gist": Protocol(partial(radius_split, "scene15-gist", mean_neighbors=50), Size(4000, 485)),
    "radius-unit scene15-gist": Protocol(
        partial(radius_split, "scene15-gist", mean_neighbors=50, unit_rows=True), Size(4000, 485)
    ),
    "radius notredame-sift": Protocol(partial(radius_split, "notredame-sift", mean_neighbors=100), Size(20_000, 2000)),
    "unseen cifar10-gist": Protocol(partial(unseen_split, "cifar10-gist", n_seen=7), Size(None, 2000)),
    "unseen mnist": Protocol(partial(unseen_split, "mnist", n_seen=7), Size(None, 2000)),
    "unseen banking77": Protocol(partial(unseen_split, "banking77", n_seen=55), Size(None, 2000)),
}
