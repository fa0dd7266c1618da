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

from proxcode.cut.result import signs_of
from proxcode.hashing.base import Matrix, Vector
from proxcode.hashing.exemplars import choose_exemplars
from proxcode.hashing.features import FIT_BLOCK, FeatureMap, FeatureSums
from proxcode.storage.state import State
from proxcode.utils.rows import Index
from proxcode.utils.samples import Samples, as_samples, select

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
    root : ndarray of shape (m, m) or None
        R of the features, where it is at hand; files and pickles do not hold it, since it follows from the landmarks.
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
    root: Matrix | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return what a pickle holds."""
        return self.__dict__ | {"root": None}

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

    def compared(self, digests: Index, classes: Index) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which of distinct samples are known, and which of these never had the class that is given."""
        copies, owner = self._copies(digests)
        is_known, is_changed = np.zeros((2, len(digests)), bool)
        is_known[owner] = is_changed[owner] = True
        is_changed[owner[self.digest_classes[copies] == classes[owner]]] = False
        return is_known, is_changed

    def _copies(self, digests: Index) -> tuple[Index, Index]:
        """Return the positions in `digests` of distinct samples, and the number of the sample at each position.

        A sample may have been in the training set several times, with several labels.
        """
        first, stop = (np.searchsorted(self.digests, digests, side) for side in ("left", "right"))
        n_copies = stop - first
        owner = np.repeat(np.arange(len(digests)), n_copies)
        # The copies of all samples are numbered in one sequence; the first number of each sample becomes `first`.
        return np.arange(len(owner)) + (first - (np.cumsum(n_copies) - n_copies))[owner], owner

    def label_codes(self, directions: Matrix, before: Matrix | None) -> Vector:
        """Return the mean code of the exemplars of each class; that from before, or zeros, for classes without any."""
        codes = np.zeros((self.n_classes, len(directions)))
        if before is not None:
            codes[: len(before), : before.shape[1]] = before
        bits = signs_of(self.exemplar_values @ directions[:, :-1].T + directions[:, -1])
        for label in np.unique(self.exemplar_classes):
            codes[label] = bits[self.exemplar_classes == label].mean(axis=0)
        return codes

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
        before, after = np.sqrt(self.n) * self.mean, np.sqrt(n) * mean
        gram = products
        gram += self.gram
        gram += np.outer(before, before)
        gram -= np.outer(after, after)
        digests, digest_classes = np.append(self.digests, digests), np.append(self.digest_classes, classes)
        order = np.argsort(digests, kind="stable")
        return replace(
            self,
            n=n,
            gram=gram,
            mean=mean,
            class_sums=self.class_sums + class_sums,
            class_counts=self.class_counts + np.bincount(classes, minlength=self.n_classes),
            digests=digests[order],
            digest_classes=digest_classes[order],
        )

    def relabelled(self, X: Matrix | Samples, classes: Index, digests: Index, compute: FeatureMap) -> Memory:
        """Return a memory in which known samples, each named once, have other classes."""
        # A sample that was in the training set several times is relabelled as often.
        copies, owner = self._copies(digests)
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
        counts = self.class_counts + moved.sum(axis=0)
        return replace(
            self,
            # Of a class that has lost all samples nothing must remain, not even rounding.
            class_sums=np.where(counts > 0, self.class_sums + class_sums, 0.0),
            class_counts=counts,
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
        digest_classes = state.array("digest_classes", "n_remembered", below=n_classes)
        if (np.bincount(digest_classes, minlength=n_classes) != counts).any() or (np.diff(digests) < 0).any():
            raise ValueError("its sums and digests do not belong together; save the model again")
        exemplars = state.array("exemplars", "n_exemplars", "n_features")
        if len(exemplars) == 0:
            raise ValueError("its array 'exemplars' is empty; save the model again")
        return cls(
            n=n,
            gram=gram,
            mean=state.array("feature_mean", "n_inputs"),
            class_sums=state.array("class_sums", "n_inputs", "n_labels"),
            class_counts=counts,
            digests=digests,
            digest_classes=digest_classes,
            exemplars=exemplars,
            exemplar_classes=state.array("exemplar_classes", "n_exemplars", below=n_classes),
            exemplar_values=state.array("exemplar_values", "n_exemplars", "n_labels"),
            is_updated=bool(state.values["is_updated"]),
        )


def row_digests(X: Matrix | Samples, exact: bool = False) -> Index:
    """Return a digest of each sample, of its values in single precision, or with `exact` in their own.

    Examples
    --------
    >>> first, second, third = row_digests(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    digests = np.empty(len(X), np.int64)
    for rows, block in as_samples(X).map(_exact_digests if exact else _digests, FIT_BLOCK):
        digests[rows] = block
    return digests


def _digests(X: Matrix) -> Index:
    with np.errstate(over="ignore"):
        return _exact_digests(X.astype(np.float32))


def _exact_digests(X: Matrix) -> Index:
    # Adding 0 makes -0 equal to 0.
    words = np.ascontiguousarray(X + X.dtype.type(0)).view(np.uint32).astype(np.uint64)
    factors = np.random.default_rng(_DIGEST_SEED).integers(2**63, size=words.shape[1], dtype=np.uint64)
    # Numbers such as 0.5 end in many zeros: their bits are spread before they are multiplied.
    words *= _MIX
    words ^= words >> np.uint64(32)
    words *= 2 * factors + np.uint64(1)
    totals = words.sum(axis=1, dtype=np.uint64) * _MIX
    digests: NDArray[np.int64] = ((totals ^ (totals >> np.uint64(29))) >> np.uint64(64 - DIGEST_BITS)).astype(np.int64)
    return digests


def _indicator(classes: Index, n_classes: int, dtype: object) -> Matrix:
    owned = np.zeros((len(classes), n_classes), dtype)  # type: ignore[call-overload]
    owned[np.arange(len(classes)), classes] = 1
    return owned


def _sums(X: Matrix | Samples, factors: Matrix, compute: FeatureMap) -> tuple[Matrix, Vector, Matrix]:
    """Return the sums over samples of products of features, of features, and of features times factors."""
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
    root: Matrix | None,
) -> Memory | None:
    """Return the memory of a fit; None where samples differ in double precision alone, so that digests confuse them.

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
    root : ndarray of shape (m, m) or None
        R of the features.
    """
    counts = np.bincount(classes, minlength=n_classes)
    chosen = choose_exemplars(classes[rows], counts)
    digests = row_digests(X)
    if X.dtype == np.float64 and len(np.unique(digests)) < len(np.unique(row_digests(X, exact=True))):
        return None
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
        root=root,
    )
