import pytest


@pytest.fixture(scope="module")
def samples(digits):
    X, y = digits
    return X[:300], y[:300]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.proxcode"
