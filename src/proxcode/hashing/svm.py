"""The paper's hash function: a kernel SVM for each bit, stored as plain arrays.

The expansion sum_j dual_j k(x, z_j) + intercept of the SVM of each bit over its support vectors z_j is kept. A training
sample that supports several bits is stored once, and its kernel values with new samples are computed once for all bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proxcode.hashing.base import HashFunction, HashTraining, Labels, Matrix, Vector
from proxcode.hashing.svm_training import KernelMachine, SVMTraining, expansions
from proxcode.storage.state import State
from proxcode.utils.rows import ALL, Rows
from proxcode.utils.validation import check_integer, check_number

# Rules of scikit-learn for the kernel coefficient.
RULES = ("scale", "auto")
MEGABYTE = 2**20


class SVMHash(HashFunction):
    """The paper's hash function: a support vector machine with a Gaussian kernel for each bit.

    Kernel values between the samples that SVMs are trained on are computed once for all bits: 1.6 GB for 20,000
    samples, whose SVMs take about a second each. Time and memory grow with the square of the number of samples.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, as in `sklearn.svm.SVC`. Kernel values are held in single precision, which is too coarse for
        costs of 10,000 and more.
    gamma : float or {"scale", "auto"}, default="scale"
        Kernel coefficient, as in `sklearn.svm.SVC`.
    max_samples : int, default=None
        Largest number of samples that SVMs are trained on, in an order drawn once. None is as many as kernel values fit
        into memory, see `cache_size`: 20,480 with its default.
    cache_size : float, default=1600
        Memory for kernel values in megabytes. Those between samples that SVMs are trained on must fit in; those with
        further training samples are kept as far as they do, and computed again for each bit where not.

    Attributes
    ----------
    classifiers_ : list of KernelMachine
        The SVM of each bit.
    support_ : ndarray of int, shape (n_support,)
        Row numbers of the training samples that support any bit, ascending.
    support_vectors_ : ndarray of shape (n_support, n_features)
    """

    classifiers_: list[KernelMachine]

    def __init__(
        self,
        C: float = 1.0,
        gamma: float | str = "scale",
        max_samples: int | None = None,
        cache_size: float = 1600,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.max_samples = max_samples
        self.cache_size = cache_size

    def begin(
        self, X: Matrix, rng: np.random.Generator, *, labels: Labels | None = None, rows: Rows = ALL
    ) -> SVMTraining:
        """Draw the order in which samples are chosen to train on."""
        C = check_number("C", self.C, above=0)
        if not isinstance(self.gamma, str) or self.gamma not in RULES:
            check_number("gamma", self.gamma, at_least=0, below=float(np.finfo(np.float32).max))
        if self.max_samples is not None:
            check_integer("max_samples", self.max_samples, 2)
        n_kept = int(check_number("cache_size", self.cache_size, above=0) * MEGABYTE / 4)
        n_fitting = math.isqrt(n_kept)
        X = X[rows]
        n_trained = min(len(X), n_fitting if self.max_samples is None else self.max_samples)
        n_needed = max(n_trained, 2)
        if n_fitting < n_needed:
            remedy = f", or set max_samples to at most {n_fitting}" if n_fitting >= 2 else ""
            raise ValueError(
                f"cache_size={self.cache_size}: the kernel values of {n_needed:,} samples take "
                f"{4 * n_needed**2 / MEGABYTE:.3g} megabytes; raise it{remedy}."
            )
        # The permutation gives places, not samples, as for other hash functions.
        order = np.argsort(rng.permutation(len(X)))
        bits = getattr(self, "classifiers_", ())
        gamma = self._gamma_of(X[order[:n_trained]])
        return SVMTraining(bits, X, order, C=C, gamma=gamma, n_trained=n_trained, n_kept=n_kept)

    def _gamma_of(self, samples: Matrix) -> float:
        """Return the kernel coefficient as a number, by scikit-learn's rules."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        variance = float(samples.var(dtype=np.float64)) if self.gamma == "scale" else 1.0
        return 1.0 / (samples.shape[1] * variance) if variance else 1.0

    def finish(self, training: HashTraining, n_bits: int) -> None:
        """Keep the expansions and their support vectors."""
        self.classifiers_, self.n_bits_ = training.bits[:n_bits], n_bits
        self.support_ = np.unique(_joined([machine.support for machine in self.classifiers_], np.int64))
        self.support_vectors_ = training.X[self.support_]  # type: ignore[attr-defined]

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        return expansions(X, self.support_vectors_, self.support_, self.classifiers_[:n_bits])

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
