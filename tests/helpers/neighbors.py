"""True neighbours, and the share of them that distances find."""

import numpy as np


def squared_distances(queries, base):
    """Return all squared distances, without products that would cancel."""
    return ((queries[:, None].astype(np.float64) - base) ** 2).sum(axis=2)


def recall_at(k, found_distances, true_distances):
    """Return the share of the k nearest of each query that are among the k first by `found_distances`."""
    true = np.argsort(true_distances, axis=1, kind="stable")[:, :k]
    found = np.argsort(found_distances, axis=1, kind="stable")[:, :k]
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(true, found, strict=True)])
