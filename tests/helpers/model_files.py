"""Small models and their files as bytes, for tests that compare fitted models to the last byte."""

import pytest

from proxcode import ProximityPreservingCode
from proxcode.bits import BitLoop

N_BITS = 9


def new_model(**parameters):
    """Return an estimator of `N_BITS` bits that is not fitted."""
    return ProximityPreservingCode(**{"n_bits": N_BITS, "random_state": 0, **parameters})


def interrupted(monkeypatch, model, X, y, checkpoint, n_bits):
    """Fit, and interrupt while the bit after the first `n_bits` is learned."""
    find_threshold = BitLoop._find_threshold

    def interrupting(loop):
        find_threshold(loop)
        if loop.code.n_bits == n_bits + 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BitLoop, "_find_threshold", interrupting)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, checkpoint=checkpoint)
    return model


def file_of(model, folder):
    """Return the model file of a fitted model."""
    path = folder / "model.proxcode"
    model.save(path)
    data = path.read_bytes()
    path.unlink()
    return data
