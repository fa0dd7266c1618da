"""The paper's hash function: a kernel SVM for each bit, stored as plain arrays.

scikit-learn trains the SVM of a bit; its expansion sum_j dual_j k(x, z_j) + intercept over its support vectors z_j is
kept. A training sample that supports several bits is stored once, and its kernel values are computed once for all bits.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from proxcode.cut.result import Partition
from proxcode.hashing.base import HashTraining, Labels, Matrix, PerBitHash, PerBitTraining, Vector
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks
from proxcode.utils.rows import ALL, Index, Rows
from proxcode.utils.validation import check_number

# Number of samples that a kernel SVM is trained on within minutes.
COMFORTABLE_SAMPLES = 10_000
# Rules of scikit-learn for the kernel coefficient.
RULES = ("scale", "auto")
# Rows whose kernel values to all support vectors are held at a time.
KERNEL_BLOCK = 256


class KernelMachine(NamedTuple):
    """The SVM of a bit: its margin at x is sum_j dual_coef_j exp(-gamma |x - z_j|^2) + intercept.

    Attributes
    ----------
    support : ndarray of int, shape (n_support,)
        Row numbers of the support vectors z_j among the training samples, ascending; empty for a constant bit.
    dual_coef : ndarray of shape (n_support,)
    intercept : float
    gamma : float
    """

    support: Index
    dual_coef: Vector
    intercept: float
    gamma: float


class SVMHash(PerBitHash):
    """The paper's hash function: a support vector machine with a Gaussian kernel for each bit.

    Training time grows faster than n_samples^2: above some 10,000 samples set `max_samples`, or use `KernelHash`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, as in `sklearn.svm.SVC`.
    gamma : float or {"scale", "auto"}, default="scale"
        Kernel coefficient, as in `sklearn.svm.SVC`.
    max_samples : int, default=None
        Largest number of training samples for each bit, in an order drawn once. None uses all.

    Attributes
    ----------
    classifiers_ : list of KernelMachine
        The SVM of each bit.
    support_ : ndarray of int, shape (n_support,)
        Row numbers of the training samples that support any bit, ascending.
    support_vectors_ : ndarray of shape (n_support, n_features)
    """

    def __init__(self, C: float = 1.0, gamma: float | str = "scale", max_samples: int | None = None) -> None:
        self.C = C
        self.gamma = gamma
        self.max_samples = max_samples

    def begin(
        self, X: Matrix, rng: np.random.Generator, *, labels: Labels | None = None, rows: Rows = ALL
    ) -> PerBitTraining:
        """Draw the order in which samples are chosen to train on; warn where training takes long."""
        check_number("C", self.C, above=0)
        if not isinstance(self.gamma, str) or self.gamma not in RULES:
            check_number("gamma", self.gamma, at_least=0)
        training = super().begin(X, rng, labels=labels, rows=rows)
        n_samples = len(training.X) if self.max_samples is None else min(len(training.X), self.max_samples)
        if n_samples > COMFORTABLE_SAMPLES:
            warnings.warn(
                f"SVMHash on {n_samples:,} samples takes very long: SVMHash(max_samples={COMFORTABLE_SAMPLES}) trains "
                "on a subset, KernelHash() on all samples.",
                stacklevel=3,
            )
        return training

    def train(self, X: Matrix, rows: Index, target: Partition, seed: int) -> KernelMachine:
        """Train the SVM of a bit and keep its expansion."""
        from sklearn.svm import SVC

        if len(np.unique(target)) == 1:
            return KernelMachine(support=rows[:0], dual_coef=np.empty(0), intercept=float(target[0]), gamma=1.0)
        samples = X[rows].astype(np.float64)
        gamma = self._gamma_of(samples)
        svm = SVC(C=self.C, gamma=gamma, random_state=seed).fit(samples, target)
        support = rows[svm.support_]
        order = np.argsort(support)
        return KernelMachine(
            support=support[order],
            dual_coef=svm.dual_coef_[0, order],
            intercept=float(svm.intercept_[0]),
            gamma=float(gamma),
        )

    def _gamma_of(self, samples: Matrix) -> Any:
        """Return the kernel coefficient as a number, by scikit-learn's rules."""
        if not isinstance(self.gamma, str):
            return self.gamma
        variance = float(samples.var()) if self.gamma == "scale" else 1.0
        return 1.0 / (samples.shape[1] * variance) if variance else 1.0

    def training_margins(self, model: KernelMachine, X: Matrix) -> Vector:
        return _margins(X, X[model.support], model.support, [model])[:, 0]

    def margins(self, model: KernelMachine, X: Matrix) -> Vector:
        return _margins(X, self.support_vectors_, self.support_, [model])[:, 0]

    def finish(self, training: HashTraining, n_bits: int) -> None:
        """Keep the expansions and their support vectors."""
        super().finish(training, n_bits)
        self.support_ = np.unique(_joined([machine.support for machine in self.classifiers_], np.int64))
        self.support_vectors_ = training.X[self.support_]  # type: ignore[attr-defined]

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        return _margins(X, self.support_vectors_, self.support_, self.classifiers_[:n_bits])

    def state(self) -> State:
        """Return the expansions, one after another, and their support vectors, each once."""
        machines = self.classifiers_
        return State(
            arrays={
                "n_support": np.array([len(m.support) for m in machines], np.int64),
                "support": _joined([m.support for m in machines], np.int64),
                "dual_coef": _joined([m.dual_coef for m in machines], np.float64),
                "intercept": np.array([m.intercept for m in machines]),
                "gamma": np.array([m.gamma for m in machines]),
                "support_vectors": self.support_vectors_,
            }
        )

    def restore(self, state: State) -> None:
        support = state.array("support", "n_expanded", below=np.iinfo(np.int64).max)
        ends = np.cumsum(state.array("n_support", "n_bits", below=len(support) + 1))
        if ends[-1] != len(support):
            raise ValueError(f"its array 'support' has {len(support)} rows: expected {ends[-1]}; save the model again")
        parts = np.split(support, ends[:-1]), np.split(state.array("dual_coef", "n_expanded"), ends[:-1])
        columns = *parts, state.array("intercept", "n_bits").tolist(), state.array("gamma", "n_bits").tolist()
        self.classifiers_ = [KernelMachine(*machine) for machine in zip(*columns, strict=True)]
        self.n_bits_ = len(self.classifiers_)
        self.support_ = np.unique(support)
        self.support_vectors_ = state.array("support_vectors", len(self.support_), "n_features")


