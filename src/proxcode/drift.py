"""Drift: whether new samples still resemble those that a code was learned from.

1. Balance of the bits: the share of ones of each bit in a batch against the share to expect, with labels that of the
   same mixture of classes, else that of the training samples.
2. Near and far pairs of the batch within the learned radius, against the shares that the fit measured.
3. Labels that the model does not know.

Differences that batches of this size, drawn like the training samples, would show do not count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import GrowingCode, unpack
from proxcode.proximity import SameLabel, SharedLabel, WithinRadius
from proxcode.utils.labels import UNLABELLED
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.samples import select

# Samples of a batch that are compared, at most.
MAX_SAMPLES = 10_000
# Loss of balance, beyond chance, and of near pairs within the radius, from which an update or a new fit is advised.
UPDATE, REFIT = 0.05, 0.2
# Mean of |z| over the standard normal distribution, and by how much chance may exceed it: bits are not independent.
MEAN_ABSOLUTE, CHANCE = 0.8, 2.0
# Fewest samples for which an advice is given.
FEWEST = 30


class Drift(NamedTuple):
    """A batch of samples compared with those of the fit.

    Attributes
    ----------
    n_samples : int
        Number of samples compared.
    balance_change : float
        Mean over bits of the difference between the share of ones and the share to expect.
    balance_chance : float
        The most of it that may be due to chance.
    near_within, far_within : float or None
        Shares of the near and far pairs of the batch within `radius_`; None where there are none, or none known.
    near_within_fit, far_within_fit : float
        The same, as measured in the fit.
    near_chance : float
        The most of the difference between the two shares of near pairs that may be due to chance.
    new_classes : list
        Labels that the model does not know.
    is_updatable : bool
        Whether the model can be updated.
    """

    n_samples: int
    balance_change: float
    balance_chance: float
    near_within: float | None
    far_within: float | None
    near_within_fit: float
    far_within_fit: float
    near_chance: float
    new_classes: list[Any]
    is_updatable: bool

    @property
    def severity(self) -> float:
        """The larger of the loss of balance and the loss of near pairs within the radius, beyond chance."""
        lost = 0.0 if self.near_within is None else self.near_within_fit - self.near_within - self.near_chance
        return max(0.0, self.balance_change - self.balance_chance, lost)

    @property
    def action(self) -> str:
        """What to do: "keep" the model, "update" it, or "refit"; "more samples" where there are too few to tell."""
        if self.n_samples < FEWEST:
            return "more samples"
        if not self.new_classes and self.severity <= UPDATE:
            return "keep"
        return "update" if self.is_updatable and self.severity <= REFIT else "refit"

    @property
    def advice(self) -> str:
        """The action in a sentence."""
        if self.action == "more samples":
            return f"{self.n_samples} samples are too few to tell: pass {FEWEST} or more."
        if self.action == "refit":
            return "These samples differ from those of the fit: fit a new model and encode all samples again."
        if self.action == "keep":
            return "No change that matters: keep the model."
        if not self.new_classes:
            return "These samples differ somewhat from those of the fit: update the model with labelled ones."
        named = ", ".join(map(str, self.new_classes[:5])) + (", ..." if len(self.new_classes) > 5 else "")
        return f"New labels ({named}): update the model with samples of theirs."


def drift_of(model: Any, X: NDArray[Any], y: Any) -> Drift:
    """Compare a batch of validated samples with those that a model was fitted to."""
    rows = evenly_spaced(len(X), MAX_SAMPLES)
    codes, n_bits = model.encode(select(X, rows)), model.n_bits_
    ones = unpack(codes, n_bits) > 0
    expected, labels = _expected_balance(model, y, rows)
    change = np.abs(ones.mean(axis=0) - expected).mean()
    spread = np.sqrt(expected * (1 - expected) * (1 / len(rows) + 1 / len(model.codes_))).mean()
    near, far = _within(model, X, y, rows, codes)
    last = model.history_[-1]
    return Drift(
        n_samples=len(rows),
        balance_change=float(change),
        balance_chance=float(CHANCE * MEAN_ABSOLUTE * spread),
        near_within=near,
        far_within=far,
        near_within_fit=last.near_within,
        far_within_fit=last.far_within,
        # A sample with a wrong code takes part in near pairs with all others of its class.
        near_chance=2 * CHANCE * float(np.sqrt(last.near_within * (1 - last.near_within) / len(rows))),
        new_classes=labels,
        is_updatable=getattr(model.hash_function_, "memory_", None) is not None,
    )


def _expected_balance(model: Any, y: Any, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], list[Any]]:
    """Return the share of ones to expect of each bit, and the labels that the model does not know."""
    overall = (unpack(model.codes_, model.n_bits_) > 0).mean(axis=0)
    known = getattr(model.proximity_, "classes_", None)
    if y is None or known is None:
        return overall, []
    numbers, labels = model.proximity_.numbered(y)
    of_labels = getattr(model.hash_function_, "label_codes_", None)
    is_known = (numbers[rows] != UNLABELLED) & (numbers[rows] < len(known))
    if of_labels is None or not is_known.all():
        return overall, labels[len(known) :]
    return (1 + of_labels[numbers[rows]].mean(axis=0)) / 2, labels[len(known) :]


def _within(
    model: Any, X: NDArray[Any], y: Any, rows: NDArray[np.int64], codes: NDArray[np.uint8]
) -> tuple[float | None, float | None]:
    """Return the shares of near and far pairs within the radius; None where pairs are not known."""
    by_labels = isinstance(model.proximity_, SameLabel | SharedLabel)
    if not (isinstance(model.proximity_, WithinRadius) or (by_labels and y is not None)):
        return None, None
    found = model.proximity_.find_pairs(select(X, rows), None if y is None else np.asarray(y)[rows])
    code = GrowingCode.from_packed(codes, model.n_bits_).take(found.samples)
    shares = []
    for counts in found.pairs.with_code(code).counts():
        shares.append(float(counts[: model.radius_ + 1].sum() / counts.sum()) if counts.sum() else None)
    return shares[0], shares[1]
