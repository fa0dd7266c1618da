"""Save and load a fitted model: one file, without pickle.

A model file is a safetensors file (see `_files`) of kind "model". Its JSON holds

- versions: of proxcode and of what it was fitted with, for people to read,
- parameters: those of the constructor,
- proximity, hash_function: the fitted parts, by name, parameters and what they learned,
- seed, history, alpha, n_features, feature_names: the rest of the fitted model,
- data: fingerprints of the training data, which are not in the file;

arrays are tensors beside it, the codes of the training points among them. Nothing in the file is executed: parts are
rebuilt from a dictionary of proxcode's own classes. Classifiers of other libraries are one tensor written by skops,
which is read only where the caller says what to trust.
"""

import math
import numbers
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import scipy
import sklearn
from sklearn.exceptions import NotFittedError

from proxcode.bits import BitRecord
from proxcode.learning import Learned
from proxcode.storage.components import PartsReader, PartsWriter
from proxcode.storage.container import Tensors, read_file, write_file

KIND = "model"
SKOPS = "skops"
History = list[BitRecord]
Model = TypeVar("Model")


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model in one file.

    The file appears under its name when it is whole: a crash leaves the file that was there before, or none. Equal fits
    by equal versions give equal bytes; but skops writes classifiers of other libraries differently each time.

    Parameters
    ----------
    model : ProximityPreservingCode
    path : path

    Notes
    -----
    Not in the file: the training data; the seconds of `history_`, which come back as NaN; what `set_output` was called
    with. A `random_state` that is a generator is stored as None, the seed that was drawn from it is kept: `extend` goes
    on as before. Numbers of NumPy's types come back as Python's.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=8, random_state=0).fit(X[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "digits.proxcode")
    ...     model.save(path)
    ...     loaded = ProximityPreservingCode.load(path)
    >>> bool((loaded.encode(X) == model.encode(X)).all())
    True
    """
    if not hasattr(model, "n_bits_"):
        raise NotFittedError(f"this model is not fitted, there is nothing to save to {path}: call fit first.")
    writer = PartsWriter()
    content = {
        "versions": versions(),
        "parameters": stored_parameters(model, writer),
        "proximity": _fitted(writer, model.proximity_, "proximity"),
        "hash_function": _fitted(writer, model.hash_function_, "hash_function"),
        "seed": model._seed,
        "history": stored_history(model.history_),
        "alpha": model.alpha_,
        "n_features": model.n_features_in_,
        "feature_names": getattr(model, "feature_names_in_", np.array([])).tolist() or None,
        "data": model._data,
    }
    tensors = {**writer.tensors, "codes": model.codes_}
    if writer.objects:
        tensors[SKOPS] = _dump(writer.objects)
    write_file(path, KIND, content, tensors)


def load_model(kind: type[Model], path: str | os.PathLike[str], trusted: Sequence[str] | None = None) -> Model:
    """Load a model that `save_model` saved.

    It encodes, scores and extends as the saved one does: on the same machine and versions to the last digit, elsewhere
    to rounding. `extend` needs the training data given.

    Parameters
    ----------
    kind : class
        ProximityPreservingCode.
    path : path
    trusted : list of str, default=None
        For models with classifiers of other libraries: names of types, as skops gives them, that may be built on top of
        those that skops trusts by itself. None refuses such a model; an empty list trusts skops's own choice.

    Returns
    -------
    ProximityPreservingCode
    """
    content, tensors = read_file(path, KIND)
    objects = _load(path, tensors[SKOPS].tobytes(), trusted) if SKOPS in tensors else []
    try:
        return _rebuild(kind, content, tensors, PartsReader(tensors, objects))
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} does not hold all that a model file holds ({error!r}): save it again.") from error


def _rebuild(kind: type[Model], content: dict[str, Any], tensors: Tensors, reader: PartsReader) -> Model:
    parameters = {name: reader.value(value) for name, value in content["parameters"].items()}
    unknown = sorted(set(parameters) - set(signature(kind).parameters))
    if unknown:
        raise ValueError(f"its model has a parameter {unknown[0]!r} that this version does not know: upgrade proxcode")
    model: Any = kind(**parameters)
    model.n_features_in_ = content["n_features"]
    if content["feature_names"] is not None:
        model.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    learned = Learned(
        seed=content["seed"],
        data=content["data"],
        proximity=_restored(reader, content["proximity"]),
        hash_function=_restored(reader, content["hash_function"]),
        history=loaded_history(content["history"]),
    )
    model._take_over(learned, tensors["codes"])
    return model


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    return {
        "proxcode": version("proxcode"),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }


def stored_parameters(model: Any, writer: PartsWriter) -> dict[str, Any]:
    """Return the constructor's parameters as JSON; a generator as None."""
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], numbers.Integral):
        parameters["random_state"] = None
    return {name: writer.value(value, f"parameters.{name}") for name, value in parameters.items()}


def stored_history(history: History) -> list[list[float]]:
    """Return all of each record but its seconds, which differ from run to run."""
    return [[float(value) if isinstance(value, float) else int(value) for value in record[:-1]] for record in history]


def loaded_history(stored: list[list[Any]]) -> History:
    """Return records whose seconds are NaN."""
    return [BitRecord._make([*record, math.nan]) for record in stored]


def _fitted(writer: PartsWriter, part: Any, name: str) -> dict[str, Any]:
    return {**writer.part(part, name), "state": writer.state(part.state(), name)}


def _restored(reader: PartsReader, stored: dict[str, Any]) -> Any:
    part = reader.part(stored)
    part.restore(reader.state(stored["state"]))
    return part


def _dump(objects: list[Any]) -> Any:
    skops_io = _import_skops("saving")
    try:
        data = skops_io.dumps(objects)
    except skops_io.exceptions.UnsupportedTypeException as error:
        raise TypeError(
            f"skops cannot store these classifiers ({error}): use KernelHash, LinearHash or SVMHash."
        ) from error
    return np.frombuffer(data, np.uint8)


def _load(path: str | os.PathLike[str], data: bytes, trusted: Sequence[str] | None) -> list[Any]:
    skops_io = _import_skops(f"loading {path}")
    unknown = sorted(set(skops_io.get_untrusted_types(data=data)) - set(trusted or []))
    if unknown:
        raise ValueError(
            f"{path} holds classifiers with types that skops does not trust by itself, {', '.join(unknown)}: if you "
            f"do, pass trusted={sorted([*(trusted or []), *unknown])}."
        )
    if trusted is None:
        raise ValueError(
            f"{path} holds classifiers of another library: pass trusted=[] to have them built of the types that skops "
            "trusts by itself."
        )
    return list(skops_io.loads(data, trusted=list(trusted)))


def _import_skops(purpose: str) -> Any:
    try:
        import skops.io
        import skops.io.exceptions
    except ImportError as error:
        raise ImportError(
            f"{purpose} a model with classifiers of another library needs skops: pip install 'proxcode[skops]'."
        ) from error
    return skops.io