def _joined(arrays: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.empty(0, dtype), *arrays])


def _margins(X: Matrix, vectors: Matrix, numbers: Index, machines: list[KernelMachine]) -> Vector:
    """Return the margins of several SVMs, shape (n_samples, n_machines).

    `vectors` holds the training samples with row numbers `numbers`, ascending, among them all support vectors.
    """
    out = np.tile([machine.intercept for machine in machines], (len(X), 1))
    if len(vectors) == 0:
        return out
    # Distances by inner products lose less to rounding when the mean is subtracted first.
    center = vectors.mean(axis=0, dtype=np.float64)
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


def _by_gamma(numbers: Index, machines: list[KernelMachine]) -> list[tuple[float, Index, Matrix]]:
    """Return each gamma with the bits that have it and their coefficients over all vectors, one column per bit."""
    gammas = np.array([machine.gamma if len(machine.support) else np.nan for machine in machines])
    kernels = []
    for gamma in np.unique(gammas[~np.isnan(gammas)]):
        bits = np.flatnonzero(gammas == gamma)
        dual_coef = np.zeros((len(numbers), len(bits)))
        for column, bit in enumerate(bits):
            dual_coef[np.searchsorted(numbers, machines[bit].support), column] = machines[bit].dual_coef
        kernels.append((float(gamma), bits, dual_coef))
    return kernels
