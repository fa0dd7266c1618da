"""Fitted transformers of scikit-learn as JSON and arrays, and back.

1. `store` writes what `forms.py` lists for the class of a transformer and nothing else; a transformer of another class
   is set aside for skops.
2. `restore` builds the object from its class, validates each attribute, and transforms a sample, so that a version of
   scikit-learn which needs more than the file holds is named at once.

Parameters that the scikit-learn at hand does not know are dropped if they only mattered to `fit`.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

from proxcode.pipeline.forms import CLASSES, FEATURES, FLAG, FORMS, RANGE, Form
from proxcode.storage.components import ComponentReader, ComponentWriter
from proxcode.storage.state import State
from proxcode.utils.validation import check_integer, check_number


def store(transformer: Any, writer: ComponentWriter, name: str) -> dict[str, Any]:
    """Return a fitted transformer as JSON; its arrays, or all of it, are left with the writer.

    Parameters
    ----------
    transformer : transformer
    writer : ComponentWriter
    name : str
        Name of its arrays in the file.
    """
    form = FORMS.get(type(transformer))
    if form is None:
        kind = type(transformer)
        return {"type": f"{kind.__module__}.{kind.__qualname__}", **writer.object(transformer)}
    learned = {key: getattr(transformer, key, None) for key in (*form.arrays, *form.numbers)}
    return {
        "class": type(transformer).__name__,
        "parameters": {
            key: writer.value(value, f"{name}.{key}") for key, value in _parameters(transformer, form).items()
        },
        "learned": {key: _stored(value, writer, f"{name}.{key}") for key, value in learned.items()},
        "n_features": int(transformer.n_features_in_),
        "feature_names": getattr(transformer, "feature_names_in_", np.array([])).tolist() or None,
    }


def _parameters(transformer: BaseEstimator, form: Form) -> dict[str, Any]:
    """Return the parameters that `transform` depends on, and others that are not the default.

    Raises TypeError for one that this version of proxcode does not know.
    """
    parameters = transformer.get_params(deep=False)
    # Of the generator that a fit used, a file holds nothing.
    if not isinstance(parameters.get("random_state"), numbers.Integral):
        parameters.pop("random_state", None)
    defaults = type(transformer)().get_params(deep=False)
    stored = {name: value for name, value in parameters.items() if name in form.deciding or value != defaults[name]}
    if unknown := sorted(set(stored) - {*form.deciding, *form.others}):
        raise TypeError(
            f"{unknown[0]}={stored[unknown[0]]!r} of {transformer!r} is not known to this version of proxcode: keep "
            "the default, or upgrade."
        )
    return stored


def _stored(value: Any, writer: ComponentWriter, name: str) -> Any:
    """Return a number or an array as JSON, with the order of the array in memory; NumPy's numbers are arrays too."""
    if not isinstance(value, np.ndarray | np.generic):
        return writer.value(value, name)
    array = np.asarray(value)
    # A matrix product rounds differently for arrays that are laid out differently in memory.
    flipped = tuple(axis for axis, stride in enumerate(array.strides) if stride < 0)
    straight = np.asarray(np.flip(array, flipped))
    is_transposed = straight.ndim == 2 and straight.strides[0] < straight.strides[1]
    stored = writer.value(straight.T if is_transposed else straight, name)
    return {**stored, "flipped": list(flipped), "transposed": is_transposed}


