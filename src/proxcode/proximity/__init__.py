"""What near and far mean: each class turns the user's data into near and far pairs of samples.

A proximity is fitted like any estimator; `find_pairs` then gives the pairs, and the samples that take part in them.
Samples of which no pair is known (no label, in no listed pair) take no part: they cannot teach a bit anything.
"""

from typing import Any

import numpy as np

from proxcode.proximity.base import Proximity
from proxcode.proximity.distances import Nearest, WithinRadius
from proxcode.proximity.given import GivenPairs
from proxcode.proximity.labels import SameLabel, SharedLabel

__all__ = ["GivenPairs", "Nearest", "Proximity", "SameLabel", "SharedLabel", "WithinRadius", "default_proximity"]


def default_proximity(y: Any) -> Proximity:
    """Return the proximity for a kind of y: labels, an indicator matrix, or None."""
    if y is None:
        return Nearest()
    shape = getattr(y, "shape", None) or np.shape(np.asarray(y, dtype=object))
    return SharedLabel() if len(shape) == 2 and shape[1] > 1 else SameLabel()
