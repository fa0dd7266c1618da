import os
from pathlib import Path

import numpy as np
import pytest

# Processes that are killed, whole experiments and deployments, many random operations: `make test-slow`.
SLOW = {
    "test_cli_installed.py",
    "test_deployments.py",
    "test_faults.py",
    "test_kill.py",
    "test_killed_fit.py",
    "test_killed_writer.py",
    "test_month.py",
    "test_parallel.py",
    "test_quick.py",
    "test_random_operations.py",
    "test_real_data.py",
    "test_runner.py",
    "test_startup.py",
}
# Several processes run one file each at a time: long ones come first, so that all processes end together.
LONG = (
    "test_sklearn.py",
    "test_peers.py",
    "test_within_radius.py",
    "test_examples.py",
    "test_engines.py",
    "test_pages.py",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in SLOW:
            item.add_marker("slow")
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


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
