"""Protocols: how a dataset is split, and which pairs of queries and base samples are near.

- labels: random test samples, all others for training; the test samples are queries and base, near means same label,
- posteriors: the split of labels, with each sample replaced by the functions of it that PPC's bits are directions of,
  the posteriors of the classes that `KernelHash` learns from all training samples,
- train-base: the same split; the test samples are the queries and the training samples the base,
- unseen: training on some of the classes; the samples of the other classes are queries and base,
- top-k: near means among the 10 nearest base samples; the test samples are the queries and the training samples the
  base,
- radius: near means within the radius at which training samples have a given mean number of neighbours; the test
  samples are the queries and the training samples the base. "radius-unit" first subtracts the training mean and scales
  samples to unit norm, as in the MLH benchmark, and "radius-l1" measures distances by l1,
- ablation: labels or radius as above, of so few samples that many variants of the method can be fitted.

The seed determines the split.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.datasets import Dataset, load
from proxcode.hashing import KernelHash
from proxcode.hashing.training import LabelTraining
from proxcode.metrics import QUERY_BLOCK, Index, NearRows
from proxcode.pairs import SameClassPairs
from proxcode.proximity import Proximity, WithinRadius
from proxcode.utils.blocks import map_blocks

Matrix = NDArray[Any]


class Size(NamedTuple):
    """Numbers of samples of a split; None: all remaining samples."""

    n_train: int | None
    n_test: int


QUICK = Size(1500, 300)


@dataclass(kw_only=True)
class Split:
    """Training samples, and test samples that are compared with base samples.

    Attributes
    ----------
    train, test, base : ndarrays of shape (n, n_features)
        The test samples are the queries.
    near_rows : callable
        Marks the near base samples of a slice of the queries; returns an array of shape (n_queries, n_base).
    rows : dict of str to ndarray
        Row numbers of the training and test samples in the dataset, stored with the results.
    labels, test_labels : ndarrays or None
        Labels of the training and of the test samples.
    proximity : Proximity or None
        Proximity to learn; None: by labels.
    own_columns : ndarray or None
        Place of each query in the base, where a query does not count as its own neighbour; None: no query belongs to
        the base.
    recall_at : tuple of int
        Lengths of rankings whose recall is measured.
    """

    train: Matrix
    test: Matrix
    base: Matrix
    near_rows: NearRows
    rows: dict[str, Index]
    labels: Matrix | None = None
    test_labels: Matrix | None = None
    proximity: Proximity | None = None
    own_columns: Index | None = None
    recall_at: tuple[int, ...] = ()


def labels_split(dataset: str, seed: int, size: Size, base_is_train: bool = False, unit_rows: bool = False) -> Split:
    """Draw test samples at random; the others are the training samples."""
    data = load(dataset)
    X = _unit(data.X) if unit_rows else data.X
    return _by_label(X, data.labels, _draw(data, seed, size), base_is_train)


def posteriors_split(dataset: str, seed: int, size: Size) -> Split:
    """Split as `labels_split` does; the samples become their class posteriors, leave-one-out where they were fitted."""
    split = labels_split(dataset, seed, size)
    hash_function = KernelHash()
    _, class_numbers = np.unique(np.asarray(split.labels), return_inverse=True)
    classes = SameClassPairs(class_numbers).labels()
    training = hash_function.begin(split.train, np.random.default_rng(seed), labels=classes)
    if not isinstance(training, LabelTraining) or hash_function.posteriors_ is None:
        raise ValueError(f"dataset {dataset!r} has too many classes for posteriors: use the protocol 'labels'.")
    test = hash_function.posteriors_(hash_function.label_scores(split.test))
    return replace(split, train=training.basis, test=test, base=test)


def unseen_split(dataset: str, seed: int, size: Size, n_seen: int) -> Split:
    """Draw n_seen of the classes for training; the samples of the other classes are the test samples."""
    data = load(dataset)
    rng = np.random.default_rng(seed)
    is_seen = np.isin(data.labels, rng.permutation(np.unique(data.labels))[:n_seen])
    order = rng.permutation(len(data.X))
    rows = {"train": order[is_seen[order]][: size.n_train], "test": order[~is_seen[order]][: size.n_test]}
    return _by_label(data.X, data.labels, rows)


def top_k_split(dataset: str, seed: int, size: Size, k: int = 10) -> Split:
    """Draw training and test samples at random; near means among the k nearest."""
    data = load(dataset)
    rows = _draw(data, seed, size)
    train, test = data.X[rows["train"]], data.X[rows["test"]]
    mean = train.mean(axis=0)
    centred = train - mean
    norms = (centred * centred).sum(axis=1)

    def nearest(queries: slice) -> Matrix:
        return np.argpartition(norms - 2 * ((test[queries] - mean) @ centred.T), k - 1, axis=1)[:, :k]

    neighbors = np.vstack([block for _, block in map_blocks(nearest, len(test), QUERY_BLOCK)])

    def near_rows(queries: slice) -> NDArray[np.bool_]:
        near = np.zeros((len(neighbors[queries]), len(train)), bool)
        np.put_along_axis(near, neighbors[queries], True, axis=1)
        return near

    recall_at = (k, 4 * k, 10 * k)
    return Split(train=train, test=test, base=train, near_rows=near_rows, rows=rows, recall_at=recall_at)


def radius_split(
    dataset: str,
    seed: int,
    size: Size,
    mean_neighbors: float,
    n_components: int | None = None,
    unit_rows: bool = False,
    metric: str = "euclidean",
) -> Split:
    """Draw training and test samples at random; near means within a radius by a metric of SciPy."""
    from scipy.spatial.distance import cdist

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
    proximity = WithinRadius(mean_neighbors=min(mean_neighbors, len(train) / 10), metric=metric)
    radius = proximity.fit(train).radius_
    blocks = map_blocks(lambda some: cdist(test[some], train, metric) <= radius, len(test), QUERY_BLOCK)
    neighbors = [np.flatnonzero(row) for _, block in blocks for row in block]

    def near_rows(queries: slice) -> NDArray[np.bool_]:
        near = np.zeros((len(neighbors[queries]), len(train)), bool)
        for row, columns in zip(near, neighbors[queries], strict=True):
            row[columns] = True
        return near

    return Split(train=train, test=test, base=train, near_rows=near_rows, rows=rows, proximity=proximity)


def _by_label(X: Matrix, y: Matrix, rows: dict[str, Index], base_is_train: bool = False) -> Split:
    """Return a split with near by label: test samples against the training samples, or against one another."""
    train, test = X[rows["train"]], X[rows["test"]]
    labels, test_labels = y[rows["train"]], y[rows["test"]]
    base, base_labels = (train, labels) if base_is_train else (test, test_labels)
    return Split(
        train=train,
        test=test,
        base=base,
        near_rows=lambda queries: test_labels[queries, None] == base_labels,
        rows=rows,
        labels=labels,
        test_labels=test_labels,
        own_columns=None if base_is_train else np.arange(len(test)),
    )


def _draw(data: Dataset, seed: int, size: Size) -> dict[str, Index]:
    order = np.random.default_rng(seed).permutation(len(data.X))
    return {"train": order[size.n_test :][: size.n_train], "test": order[: size.n_test]}


def _unit(X: Matrix) -> Matrix:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


class Protocol(NamedTuple):
    """A kind of split, a function of seed and size, the size of the full experiment, and whether time is a result.

    Methods whose time is a result run alone on the machine.
    """

    split: "partial[Split]"
    size: Size
    alone: bool = False

    def __str__(self) -> str:
        """Return a description of the split without size and seed."""
        settings = dict(sorted(self.split.keywords.items()))
        return f"{self.split.func.__name__} {' '.join(self.split.args)} {settings}"


_CIFAR_PCA: dict[str, Any] = {"mean_neighbors": 100, "n_components": 40}
PROTOCOLS: dict[str, Protocol] = {
    "labels cifar10-gist": Protocol(partial(labels_split, "cifar10-gist"), Size(None, 1000)),
    "timing cifar10-gist": Protocol(partial(labels_split, "cifar10-gist"), Size(10_000, 10_000), alone=True),
    "timing digits": Protocol(partial(labels_split, "digits"), Size(None, 500), alone=True),
    "labels mnist": Protocol(partial(labels_split, "mnist"), Size(None, 1000)),
    "labels banking77": Protocol(partial(labels_split, "banking77"), Size(None, 1000)),
    "labels digits": Protocol(partial(labels_split, "digits"), Size(None, 500)),
    **{
        f"posteriors {name}": Protocol(partial(posteriors_split, name), Size(None, n_test))
        for name, n_test in (("cifar10-gist", 1000), ("mnist", 1000), ("banking77", 1000), ("digits", 500))
    },
    "train-base mnist": Protocol(partial(labels_split, "mnist", base_is_train=True, unit_rows=True), Size(5000, 1000)),
    "radius cifar10-gist": Protocol(partial(radius_split, "cifar10-gist", **_CIFAR_PCA), Size(20_019, 2000)),
    "radius-unit cifar10-gist": Protocol(
        partial(radius_split, "cifar10-gist", **_CIFAR_PCA, unit_rows=True), Size(20_019, 2000)
    ),
    "radius scene15-gist": Protocol(partial(radius_split, "scene15-gist", mean_neighbors=50), Size(4000, 485)),
    "radius-unit scene15-gist": Protocol(
        partial(radius_split, "scene15-gist", mean_neighbors=50, unit_rows=True), Size(4000, 485)
    ),
    "radius-l1 scene15-gist": Protocol(
        partial(radius_split, "scene15-gist", mean_neighbors=50, metric="cityblock"), Size(4000, 485)
    ),
    "radius digits": Protocol(partial(radius_split, "digits", mean_neighbors=50), Size(None, 500)),
    "radius-l1 digits": Protocol(
        partial(radius_split, "digits", mean_neighbors=50, metric="cityblock"), Size(None, 500)
    ),
    "ablation labels cifar10-gist": Protocol(partial(labels_split, "cifar10-gist"), Size(12_000, 1000)),
    "ablation labels banking77": Protocol(partial(labels_split, "banking77"), Size(6000, 1000)),
    "ablation radius cifar10-gist": Protocol(
        partial(radius_split, "cifar10-gist", mean_neighbors=50, n_components=40), Size(2000, 1000)
    ),
    "radius notredame-sift": Protocol(partial(radius_split, "notredame-sift", mean_neighbors=100), Size(20_000, 2000)),
    **{
        f"top-k {name}": Protocol(partial(top_k_split, name), Size(20_000, 1000))
        for name in ("notredame-sift", "cifar10-gist", "banking77", "mnist", "digits")
    },
    "top-k sift10k": Protocol(partial(top_k_split, "sift10k"), Size(None, 1000)),
    "top-k scene15-gist": Protocol(partial(top_k_split, "scene15-gist"), Size(None, 485)),
    "unseen cifar10-gist": Protocol(partial(unseen_split, "cifar10-gist", n_seen=7), Size(None, 2000)),
    "unseen mnist": Protocol(partial(unseen_split, "mnist", n_seen=7), Size(None, 2000)),
    "unseen banking77": Protocol(partial(unseen_split, "banking77", n_seen=55), Size(None, 2000)),
    "unseen digits": Protocol(partial(unseen_split, "digits", n_seen=7), Size(None, 500)),
}
