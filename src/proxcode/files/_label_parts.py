"""Labels of several files as one array."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]
# From this magnitude on, different integers are equal as floats.
LONG = 2**53


def check_sizes(parts: Mapping[Path, Labels], sizes: Mapping[Path, int]) -> None:
    """Raise ValueError unless files of labels have as many labels as the files of vectors have samples, in order."""
    for (file, labels), (vectors, size) in zip(parts.items(), sizes.items(), strict=False):
        if len(labels) != size:
            raise ValueError(
                f"{file} holds {len(labels)} labels, but {vectors}, in the same place by name, has {size} samples: "
                "rename the files so that labels and vectors are in the same order."
            )


def joined(parts: Mapping[Path, Labels]) -> Labels:
    """Return the labels of several files as one array; raise ValueError where they are of different kinds."""
    # A file whose labels are all missing may be of either kind.
    known = {file: part for file, part in parts.items() if part.dtype != object or any(part != None)}  # noqa: E711
    first = next(iter(known), None)
    if first is None:
        return np.concatenate(list(parts.values())) if parts else np.empty(0)
    for file, part in known.items():
        if part.shape[1:] != known[first].shape[1:]:
            shapes = [(*known[first].shape[1:], 1)[0], (*part.shape[1:], 1)[0]]
            raise ValueError(f"{first} has {shapes[0]} columns of labels and {file} {shapes[1]}: write all alike.")
        if (part.dtype.kind in "biuf") != (known[first].dtype.kind in "biuf"):
            raise ValueError(f"labels of {first} and {file} are numbers in one and text in the other: write all alike.")
    together = np.concatenate(list(parts.values()))
    # As floats, large integers would become equal.
    is_long = any(part.dtype.kind in "iu" and (np.abs(part.astype(float)) >= LONG).any() for part in known.values())
    if together.dtype.kind == "f" and is_long:
        return np.concatenate([_as_objects(part) for part in parts.values()])
    return together


def _as_objects(labels: Labels) -> Labels:
    """Return labels as Python objects, None for NaN."""
    objects = np.empty(len(labels), object)
    objects[:] = [None if isinstance(label, float) and math.isnan(label) else label for label in labels.tolist()]
    return objects
