"""Labels of the samples of a report."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxcode.evaluation import NoPairsError
from proxcode.evaluation.labels import label_proximity
from proxcode.evaluation.samples import rows_of
from proxcode.proximity import SameLabel, SharedLabel
from proxcode.report.subsets import Rows
from proxcode.utils.labels import UNLABELLED, check_length


@dataclass(frozen=True)
class Labels:
    """Labels of all samples.

    Attributes
    ----------
    proximity : SameLabel or SharedLabel
        Reads the labels.
    y : labels (n_samples,) or indicator matrix (n_samples, n_labels)
    labelled : ndarray of int64
        Samples with a label; all for an indicator matrix.
    """

    proximity: SameLabel | SharedLabel
    y: Any
    labelled: Rows

    @classmethod
    def read(cls, y: Any, given: SameLabel | None, learned: Any, n_samples: int) -> "Labels | None":
        """Return labels read by the given proximity, else by that of the model if it is one of such labels."""
        if y is None:
            return None
        y = np.asarray(y).reshape(-1) if np.ndim(y) == 2 and np.shape(y)[1] == 1 else y
        proximity = label_proximity(y, given, learned)
        if isinstance(proximity, SharedLabel):
            check_length(n_samples, np.shape(y)[0])
            return cls(proximity, y, np.arange(n_samples))
        classes = proximity.read(y)
        proximity.check_minus_one(y, classes)
        check_length(n_samples, len(classes))
        return cls(proximity, y, np.flatnonzero(classes != UNLABELLED))

    def sets(self, rows: Rows) -> list[list[Any]]:
        """Return the labels of samples: one, none, or several."""
        some = rows_of(self.y, rows)
        if isinstance(self.proximity, SharedLabel):
            dense = some.toarray() if hasattr(some, "toarray") else np.asarray(some)
            return [np.flatnonzero(row).tolist() for row in dense]
        # `labelled` is in ascending order and not empty where a sample has a label.
        at = np.minimum(np.searchsorted(self.labelled, rows), max(0, len(self.labelled) - 1))
        has_label = (self.labelled[at] == rows).tolist() if len(self.labelled) else [False] * len(rows)
        values = some.tolist() if hasattr(some, "tolist") else list(some)
        return [[value] if has else [] for value, has in zip(values, has_label, strict=True)]

    def check_pairs(self, rows: Rows) -> None:
        """Raise NoPairsError where the labels of some samples make no near or no far pair."""
        if isinstance(self.proximity, SharedLabel):
            return
        classes = self.proximity.read(rows_of(self.y, rows))
        counts = np.bincount(classes[classes != UNLABELLED])
        if len(counts) == 0:
            raise NoPairsError("no sample has a label: label some.")
        if len(counts) == 1:
            name = self.sets(rows[:1])[0][0]
            raise NoPairsError(f"all labels are {name!r}: without a second class there is no far pair to compare with.")
        if counts.max() == 1:
            raise NoPairsError("no two samples have the same label: without near pairs there is nothing to find.")
