"""What a hash function keeps of its training samples, so that it can learn from further ones later.

1. Sums over all samples, from which the regression of the labels follows: the centred Gram matrix of the features,
   their mean, and for each class the number of its samples and the sum of their features. Further samples are added
   to these sums; a sample whose label changes moves from one sum to another.
2. A digest and the class of each sample, which tell a sample that is known already from a further one.
3. Exemplars: some samples of each class with the values of the functions that bits are directions of. They tell what
   the bits were before an update.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from proxcode.hashing.base import Matrix, Vector
from proxcode.hashing.features import FIT_BLOCK, FeatureMap, FeatureSums
from proxcode.storage.state import State
from proxcode.utils.rows import Index, evenly_spaced
from proxcode.utils.samples import Samples, as_samples, select

# Number of exemplars, shared among the classes by their sizes, and the least number for a class with so many samples.
MAX_EXEMPLARS, MIN_EXEMPLARS = 2000, 10
# Samples of a new class that an update learns its bits from.
NEW_EXEMPLARS = 200
# Digests have 63 bits: a file holds them as int64.
DIGEST_BITS = 63
_DIGEST_SEED = 20200207
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Memory:
    """Sums, digests and exemplars of the samples of a regression on labels, one for each sample.

    Attributes
    ----------
    n : int
        Number of samples.
    gram : ndarray of shape (m, m)
        Centred Gram matrix of the features.
    mean : ndarray of shape (m,)
    class_sums : ndarray of shape (m, n_classes)
    class_counts : ndarray of int64, shape (n_classes,)
    digests, digest_classes : ndarrays of int64, shape (n,)
        Digests in ascending order, and the classes of these samples.
    exemplars : ndarray of shape (n_exemplars, n_features)
        Samples in their units.
    exemplar_classes : ndarray of int64, shape (n_exemplars,)
    exemplar_values : ndarray of shape (n_exemplars, n_classes)
        Values of the functions that bits are directions of.
    is_updated : bool, default=False
        Whether the regression is no longer that of the original fit.
    """

    n: int
    gram: Matrix
    mean: Vector
    class_sums: Matrix
    class_counts: Index
    digests: Index
    digest_classes: Index
    exemplars: Matrix
    exemplar_classes: Index
    exemplar_values: Matrix
    is_updated: bool = False

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_counts)

    @property
    def label_mean(self) -> Vector:
        """Mean of the labels, +1 or -1, of each class."""
        return 2.0 * self.class_counts / self.n - 1.0

    @property
    def moments(self) -> Matrix:
        """Sums over samples of centred features times labels."""
        return 2.0 * (self.class_sums - np.outer(self.mean, self.class_counts))

    def classes_of(self, digests: Index) -> Index:
        """Return the classes of samples by their digests, -1 for those that are not known."""
        place = np.minimum(np.searchsorted(self.digests, digests), len(self.digests) - 1)
        return np.where(self.digests[place] == digests, self.digest_classes[place], -1)

    def with_classes(self, n_classes: int) -> Memory:
        """Return a memory with room for further classes, which have no samples yet."""
        n_new = n_classes - self.n_classes
        return replace(
            self,
            class_sums=np.pad(self.class_sums, ((0, 0), (0, n_new))),
            class_counts=np.pad(self.class_counts, (0, n_new)),
        )

    def with_samples(self, X: Matrix | Samples, classes: Index, digests: Index, compute: FeatureMap) -> Memory:
        """Return a memory with further samples in its sums; the exemplars are not changed."""
        n_new = len(X)
        n = self.n + n_new
        products, total, class_sums = _sums(X, _indicator(classes, self.n_classes, X.dtype), compute)
        mean = (self.n * self.mean + total) / n
        raw = self.gram + self.n * np.outer(self.mean, self.mean) + products
        digests, digest_classes = np.append(self.digests, digests), np.append(self.digest_classes, classes)
        order = np.argsort(digests, kind="stable")
        return replace(
            self,
            n=n,
            gram=raw - n * np.outer(mean, mean),
            mean=mean,
            class_sums=self.class_sums + class_sums,
            class_counts=self.class_counts + np.bincount(classes, minlength=self.n_classes),
            digests=digests[order],
            digest_classes=digest_classes[order],
        )

    def relabelled(self, X: Matrix | Samples, classes: Index, digests: Index, compute: FeatureMap) -> Memory:
        """Return a memory in which known samples, each named once, have other classes."""
        first, stop = (np.searchsorted(self.digests, digests, side) for side in ("left", "right"))
        # A sample that was in the training set several times is relabelled as often.
        copies = np.concatenate([np.arange(*ends) for ends in zip(first, stop, strict=True)])
        owner = np.repeat(np.arange(len(digests)), stop - first)
        moved = np.zeros((len(digests), self.n_classes), np.int64)
        np.add.at(moved, (owner, classes[owner]), 1)
        np.add.at(moved, (owner, self.digest_classes[copies]), -1)
        _, _, class_sums = _sums(X, moved.astype(X.dtype), compute)
        digest_classes = self.digest_classes.copy()
        digest_classes[copies] = classes[owner]
        exemplar_classes = self.exemplar_classes.copy()
        order = np.argsort(digests)
        own = row_digests(self.exemplars)
        place = order[np.minimum(np.searchsorted(digests[order], own), len(order) - 1)]
        is_moved = digests[place] == own
        exemplar_classes[is_moved] = classes[place[is_moved]]
        return replace(
            self,
            class_sums=self.class_sums + class_sums,
            class_counts=self.class_counts + moved.sum(axis=0),
            digest_classes=digest_classes,
            exemplar_classes=exemplar_classes,
        )

    def state(self) -> State:
        """Return the memory as arrays; the Gram matrix, which is symmetric, as a triangle."""
        arrays = {
            "gram": self.gram[np.tril_indices(len(self.gram))],
            "feature_mean": self.mean,
            "class_sums": self.class_sums,
            "class_counts": self.class_counts,
            "digests": self.digests,
            "digest_classes": self.digest_classes,
            "exemplars": self.exemplars,
            "exemplar_classes": self.exemplar_classes,
            "exemplar_values": self.exemplar_values,
        }
        return State({"n_remembered": self.n, "is_updated": self.is_updated}, arrays)

    @classmethod
    def restored(cls, state: State, n_classes: int) -> Memory:
        """Return the memory of a file. Raises ValueError for arrays that no memory has."""
        m = state.sizes["n_inputs"]
        n = state.integer("n_remembered", 1)
        state.sizes.update(n_remembered=n, n_labels=n_classes)
        triangle = state.array("gram", m * (m + 1) // 2)
        gram = np.zeros((m, m))
        gram[np.tril_indices(m)] = triangle
        gram += np.tril(gram, -1).T
        counts = state.array("class_counts", "n_labels", below=n + 1)
        digests = state.array("digests", "n_remembered", below=1 << DIGEST_BITS)
        if counts.sum() != n or (np.diff(digests) < 0).any():
            raise ValueError("its sums and digests do not belong together; save the model again")
        return cls(
            n=n,
            gram=gram,
            mean=state.array("feature_mean", "n_inputs"),
            class_sums=state.array("class_sums", "n_inputs", "n_labels"),
            class_counts=counts,
            digests=digests,
            digest_classes=state.array("digest_classes", "n_remembered", below=n_classes),
            exemplars=state.array("exemplars", "n_exemplars", "n_features"),
            exemplar_classes=state.array("exemplar_classes", "n_exemplars", below=n_classes),
            exemplar_values=state.array("exemplar_values", "n_exemplars", "n_labels"),
            is_updated=bool(state.values["is_updated"]),
        )


def row_digests(X: Matrix | Samples) -> Index:
    """Return a digest of each sample, of its values in single precision.

    Examples
    --------
    >>> first, second, third = row_digests(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    digests = np.empty(len(X), np.int64)
    for rows, block in as_samples(X).map(_digests_of, FIT_BLOCK):
        digests[rows] = block
    return digests


def _digests_of(X: Matrix) -> Index:
    # Adding 0 makes -0 equal to 0.
    words = np.ascontiguousarray(X + np.float32(0), np.float32).view(np.uint32).astype(np.uint64)
    factors = np.random.default_rng(_DIGEST_SEED).integers(2**63, size=X.shape[1], dtype=np.uint64)
    # Numbers such as 0.5 end in many zeros: their bits are spread before they are multiplied.
    words *= _MIX
    words ^= words >> np.uint64(32)
    words *= 2 * factors + np.uint64(1)
    totals = words.sum(axis=1, dtype=np.uint64) * _MIX
    digests: NDArray[np.int64] = ((totals ^ (totals >> np.uint64(29))) >> np.uint64(64 - DIGEST_BITS)).astype(np.int64)
    return digests


def choose_exemplars(classes: Index, class_counts: Index) -> Index:
    """Return the positions of exemplars among samples: evenly spaced ones of each class, in number by its size.

    Examples
    --------
    >>> choose_exemplars(np.array([0, 1, 0, 1]), np.array([10_000, 10]))
    array([0, 1, 2, 3])
    """
    quotas = np.maximum(MIN_EXEMPLARS, np.round(MAX_EXEMPLARS * class_counts / class_counts.sum())).astype(int)
    return _some_of_each(classes, quotas)


def further_exemplars(classes: Index, memory: Memory) -> Index:
    """Return the positions of exemplars among further samples: as dense as those of their class, 200 of a new one."""
    n_further = np.bincount(classes, minlength=memory.n_classes)
    n_owned = np.bincount(memory.exemplar_classes, minlength=memory.n_classes)
    density = n_owned / np.maximum(memory.class_counts - n_further, 1)
    quotas = np.maximum(np.round(density * n_further), MIN_EXEMPLARS - n_owned).astype(int)
    return _some_of_each(classes, np.where(n_owned == 0, NEW_EXEMPLARS, np.maximum(quotas, 0)))


def _some_of_each(classes: Index, quotas: Index) -> Index:
    """Return the positions of at most so many samples of each class, evenly spaced among them, in ascending order."""
    order = np.argsort(classes, kind="stable")
    chosen = [
        members[evenly_spaced(len(members), int(quotas[classes[members[0]]]))]
        for members in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)
        if len(members)
    ]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


