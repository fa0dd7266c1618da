"""The paper's hash function: kernel SVMs, kept as plain arrays.

scikit-learn trains the machine of a bit; what is kept of it is its expansion, sum_j dual_j k(x, z_j) + intercept, over
the training points z_j that support it. Points that support several bits are kept once, and their kernel is computed
once for all bits.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from proxcode.cut.result import Partition
from proxcode.hashing.base import Matrix, Rows, Vector
from proxcode.hashing.classifier import ClassifierHash
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks

SVM_COMFORT = 10_000  # points that a kernel SVM takes in minutes
KERNEL_BLOCK = 256  # rows whose kernel to all support vectors is held at a time


class KernelMachine(NamedTuple):
    """The SVM of a bit: its margin at x is sum_j dual_coef_j exp(-gamma |x - z_j|^2) + intercept.

    Attributes
    ----------
    support : ndarray of int, shape (m,)
        The training points z_j, by number, ascending; none where the bit is constant.
    dual_coef : ndarray of shape (m,)
    intercept : float
    gamma : float
    """

    support: Rows
    dual_coef: Vector
    intercept: float
    gamma: float


class SVMHash(ClassifierHash):
    """The paper's hash function: a kernel SVM with a Gaussian kernel for each bit.

    Its time grows faster than n^2: above some 10,000 points give `max_samples`, or use `KernelHash`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, as in `sklearn.svm.SVC`.
    gamma : float or {"scale", "auto"}, default="scale"
        Width of the kernel, as in `sklearn.svm.SVC`.
    max_samples : int, default=None
        Train on at most so many points, drawn once; None is all.

    Attributes
    ----------
    classifiers_ : list of KernelMachine, one per bit
    support_ : ndarray of int, shape (m,)
        The training points that support any bit, by number, ascending.
    support_vectors_ : ndarray of shape (m, d)
    """

    def __init__(self, C: float = 1.0, gamma: float | str = "scale", max_samples: int | None = None) -> None:
        self.C = C
        self.gamma = gamma
        self.max_samples = max_samples

    @property
    def classifier(self) -> Any:
        """The classifier that each bit gets a copy of."""
        from sklearn.svm import SVC

        return SVC(C=self.C, gamma=self.gamma)

    def _check_size(self, n: int) -> None:
        if n > SVM_COMFORT:
            warnings.warn(
                f"SVMHash on {n:,} points takes very long: SVMHash(max_samples={SVM_COMFORT}) trains on some of them, "
                "KernelHash() on all.",
                stacklevel=3,
            )

    def _train(self, rows: Rows, target: Partition) -> KernelMachine:
        if len(np.unique(target)) == 1:
            return KernelMachine(rows[:0], np.empty(0), float(target[0]), 1.0)
        points = self._X[rows].astype(np.float64)
        gamma = self._gamma_of(points)
        svm = self._new_classifier().set_params(gamma=gamma).fit(points, target)
        support = rows[svm.support_]
        order = np.argsort(support)
        return KernelMachine(support[order], svm.dual_coef_[0, order], float(svm.intercept_[0]), float(gamma))

    def _gamma_of(self, points: Matrix) -> Any:
        """Return the width as a number, by scikit-learn's rules."""
        if self.gamma not in ("scale", "auto"):
            return self.gamma
        spread = float(points.var()) if self.gamma == "scale" else 1.0
        return 1.0 / (points.shape[1] * spread) if spread else 1.0

    def training_margins(self, bit: int) -> Vector:
        """Return the margins of a bit at the training points."""
        machine = self.classifiers_[bit]
        return _margins(self._X, self._X[machine.support], machine.support, [machine])[:, 0]

    def finish(self) -> None:
        """Keep the support vectors, drop the other training points."""
        self.support_ = np.unique(np.concatenate([np.empty(0, np.int64), *(m.support for m in self.classifiers_)]))
        self.support_vectors_ = self._X[self.support_]
        super().finish()

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits."""
        return _margins(X, self.support_vectors_, self.support_, self.classifiers_[:n_bits])

    def progress(self) -> State:
        """Return the expansions, one after another; their points by number."""
        machines = self.classifiers_
        return State(
            arrays={
                "n_support": np.array([len(m.support) for m in machines], np.int64),
                "support": np.concatenate([np.empty(0, np.int64), *(m.support for m in machines)]),
                "dual_coef": np.concatenate([np.empty(0), *(m.dual_coef for m in machines)]),
                "intercept": np.array([m.intercept for m in machines]),
                "gamma": np.array([m.gamma for m in machines]),
            }
        )

    def resume(self, progress: State) -> None:
        """Take expansions over."""
        arrays = progress.arrays
        ends = np.cumsum(arrays["n_support"])[:-1]
        parts = np.split(arrays["support"], ends), np.split(arrays["dual_coef"], ends)
        columns = *parts, arrays["intercept"].tolist(), arrays["gamma"].tolist()
        self.classifiers_ = [KernelMachine(*machine) for machine in zip(*columns, strict=True)]
        self.n_bits_ = len(self.classifiers_)

    def state(self) -> State:
        """Return the expansions and the points that they are over, each once."""
        return State(arrays={**self.progress().arrays, "support_vectors": self.support_vectors_})

    def restore(self, state: State) -> None:
        """Take expansions and their points over."""
        self.resume(state)
        self.support_ = np.unique(state.arrays["support"])
        self.support_vectors_ = state.arrays["support_vectors"]


def _margins(X: Matrix, vectors: Matrix, numbers: Rows, machines: list[KernelMachine]) -> Vector:
    """Return the margins of some machines, shape (n, n_machines); `vectors` has the points `numbers`, ascending."""
    out = np.tile([machine.intercept for machine in machines], (len(X), 1))
    if len(vectors) == 0:
        return out
    center = vectors.mean(axis=0, dtype=np.float64)  # taken off, distances by inner products lose less to rounding
    Z = vectors - center
    Z_norms = (Z * Z).sum(axis=1)
    kernels = _by_gamma(numbers, machines)

    def add(rows: slice) -> None:
        P = X[rows] - center
        squares = (P * P).sum(axis=1, keepdims=True) + Z_norms - 2.0 * (P @ Z.T)
        np.maximum(squares, 0.0, out=squares)
        for gamma, bits, dual_coef in kernels:
            out[rows, bits] += np.exp(-gamma * squares) @ dual_coef

    for _ in map_blocks(add, len(X), KERNEL_BLOCK):
        pass
    return out


def _by_gamma(numbers: Rows, machines: list[KernelMachine]) -> list[tuple[float, Rows, Matrix]]:
    """Return each width with its machines and their coefficients over all points, one column per machine."""
    widths = np.array([machine.gamma if len(machine.support) else np.nan for machine in machines])
    kernels = []
    for gamma in np.unique(widths[~np.isnan(widths)]):
        bits = np.flatnonzero(widths == gamma)
        dual_coef = np.zeros((len(numbers), len(bits)))
        for column, bit in enumerate(bits):
            dual_coef[np.searchsorted(numbers, machines[bit].support), column] = machines[bit].dual_coef
        kernels.append((float(gamma), bits, dual_coef))
    return kernels
