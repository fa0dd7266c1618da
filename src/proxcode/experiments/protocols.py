"""Splits of datasets, and how codes are judged on them.

- labels: random test points, all others to train; test against test, self-pairs left out, near by label,
- train-base: the same split; the training points are the base, the test points the queries,
- unseen: train on some classes, retrieve among points of the others, self-pairs left out,
- radius: near is within the radius at which training points have so many neighbours on average; the training points are
  the base. "radius-unit" first takes off the training mean and scales rows to unit norm, as the MLH benchmark does.

The seed draws the split.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.datasets import Dataset, load
from proxcode.hamming import Codes, distances, pack
from proxcode.metrics import Counts, ranking_counts
from proxcode.proximity import Proximity, WithinRadius
from proxcode.utils.blocks import map_blocks

Matrix = NDArray[Any]
QUERY_BLOCK = 128
NEAR, FAR, NONE = 0, 1, 2


class Size(NamedTuple):
    """Points of a split; None is all that are left."""

    n_train: int | None
    n_test: int


QUICK = Size(1500, 300)


class Split(ABC):
    """What a method learns from, and how its codes are judged.

    Attributes
    ----------
    train, test : ndarrays
    labels : ndarray or None
        Of the training points.
    proximity : Proximity or None
        What near means, where it is not by labels.
    rows : dict of str to ndarray
        The rows of the dataset that the points are, to be saved with results.
    """

    train: Matrix
    test: Matrix
    labels: Matrix | None = None
    proximity: Proximity | None = None
    rows: dict[str, NDArray[np.int64]]

    def encode(self, model: Any) -> tuple[Codes, ...]:
        """Return the bits that `counts` takes, whole or shortened."""
        return (model.transform(self.test),)

    @abstractmethod
    def counts(self, *bits: Codes) -> tuple[Counts, Counts]:
        """Count near and far points by Hamming distance, for each query."""

    @property
    @abstractmethod
    def base(self) -> Matrix:
        """The points that the test points are compared with."""

    @abstractmethod
    def kinds(self, queries: slice) -> NDArray[np.int8]:
        """Return what each pair of some test points and the base is, shape (n_queries, n_base): NEAR, FAR or NONE."""


class TestAgainstTest(Split):
    """Points of the same label are near; each test point queries all others."""

    __test__ = False  # for pytest

    def __init__(self, X: Matrix, y: Matrix, train: NDArray[np.int64], test: NDArray[np.int64]) -> None:
        self.train, self.labels, self.test, self.test_labels = X[train], y[train], X[test], y[test]
        self.rows = {"train": train, "test": test}

    def counts(self, *bits: Codes) -> tuple[Counts, Counts]:
        """Count among the test points."""
        codes = pack(bits[0])
        return ranking_counts(codes, codes, self.test_labels, self.test_labels, same_set=True)

    @property
    def base(self) -> Matrix:
        """The test points themselves."""
        return self.test

    def kinds(self, queries: slice) -> NDArray[np.int8]:
        """Near is of the same label; a point and itself are no pair."""
        kinds = np.where(self.test_labels[queries, None] == self.test_labels, NEAR, FAR).astype(np.int8)
        np.fill_diagonal(kinds[:, queries], NONE)
        return kinds


class TestAgainstTrain(TestAgainstTest):
    """The same with the training points as the base."""

    def encode(self, model: Any) -> tuple[Codes, ...]:
        """Return the bits of queries and base."""
        return model.transform(self.test), model.transform(self.train)

    def counts(self, *bits: Codes) -> tuple[Counts, Counts]:
        """Count among the training points."""
        assert self.labels is not None
        return ranking_counts(pack(bits[0]), pack(bits[1]), self.test_labels, self.labels)

    @property
    def base(self) -> Matrix:
        """The training points."""
        return self.train

    def kinds(self, queries: slice) -> NDArray[np.int8]:
        """Near is of the same label."""
        return np.where(self.test_labels[queries, None] == self.labels, NEAR, FAR).astype(np.int8)


class WithinRadiusOfTest(Split):
    """Training points within the radius of a test point are near."""

    def __init__(self, train: Matrix, test: Matrix, mean_neighbors: float, rows: dict[str, NDArray[np.int64]]) -> None:
        from scipy.spatial.distance import cdist

        self.train, self.test, self.rows = train, test, rows
        self.proximity = WithinRadius(mean_neighbors=mean_neighbors)
        radius = self.proximity.fit(train).radius_
        blocks = map_blocks(lambda some: cdist(test[some], train) <= radius, len(test), QUERY_BLOCK)
        self.near = [np.flatnonzero(row) for _, block in blocks for row in block]

    def encode(self, model: Any) -> tuple[Codes, ...]:
        """Return the bits of queries and base."""
        return model.transform(self.test), model.transform(self.train)

    def counts(self, *bits: Codes) -> tuple[Counts, Counts]:
        """Count among the training points."""
        queries, base = pack(bits[0]), pack(bits[1])
        n_distances = 8 * base.shape[1] + 1
        near, found = np.zeros((2, len(queries), n_distances), np.int64)
        for start in range(0, len(queries), QUERY_BLOCK):
            block = distances(queries[start : start + QUERY_BLOCK], base)
            for query, row in enumerate(block, start=start):
                near[query] = np.bincount(row[self.near[query]], minlength=n_distances)
                found[query] = np.bincount(row, minlength=n_distances)
        return near, found - near

    @property
    def base(self) -> Matrix:
        """The training points."""
        return self.train

    def kinds(self, queries: slice) -> NDArray[np.int8]:
        """Near is within the radius."""
        near = self.near[queries]
        kinds = np.full((len(near), len(self.train)), FAR, np.int8)
        for row, of_query in zip(kinds, near, strict=True):
            row[of_query] = NEAR
        return kinds


def labels_split(
    dataset: str, seed: int, size: Size, kind: Callable[..., Split] = TestAgainstTest, unit_rows: bool = False
) -> Split:
    """Draw test points; train on the others."""
    data = load(dataset)
    order = np.random.default_rng(seed).permutation(len(data.X))
    train, test = order[size.n_test :][: size.n_train], order[: size.n_test]
    return kind(_unit(data.X) if unit_rows else data.X, _labels(data), train, test)


def unseen_split(dataset: str, seed: int, size: Size, n_seen: int) -> Split:
    """Train on some classes, judge among the others."""
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
    """Draw training and test points; near by distance."""
    data = load(dataset)
    order = np.random.default_rng(seed).permutation(len(data.X))
    rows = {"train": order[size.n_test :][: size.n_train], "test": order[: size.n_test]}
    train, test = data.X[rows["train"]], data.X[rows["test"]]
    if n_components is not None:
        from sklearn.decomposition import PCA

        pca = PCA(n_components, svd_solver="covariance_eigh").fit(train)
        train, test = pca.transform(train), pca.transform(test)
    if unit_rows:
        mean = train.mean(axis=0)
        train, test = _unit(train - mean), _unit(test - mean)
    return WithinRadiusOfTest(train, test, min(mean_neighbors, len(train) / 10), rows)


def _labels(data: Dataset) -> Matrix:
    if data.y is None:
        raise ValueError(f"{data.name} has no labels: judge it by a radius.")
    return data.y


def _unit(X: Matrix) -> Matrix:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


class Protocol(NamedTuple):
    """A named way to split a dataset and to judge codes.

    Attributes
    ----------
    split : function of seed and size
    size : Size
        Of the whole experiment.
    """

    split: "partial[Split]"
    size: Size

    def __str__(self) -> str:
        """Return what the split is, but for size and seed."""
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
