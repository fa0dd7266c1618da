import numpy as np
import pytest


@pytest.fixture(name="X")
def samples(rng):
    return rng.normal(size=(120, 4))


@pytest.fixture
def bits(X, rng):
    """Four bits that a hash function can learn, up to some noise."""
    projections = X @ rng.normal(size=(4, 4)) + 0.3 * rng.normal(size=(120, 4))
    return np.where(projections >= 0, 1, -1).astype(np.int8)
