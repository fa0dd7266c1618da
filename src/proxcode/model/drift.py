"""Drift: whether new samples still resemble those that a code was learned from.

1. Balance of the bits: the share of ones of each bit in a batch against the share to expect, with labels that of the
   same mixture of classes, else that of the training samples, after an update that of all samples learned from.
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
from proxcode.hashing.encoder import codes_of, without_codes
from proxcode.proximity import SameLabel, SharedLabel, WithinRadius
from proxcode.utils.labels import UNLABELLED, check_length
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.samples import select
from proxcode.utils.validation import in_units

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
        Number of samples compared; samples without a label are left out, unless no sample has one.
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
    labels, new_classes = _read_labels(model.proximity_, y, len(X))
    rows = np.arange(len(X)) if labels is None or labels.ndim == 2 else np.flatnonzero(labels != UNLABELLED)
    compared = rows = rows[evenly_spaced(len(rows), MAX_SAMPLES)]
    if new_classes and labels is not None:
        # The code of a new class is of no consequence before the model has learned it.
        compared = rows[labels[rows] < len(model.proximity_.classes_)]
    labels = None if labels is None else labels[..., compared]
    samples = select(X, compared)
    codes = codes_of(without_codes(model).hash_function_, in_units(samples, model._unit), model.n_bits_)
    expected = _expected_balance(model, labels)
    near, far = _within(model, samples, labels, codes)
    ones = unpack(codes, model.n_bits_).mean(axis=0) if len(compared) else expected
    spread = np.sqrt(expected * (1 - expected) * (1 / max(1, len(compared)) + 1 / len(model.codes_))).mean()
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
        near_chance=2 * CHANCE * math.sqrt(share * (1 - share) / max(1, len(compared))),
        new_classes=new_classes,
        is_updatable=_memory(model) is not None and _known_classes(model.proximity_) is not None,
    )


def _read_labels(proximity: Any, y: Any, n_samples: int) -> tuple[NDArray[Any] | None, list[Any]]:
    """Return labels as `proximity.read` does, with the numbers of known classes, and the labels that are not known.

    None where the proximity uses no labels, or no sample has one.
    """
    if y is None or not isinstance(proximity, SameLabel | SharedLabel):
        return None, []
    known = _known_classes(proximity)
    labels: NDArray[Any]
    if known is None or isinstance(proximity, SharedLabel):
        labels, new_classes = proximity.read(y), []
    else:
        labels, classes = proximity.numbered(y)
        new_classes = classes[len(known) :]
    check_length(n_samples, labels.shape[-1])
    is_missing = isinstance(proximity, SameLabel) and bool((labels == UNLABELLED).all())
    return None if is_missing else labels, new_classes


def _expected_balance(model: Any, labels: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the share of ones to expect of each bit: that of the same classes, or of all samples learned from."""
    of_classes: Any = getattr(model.hash_function_, "label_codes_", None)
    memory = _memory(model)
    weights = None
    if of_classes is not None and labels is not None and labels.size and _known_classes(model.proximity_) is not None:
        weights = np.bincount(labels, minlength=len(of_classes))
    elif of_classes is not None and memory is not None and memory.is_updated:
        weights = memory.class_counts
    share: NDArray[np.float64]
    if weights is None:
        share = unpack(model.codes_, model.n_bits_).mean(axis=0)
    else:
        share = (1 + np.average(of_classes, axis=0, weights=weights)) / 2
    return share


def _within(
    model: Any, X: NDArray[Any], labels: NDArray[Any] | None, codes: NDArray[np.uint8]
) -> tuple[float | None, float | None]:
    """Return the shares of near and far pairs within the radius; None where pairs are not known."""
    if len(codes) < 2 or (labels is None and not isinstance(model.proximity_, WithinRadius)):
        return None, None
    found = model.proximity_.find_pairs(X) if labels is None else model.proximity_.pairs_of(labels)
    code = GrowingCode.from_packed(codes, model.n_bits_).take(found.samples)
    near, far = found.pairs.with_code(code).counts()
    within = slice(model.radius_ + 1)
    shares = [float(counts[within].sum() / counts.sum()) if counts.sum() else None for counts in (near, far)]
    return shares[0], shares[1]


def _known_classes(proximity: Any) -> list[Any] | None:
    known: list[Any] | None = getattr(proximity, "classes_", None)
    return known


def _memory(model: Any) -> Any:
    return getattr(model.hash_function_, "memory_", None)
