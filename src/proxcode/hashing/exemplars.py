"""Choice of exemplars: samples that a model keeps of each class, to learn from further ones later."""

import numpy as np

from proxcode.utils.rows import Index, evenly_spaced

# Number of exemplars, shared among the classes by their sizes, and the least number for a class with so many samples.
MAX_EXEMPLARS, MIN_EXEMPLARS = 2000, 10
# Samples of a new class that an update learns its bits from.
NEW_EXEMPLARS = 200


def choose_exemplars(classes: Index, class_counts: Index) -> Index:
    """Return the positions of exemplars among samples: evenly spaced ones of each class, in number by its size.

    Examples
    --------
    >>> choose_exemplars(np.array([0, 1, 0, 1]), np.array([10_000, 10]))
    array([0, 1, 2, 3])
    """
    quotas = np.maximum(MIN_EXEMPLARS, np.round(MAX_EXEMPLARS * class_counts / class_counts.sum())).astype(int)
    return _some_of_each(classes, quotas)


def further_exemplars(classes: Index, exemplar_classes: Index, class_counts: Index) -> Index:
    """Return the positions of exemplars among further samples: as dense as those of their class, 200 of a new one.

    `class_counts` are the numbers of all samples, with the further ones.
    """
    n_further = np.bincount(classes, minlength=len(class_counts))
    n_owned = np.bincount(exemplar_classes, minlength=len(class_counts))
    density = n_owned / np.maximum(class_counts - n_further, 1)
    quotas = np.maximum(np.round(density * n_further), MIN_EXEMPLARS - n_owned).astype(int)
    return _some_of_each(classes, np.where(n_owned == 0, NEW_EXEMPLARS, np.maximum(quotas, 0)))


def _some_of_each(classes: Index, quotas: Index) -> Index:
    """Return the positions of at most so many samples of each class, evenly spaced among them, in ascending order."""
    order = np.argsort(classes, kind="stable")
    chosen = [
        members[evenly_spaced(len(members), int(quotas[classes[members[0]]]))]
        for members in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)
        if len(members)
    ]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)
