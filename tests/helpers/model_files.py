"""Small models and their files as bytes, for tests that compare fitted models to the last byte."""

from proxcode import ProximityPreservingCode

N_BITS = 9


def new_model(**parameters):
    """Return an estimator of `N_BITS` bits that is not fitted."""
    return ProximityPreservingCode(**{"n_bits": N_BITS, "random_state": 0, **parameters})


def file_of(model, folder):
    """Return the model file of a fitted model."""
    path = folder / "model.proxcode"
    model.save(path)
    data = path.read_bytes()
    path.unlink()
    return data
