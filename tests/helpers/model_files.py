"""Model files as bytes, for tests that compare fitted models to the last byte."""


def file_of(model, folder):
    """Return the model file of a fitted model."""
    path = folder / "model.proxcode"
    model.save(path)
    data = path.read_bytes()
    path.unlink()
    return data