def _indicator(classes: Index, n_classes: int, dtype: object) -> Matrix:
    owned = np.zeros((len(classes), n_classes), dtype)  # type: ignore[call-overload]
    owned[np.arange(len(classes)), classes] = 1
    return owned


def _sums(X: Matrix | Samples, factors: Matrix, compute: FeatureMap) -> tuple[Matrix, Vector, Matrix]:
    """Return the sums over samples of products of features, of features, and of features times factors."""
    if len(X) == 0:
        m, k = compute(np.zeros((1, X.shape[1]), X.dtype)).shape[1], factors.shape[1]
        return np.zeros((m, m)), np.zeros(m), np.zeros((m, k))
    sums = FeatureSums(compute, 1, np.zeros(factors.shape[1], X.dtype))
    products, total, along = as_samples(X).sum(sums, FIT_BLOCK, (factors,))
    return products, total, along


def remember(
    X: Matrix | Samples,
    classes: Index,
    n_classes: int,
    *,
    gram: Matrix,
    mean: Vector,
    moments: Matrix,
    rows: Index,
    values: Matrix,
) -> Memory:
    """Return the memory of a fit.

    Parameters
    ----------
    X : ndarray or Samples of shape (n, n_features)
    classes : ndarray of int, shape (n,)
    n_classes : int
    gram, mean, moments
        Those of `Features`.
    rows : ndarray of int
        Samples that bits are learned from; the exemplars are among them.
    values : ndarray of shape (n_rows, n_classes)
        Values of the functions at these samples.
    """
    counts = np.bincount(classes, minlength=n_classes)
    chosen = choose_exemplars(classes[rows], counts)
    digests = row_digests(X)
    order = np.argsort(digests, kind="stable")
    return Memory(
        n=len(X),
        gram=gram,
        mean=mean,
        class_sums=moments / 2.0 + np.outer(mean, counts),
        class_counts=counts,
        digests=digests[order],
        digest_classes=classes[order],
        exemplars=np.array(select(X, rows[chosen])[:]),
        exemplar_classes=classes[rows][chosen],
        exemplar_values=values[chosen],
    )