def restore(stored: dict[str, Any], reader: ComponentReader) -> tuple[Any, int | None]:
    """Return a transformer, and the number of features of its output, None where that is not known.

    Raises ValueError or TypeError for content that no transformer has.

    Parameters
    ----------
    stored : dict
        What `store` returned.
    reader : ComponentReader
        Its `sizes` hold the number of features of the input, "n_features", where that is known.
    """
    if "object" in stored:
        return reader.value({"object": stored["object"]}), None
    name = stored["class"]
    if not isinstance(name, str) or name not in CLASSES:
        raise ValueError(f"it names a transformer {name!r} that this version does not know: upgrade proxcode")
    kind, form = CLASSES[name], FORMS[CLASSES[name]]
    n_features = check_integer(f"n_features of its {name}", stored["n_features"], 1)
    if reader.sizes.get("n_features", n_features) != n_features:
        raise ValueError(
            f"its {name} takes {n_features} features, but gets {reader.sizes['n_features']}: save the pipeline again"
        )
    transformer = kind(**_restored_parameters(kind, form, stored["parameters"], reader))
    arrays, learned = _split(stored["learned"], reader)
    state = State(learned, arrays, sizes={"n_features": n_features})
    for key in form.arrays:
        setattr(transformer, key, _restored_array(key, form, stored["learned"].get(key), state, transformer))
    for key in form.numbers:
        setattr(transformer, key, _restored_number(key, stored["learned"].get(key), state))
    if kind is PCA:
        transformer.n_components_ = state.sizes["n_components"]
    transformer.n_features_in_ = n_features
    if stored["feature_names"] is not None:
        transformer.feature_names_in_ = check_names(stored["feature_names"], n_features)
    _check_transform(transformer)
    return transformer, state.sizes[form.width]


def _split(learned: dict[str, Any], reader: ComponentReader) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the learned arrays, as they are stored, and the learned numbers."""
    arrays = {key: reader.value({"array": value["array"]}) for key, value in learned.items() if isinstance(value, dict)}
    return arrays, {key: value for key, value in learned.items() if key not in arrays}


def _restored_parameters(
    kind: type[BaseEstimator], form: Form, stored: dict[str, Any], reader: ComponentReader
) -> dict[str, Any]:
    """Return the parameters of a transformer, those that `transform` depends on validated."""
    parameters = {name: reader.value(value) for name, value in stored.items()}
    known = kind._get_param_names()
    for name in parameters:
        if name not in (*form.deciding, *form.others) or (name in form.deciding and name not in known):
            raise ValueError(f"its {kind.__name__} has a parameter {name!r} that is not known here: upgrade")
    for name, expected in form.deciding.items():
        value = parameters[name]
        if expected == FLAG:
            is_valid = isinstance(value, bool)
        elif expected == RANGE:
            low, high = (check_number(name, end) for end in value)
            is_valid = isinstance(value, tuple) and low < high
        else:
            is_valid = isinstance(value, str) and value in expected
        if not is_valid:
            raise ValueError(f"{name} of its {kind.__name__} is {value!r}: save the pipeline again")
    return {name: value for name, value in parameters.items() if name in known}


def _restored_array(name: str, form: Form, stored: Any, state: State, transformer: Any) -> NDArray[Any] | None:
    """Return a learned array, laid out in memory as it was."""
    if stored is None:
        if name in form.used(transformer):
            raise ValueError(f"its array {name!r} is missing; save the pipeline again")
        return None
    shape = form.arrays[name]
    is_transposed = stored["transposed"] is True
    array = state.array(name, *(shape[::-1] if is_transposed else shape))
    if name in form.positive and not (array > 0).all():
        raise ValueError(f"its array {name!r} holds {array.min()}: expected numbers above 0; save the pipeline again")
    flipped = tuple(check_integer("axis of an array", axis, 0, array.ndim - 1) for axis in stored["flipped"])
    return np.flip(array.T if is_transposed else array, flipped)


def _restored_number(name: str, stored: Any, state: State) -> Any:
    """Return a learned number, or the same number of each feature."""
    if not isinstance(stored, dict):
        check_number(name, stored)
        return stored
    is_integer = state.arrays[name].dtype.kind == "i"
    shape = FEATURES if state.arrays[name].ndim else ()
    return state.array(name, *shape, below=2**62 if is_integer else None)[()]


def check_names(names: Any, n_features: int) -> NDArray[Any]:
    """Return names of features as an array. Raises ValueError unless there is one for each feature."""
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ValueError(f"its feature_names are not those of {n_features} features: save the pipeline again")
    return np.array(names, dtype=object)


def _check_transform(transformer: Any) -> None:
    """Raise ValueError where the scikit-learn at hand cannot use a transformer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            transformer.transform(np.zeros((1, transformer.n_features_in_)))
    except Exception as error:
        raise ValueError(
            f"scikit-learn {sklearn.__version__} cannot use its {type(transformer).__name__} "
            f"({' '.join(str(error).split())}): install the version that `proxcode info` shows for the file"
        ) from error
