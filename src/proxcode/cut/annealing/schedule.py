"""Temperatures of an annealing search, in the unit of the local fields s_i = sum_j w_ij b_j."""

from dataclasses import dataclass

import numpy as np

from proxcode.cut.annealing.budget import Budget
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.annealing.walks import Walk
from proxcode.cut.graph import Vector
from proxcode.cut.spectral import smallest_eigenpairs


@dataclass(frozen=True)
class Schedule:
    """Temperatures at which the coolings of a graph start and end.

    Attributes
    ----------
    scale : float
        Root mean square local field of a random partition. Single nodes freeze below it.
    cold : float
        0.05 times the median local field.
    melting : float
        0.25 lambda_max(W) or 0.45 times the scale, whichever is larger. Large parts of networks with hubs freeze first,
        far above the scale.
    """

    scale: float
    cold: float
    melting: float

    @classmethod
    def of(cls, walk: Walk, budget: Budget, rng: np.random.Generator) -> tuple["Schedule", Vector | None]:
        """Return the schedule of a walk's graph and the largest eigenvector of W, None if time is too short for it."""
        norms = walk.row_norms(rng)
        top = float(norms.max()) or 1.0
        scale = top * float(np.sqrt(np.mean((norms / top) ** 2)))
        cold = TUNING.cold * float(np.median(norms[norms > 0])) if (norms > 0).any() else 0.0
        largest, eigenvector = _largest_eigenpair(walk, norms, budget, rng)
        melting = max(TUNING.hot * scale, TUNING.hot_spectral * largest)
        return cls(scale=scale, cold=cold, melting=melting), eigenvector

    def cooling(self, n_sweeps: int) -> Vector:
        """Return temperatures that fall linearly from 0.45 times the scale to the cold temperature."""
        return np.linspace(TUNING.hot * self.scale, self.cold, n_sweeps)

    def melting_and_cooling(self, n_sweeps: int) -> Vector:
        """Return the temperatures of a cooling; if melting is hotter, a tenth of the sweeps falls from there first."""
        hot = TUNING.hot * self.scale
        n_melting = int(TUNING.melting_share * n_sweeps) if self.melting > hot else 0
        melting = np.linspace(self.melting, hot, n_melting, endpoint=False)
        return np.concatenate([melting, self.cooling(n_sweeps - n_melting)])

    def reheated(self, n_sweeps: int, rng: np.random.Generator) -> Vector:
        """Return temperatures that fall from a random start between 0.15 and 0.3 times the scale."""
        return np.linspace(rng.uniform(*TUNING.reheat) * self.scale, self.cold, n_sweeps)


def _largest_eigenpair(
    walk: Walk, norms: Vector, budget: Budget, rng: np.random.Generator
) -> tuple[float, Vector | None]:
    """Return the largest eigenvalue of W and its eigenvector; if time is short, the largest norm of a row and None."""
    deadline = float("inf")
    if budget.seconds is not None:
        deadline = budget.elapsed() + TUNING.lanczos_share * (budget.seconds - budget.elapsed())

    def negated(x: Vector) -> Vector:
        if budget.elapsed() > deadline:
            raise TimeoutError
        return -walk.product(x)

    try:
        values, vectors = smallest_eigenpairs(negated, len(norms), 1, rng, TUNING.lanczos_tolerance)
    except TimeoutError:
        # No row is longer than the largest |eigenvalue|.
        return float(norms.max()), None
    return -float(values[0]), vectors[:, 0]
