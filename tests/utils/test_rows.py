"""Selections of rows."""

import numpy as np

from proxcode.utils.rows import evenly_spaced


def test_evenly_spaced_numbers():
    np.testing.assert_array_equal(evenly_spaced(5, 9), np.arange(5))
    chosen = evenly_spaced(100_003, 50_000)
    assert len(chosen) == 50_000
    assert (chosen[0], chosen[-1]) == (0, 100_002)
    assert set(np.diff(chosen)) <= {1, 2, 3}
