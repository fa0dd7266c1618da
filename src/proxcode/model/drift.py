"""Drift: whether new samples still resemble those that a code was learned from.

1. Balance of the bits: the share of ones of each bit in a batch against the share to expect, with labels that of the
   same mixture of classes, else that of the training samples.
2. Near and far pairs of the batch within the learned radius, against the shares that the fit measured.
3. Labels that the model does not know.

Differences that batches of this size, drawn like the training samples, would show do not count.
"""

from __future__ import annotations

import math
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
UPDATE, REFIT = 0.1, 0.2
# Mean of |z| over the standard normal distribution, and by how much chance may exceed it: bits are not independent.
MEAN_ABSOLUTE, CHANCE = 0.8, 2.0
# Largest share of near pairs within the radius that new samples are expected to reach, for the size of chance.
MOST_WITHIN = 0.95
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
    labels = None if y is None or not isinstance(model.proximity_, SameLabel | SharedLabel) else _rows_of(y, rows)
    numbers, new_classes = _numbered(model, labels)
    # The code of a new class is of no consequence before the model has learned it.
    is_known = np.ones(len(rows), bool) if numbers is None else numbers < len(model.proximity_.classes_)
    known, labels = rows[is_known], None if labels is None else labels[is_known]
    codes = model.encode(select(X, known)) if len(known) else model.codes_[:0]
    expected = _expected_balance(model, None if numbers is None else numbers[is_known])
    near, far = _within(model, X, known, labels, codes)
    ones = (unpack(codes, model.n_bits_) > 0).mean(axis=0) if len(known) else expected
    spread = np.sqrt(expected * (1 - expected) * (1 / max(1, len(known)) + 1 / len(model.codes_))).mean()
    last = model.history_[-1]
    share = min(last.near_within, MOST_WITHIN)
    return Drift(
        n_samples=len(rows),
        balance_change=float(np.abs(ones - expected).mean()),
        balance_chance=float(CHANCE * MEAN_ABSOLUTE * spread),
        near_within=near,
        far_within=far,
        near_within_fit=last.near_within,
        far_within_fit=last.far_within,
        # A sample with a wrong code takes part in near pairs with all others of its class.
        near_chance=2 * CHANCE * math.sqrt(share * (1 - share) / max(1, len(known))),
        new_classes=new_classes,
        is_updatable=getattr(model.hash_function_, "memory_", None) is not None,
    )


def _rows_of(y: Any, rows: NDArray[np.int64]) -> Any:
    """Return the labels of some samples."""
    if hasattr(y, "iloc"):
        return y.iloc[rows]
    labels = y if hasattr(y, "shape") else np.array(y, dtype=object)
    return labels[rows]


def _numbered(model: Any, labels: Any) -> tuple[NDArray[np.int64] | None, list[Any]]:
    """Return the numbers of labels, larger ones for labels that the model does not know, and these labels."""
    known = getattr(model.proximity_, "classes_", None)
    if labels is None or known is None:
        return None, []
    numbers, classes = model.proximity_.numbered(labels)
    return numbers, classes[len(known) :]


def _expected_balance(model: Any, numbers: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the share of ones to expect of each bit: that of the same classes, or of the training samples."""
    of_labels = getattr(model.hash_function_, "label_codes_", None)
    if numbers is None or of_labels is None or len(numbers) == 0 or (numbers == UNLABELLED).any():
        share: NDArray[np.float64] = (unpack(model.codes_, model.n_bits_) > 0).mean(axis=0)
    else:
        share = (1 + of_labels[numbers].mean(axis=0)) / 2
    return share


def _within(
    model: Any, X: NDArray[Any], rows: NDArray[np.int64], labels: Any, codes: NDArray[np.uint8]
) -> tuple[float | None, float | None]:
    """Return the shares of near and far pairs within the radius; None where pairs are not known."""
    if labels is None and not isinstance(model.proximity_, WithinRadius):
        return None, None
    if len(rows) < 2 or (labels is not None and not _has_label(model, labels)):
        return None, None
    found = model.proximity_.find_pairs(select(X, rows), labels)
    code = GrowingCode.from_packed(codes, model.n_bits_).take(found.samples)
    near, far = found.pairs.with_code(code).counts()
    within = slice(model.radius_ + 1)
    shares = [float(counts[within].sum() / counts.sum()) if counts.sum() else None for counts in (near, far)]
    return shares[0], shares[1]


def _has_label(model: Any, labels: Any) -> bool:
    return not isinstance(model.proximity_, SameLabel) or bool((model.proximity_.read(labels) != UNLABELLED).any())
