import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder():
    folder = os.environ.get("PROXCODE_DATA")
    if not folder:
        pytest.skip("PROXCODE_DATA is not set: this test needs the real data")
    return Path(folder)


@pytest.fixture(scope="session")
def mnist(data_folder):
    """The first 5,000 training and the first 1,000 test images, as unit rows."""
    with np.load(data_folder / "mnist.npz") as file:
        rows = np.r_[:5000, int(file["n_train"]) + np.arange(1000)]
        X, y = file["x"][rows].astype(np.float64), file["y"][rows]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:5000], y[:5000], X[5000:], y[5000:]


@pytest.fixture(scope="session")
def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def train(digits):
    X, y = digits
    return X[:500], y[:500]


@pytest.fixture(scope="session")
def new(digits):
    X, y = digits
    return X[500:900], y[500:900]
