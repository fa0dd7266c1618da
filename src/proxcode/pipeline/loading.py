"""One function that loads a model, with or without transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from proxcode.code import ProximityPreservingCode
from proxcode.model.saving import FilePath
from proxcode.pipeline.code_pipeline import CodePipeline
from proxcode.storage.container import kind_of
from proxcode.storage.model_file import PIPELINE

Model = ProximityPreservingCode | CodePipeline


def code_of(model: Model) -> ProximityPreservingCode:
    """Return the code of a model: of a pipeline its last step."""
    code: ProximityPreservingCode = model[-1] if isinstance(model, CodePipeline) else model
    return code


def check_fitted_model(model: Any) -> None:
    """Raise TypeError unless this is a code or a pipeline of one, and NotFittedError unless it is fitted."""
    if not isinstance(model, Model):
        raise TypeError(f"model={model!r:.100}: expected a ProximityPreservingCode or a CodePipeline.")
    check_is_fitted(model, "n_bits_")


def load(path: FilePath, *, trusted: Sequence[str] | None = None) -> Model:
    """Load a model: a `ProximityPreservingCode`, or a `CodePipeline` with the transformers before it.

    Parameters
    ----------
    path : path
        A file that `save` wrote.
    trusted : list of str, default=None
        For models with estimators of other libraries: names of types, as skops gives them, that may be built beside
        those that skops trusts. None refuses such a model; an empty list accepts what skops trusts.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import StandardScaler
    >>> import proxcode
    >>> X, y = load_digits(return_X_y=True)
    >>> code = proxcode.ProximityPreservingCode(n_bits=16, random_state=0)
    >>> model = proxcode.CodePipeline([("scale", StandardScaler()), ("code", code)]).fit(X[:1000], y[:1000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/digits.proxcode")
    ...     loaded = proxcode.load(f"{folder}/digits.proxcode")
    >>> loaded
    CodePipeline(steps=[('scale', StandardScaler()),
                        ('code',
                         ProximityPreservingCode(n_bits=16, random_state=0))])
    >>> (loaded.encode(X) == model.encode(X)).all()
    np.True_
    """
    if kind_of(path) == PIPELINE:
        return CodePipeline.load(path, trusted=trusted)
    return ProximityPreservingCode.load(path, trusted=trusted)
