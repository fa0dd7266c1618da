import pytest


@pytest.fixture(scope="module")
def samples(digits):
    X, y = digits
    return X[:160], y[:160]


@pytest.fixture
def checkpoint(tmp_path):
    return tmp_path / "fit.proxcode"
