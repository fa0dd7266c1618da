"""Random codes, and exhaustive search as the reference for indexes."""

import numpy as np

from proxcode.hamming import distances, pack


def random_codes(rng, n, n_bits, n_centers=None, noise=0.1):
    """Return random codes: uniform, or noisy copies of `n_centers` random codes."""
    if n_centers is None:
        return pack(rng.integers(0, 2, (n, n_bits)))
    centers = rng.integers(0, 2, (n_centers, n_bits))
    return pack(centers[rng.integers(0, n_centers, n)] ^ (rng.random((n, n_bits)) < noise))


def reference_search(queries, codes, ids, k):
    """Return distances and ids of the k nearest codes by exhaustive search, ties in order of addition."""
    all_distances = distances(queries, codes)
    order = np.argsort(all_distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(all_distances, order, axis=1), np.asarray(ids)[order]


def assert_same(index, queries, codes, ids, k, radius):
    """Assert that an index of `codes` finds what an exhaustive search finds."""
    distance, neighbor = index.search(queries, k)
    expected_distance, expected_neighbor = reference_search(queries, codes, ids, k)
    np.testing.assert_array_equal(distance, expected_distance)
    np.testing.assert_array_equal(neighbor, expected_neighbor)
    within = index.within(queries, radius)
    assert len(within) == len(queries)
    everything = reference_search(queries, codes, ids, len(codes))
    for (near, who), all_distances, all_ids in zip(within, *everything, strict=True):
        np.testing.assert_array_equal(near, all_distances[all_distances <= radius])
        np.testing.assert_array_equal(who, all_ids[all_distances <= radius])
