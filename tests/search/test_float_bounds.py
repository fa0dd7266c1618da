"""Lower bounds of float queries where single precision rounds much: the results are those of an exhaustive search.

A large number is added in the table of the first byte and subtracted in that of the last one. In between, sums are
rounded to its precision, so that the distance of a code may be below a lower bound that does not allow for rounding.
"""

import numpy as np
import pytest

from helpers.codes import random_codes
from proxcode import HammingIndex
from proxcode.search import FloatQueries

LARGE = 1e6
SEEDS = 10


def assert_exhaustive(queries, codes, k):
    """Assert that a search finds what `FloatQueries.distances` ranks first, ties in order of addition."""
    expected = queries.distances(codes)
    order = np.argsort(expected, axis=1, kind="stable")[:, :k]
    distance, neighbor = HammingIndex(8 * codes.shape[1]).add(codes).search(queries, k)
    np.testing.assert_array_equal(neighbor, order)
    np.testing.assert_array_equal(distance, np.take_along_axis(expected, order, axis=1))


def with_large_terms(tables):
    tables = np.array(tables, np.float64)
    tables[:, 0] += LARGE
    tables[:, -1] -= LARGE
    return FloatQueries(tables)


@pytest.mark.parametrize("n_queries", [1, 33], ids=["one query", "groups of queries"])
def test_distances_of_any_tables_may_be_below_the_sum_of_their_terms(n_queries):
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        queries = with_large_terms(rng.random((n_queries, 8, 256)))
        assert_exhaustive(queries, random_codes(rng, 400, 64), 10)


@pytest.mark.parametrize("n_queries", [1, 33], ids=["one query", "groups of queries"])
def test_distances_of_weighted_bits_may_be_below_the_sum_of_their_weights(n_queries):
    # The unit of the small integers that bounds are summed in is a 255th of the sum of the first four bytes. Weights of
    # the others are multiples of it, so that a bound loses nothing where it is rounded down to units.
    # An odd number of units is rounded down in the sum, since a unit is a bit less than 1.5 times the precision there.
    unit = 1.49 * np.spacing(np.float32(LARGE))
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        weights = np.zeros((n_queries, 256))
        weights[:, 8:32] = 255 * unit / (1 + 1e-6) / 24
        weights[:, 32:-8] = unit * (1 + 1e-6) * rng.integers(1, 7, (n_queries, 216))
        codes = random_codes(rng, 2000, 256)
        codes[:, :4] = 255
        assert_exhaustive(with_large_terms(FloatQueries.from_weights(weights).tables), codes, 50)
