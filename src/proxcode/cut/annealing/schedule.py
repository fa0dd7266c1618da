"""Temperatures of an annealing search, in the unit of local fields s_i = sum_j w_ij b_j."""

from dataclasses import dataclass

import numpy as np

from proxcode.cut.annealing.limits import Budget
from proxcode.cut.annealing.walks import Walk
from proxcode.cut.graph import Vector
from proxcode.cut.spectral import smallest_eigenpairs

HOT, COLD, HOT_SPECTRAL = 0.45, 0.05, 0.25  # of the scale, the median local field, the largest eigenvalue
REHEAT = (0.15, 0.3)
MELTING_SHARE = 0.1  # of a cooling's sweeps
LANCZOS_SHARE = 0.3  # of the time left, at most, for the largest eigenvector


@dataclass(frozen=True)
class Schedule:
    """What coolings of a graph begin and end with.

    Attributes
    ----------
    scale : float
        Root mean square local field of a random partition. Single points freeze below it.
    cold : float
        0.05 times the median local field.
    melting : float
        0.25 lambda_max(W), or 0.45 times the scale where that is more. On networks with hubs, what is large freezes
        first, far above the scale.
    """

    scale: float
    cold: float
    melting: float

    @classmethod
    def of(cls, walk: Walk, budget: Budget, rng: np.random.Generator) -> tuple["Schedule", Vector | None]:
        """Return the schedule of a walk's graph and the largest eigenvector of W, None when too late for it."""
        norms = walk.row_norms(rng)
        top = float(norms.max()) or 1.0
        scale = top * float(np.sqrt(np.mean((norms / top) ** 2)))
        cold = COLD * float(np.median(norms[norms > 0])) if (norms > 0).any() else 0.0
        largest, eigenvector = _largest_eigenpair(walk, norms, budget, rng)
        return cls(scale, cold, max(HOT * scale, HOT_SPECTRAL * largest)), eigenvector

    def cooling(self, n_sweeps: int) -> Vector:
        """Return temperatures that fall from 0.45 times the scale to the cold one."""
        return np.linspace(HOT * self.scale, self.cold, n_sweeps)

    def melting_and_cooling(self, n_sweeps: int) -> Vector:
        """Return the same, but where the melting temperature is higher, a tenth of the sweeps falls from it first."""
        n_melting = int(MELTING_SHARE * n_sweeps) if self.melting > HOT * self.scale else 0
        melting = np.linspace(self.melting, HOT * self.scale, n_melting, endpoint=False)
        return np.concatenate([melting, self.cooling(n_sweeps - n_melting)])

    def reheated(self, n_sweeps: int, rng: np.random.Generator) -> Vector:
        """Return temperatures that fall from between 0.15 and 0.3 times the scale."""
        return np.linspace(rng.uniform(*REHEAT) * self.scale, self.cold, n_sweeps)


def _largest_eigenpair(
    walk: Walk, norms: Vector, budget: Budget, rng: np.random.Generator
) -> tuple[float, Vector | None]:
    """Return the largest eigenvalue of W and its eigenvector; when too late, the norm of the longest row and none."""
    deadline = float("inf")
    if budget.seconds is not None:
        deadline = budget.elapsed() + LANCZOS_SHARE * (budget.seconds - budget.elapsed())

    def negated(x: Vector) -> Vector:
        if budget.elapsed() > deadline:
            raise TimeoutError
        return -walk.product(x)

    try:
        values, vectors = smallest_eigenpairs(negated, len(norms), 1, rng, 1e-2)
    except TimeoutError:  # no row is longer than the largest |eigenvalue|
        return float(norms.max()), None
    return -float(values[0]), vectors[:, 0]
