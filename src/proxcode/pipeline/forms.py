"""What determines the output of a transformer: the classes of scikit-learn that are stored without pickle.

`FORMS` lists, for each class, the parameters that `transform` depends on, the other parameters, and the learned
attributes with their shapes. A new class is an entry of it. `traits` describes any transformer, for fingerprints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from proxcode.storage.state import fingerprint

FEATURES, COMPONENTS = ("n_features",), ("n_components",)
# Kinds of parameters that `transform` depends on: True or False, a pair of numbers, or one of some names.
FLAG, RANGE = "flag", "range"
SPECTRUM = dict.fromkeys(("explained_variance_", "explained_variance_ratio_", "singular_values_"), COMPONENTS)


@dataclass(frozen=True)
class Form:
    """What a file holds of a transformer.

    Attributes
    ----------
    deciding : dict of str to str or tuple of str
        Parameters that `transform` depends on, and their kind.
    others : tuple of str
        Other parameters.
    arrays : dict of str to tuple of str
        Learned arrays and their shapes; each may be None unless it is needed.
    needed : dict of str to str or None
        Arrays that must not be None, always or where a parameter is true.
    positive : tuple of str
        Arrays of numbers above 0.
    numbers : tuple of str
        Learned numbers; a number of samples may be given for each feature.
    width : str
        Number of features of the output.
    """

    deciding: dict[str, str | tuple[str, ...]] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    arrays: dict[str, tuple[str, ...]] = field(default_factory=dict)
    needed: dict[str, str | None] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    width: str = "n_features"

    def used(self, transformer: Any) -> list[str]:
        """Return the arrays that `transform` of a transformer uses."""
        return [name for name, flag in self.needed.items() if flag is None or getattr(transformer, flag)]


FORMS: dict[type[BaseEstimator], Form] = {
    StandardScaler: Form(
        deciding={"with_mean": FLAG, "with_std": FLAG},
        others=("copy",),
        arrays={"mean_": FEATURES, "var_": FEATURES, "scale_": FEATURES},
        needed={"mean_": "with_mean", "scale_": "with_std"},
        positive=("scale_",),
        numbers=("n_samples_seen_",),
    ),
    MinMaxScaler: Form(
        deciding={"feature_range": RANGE, "clip": FLAG},
        others=("copy",),
        arrays=dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), FEATURES),
        needed={"min_": None, "scale_": None},
        positive=("scale_",),
        numbers=("n_samples_seen_",),
    ),
    Normalizer: Form(deciding={"norm": ("l1", "l2", "max")}, others=("copy",)),
    PCA: Form(
        deciding={"whiten": FLAG},
        others=(
            *("n_components", "copy", "svd_solver", "tol", "iterated_power", "n_oversamples"),
            *("power_iteration_normalizer", "random_state"),
        ),
        arrays={"components_": ("n_components", "n_features"), "mean_": FEATURES, **SPECTRUM},
        needed={"components_": None, "mean_": None, "explained_variance_": "whiten"},
        numbers=("n_samples_", "noise_variance_"),
        width="n_components",
    ),
    TruncatedSVD: Form(
        others=(
            *("n_components", "algorithm", "n_iter", "n_oversamples", "power_iteration_normalizer"),
            *("random_state", "tol"),
        ),
        arrays={"components_": ("n_components", "n_features"), **SPECTRUM},
        needed={"components_": None},
        width="n_components",
    ),
}
CLASSES = {kind.__name__: kind for kind in FORMS}


def traits(transformer: Any) -> list[Any]:
    """Return what determines the output of a fitted transformer, as JSON can hold it; arrays by fingerprint.

    Of a class in `FORMS` these are the parameters and the learned arrays that `transform` depends on; of another one
    all public attributes, and private arrays and estimators.

    Examples
    --------
    >>> scaler = StandardScaler(with_std=False).fit([[0.0], [2.0]])
    >>> traits(scaler)[:2], traits(scaler) == traits(StandardScaler(with_std=False, copy=False).fit([[1.0], [1.0]]))
    (['StandardScaler', {'with_mean': True, 'with_std': False}], True)
    """
    form = FORMS.get(type(transformer))
    name = type(transformer).__name__
    if form is None:
        return [name, {key: _trait(value) for key, value in sorted(vars(transformer).items()) if _counts(key, value)}]
    parameters = {key: _trait(getattr(transformer, key)) for key in form.deciding}
    return [name, parameters, {key: _trait(getattr(transformer, key)) for key in form.used(transformer)}]


def _counts(name: str, value: Any) -> bool:
    """Return whether an attribute may decide the output: private ones only if they were learned.

    Other private attributes may differ from process to process: vectorizers of text keep the address of a list in one.
    """
    return not name.startswith("_") or isinstance(value, np.ndarray | BaseEstimator) or sp.issparse(value)


def _trait(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays by fingerprint, functions and classes by their names.

    Of an object that is neither of these nor an estimator it is the class alone.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return fingerprint(value)
    if isinstance(value, BaseEstimator):
        return traits(value)
    parts = _parts(value)
    if parts is not None:
        return [_trait(part) for part in parts]
    if isinstance(value, float):
        return str(value)
    return _name(value) if callable(value) else type(value).__name__


def _parts(value: Any) -> Iterable[Any] | None:
    """Return the parts of a collection, a sparse matrix or a partial function; None for anything else."""
    if isinstance(value, list | tuple | np.ndarray):
        return value
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, dict):
        return [[str(key), item] for key, item in sorted(value.items(), key=lambda item: str(item[0]))]
    if sp.issparse(value):
        entries = sp.csr_array(value, copy=True)
        entries.sum_duplicates()
        return [*entries.shape, entries.data, entries.indices, entries.indptr]
    return [value.func, value.args, value.keywords] if isinstance(value, partial) else None


def _name(function: Any) -> Any:
    """Return the name of a function or class; of a function without one, what it computes."""
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", type(function).__name__))
    code = getattr(function, "__code__", None)
    if code is None or "<" not in name:
        return f"{getattr(function, '__module__', '')}.{name}"
    return [name, code.co_code.hex(), [_trait(constant) for constant in code.co_consts], list(code.co_names)]
