"""Model files: a fitted model in one file, without pickle.

A model file is a safetensors file (see `container.py`) of kind "model". Its JSON holds

- versions: of proxcode and of the libraries it was fitted with, for information,
- parameters: those of the constructor,
- proximity, hash_function: the fitted components, by class, parameters and what they learned,
- seed, history, alpha, n_features, feature_names: the rest of the fitted model,
- data: fingerprints of the training data, which are not in the file;

arrays are tensors beside it, the codes of the training samples among them. Nothing in the file is executed: components
are rebuilt from a dictionary of known classes. Classifiers of other libraries are one tensor written by skops, which is
read only where the caller states which types to trust.
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from proxcode.storage.components import Classes, ComponentReader, ComponentWriter
from proxcode.storage.container import Tensors, read_file, write_file

KIND = "model"
SKOPS = "skops"


@dataclass(frozen=True)
class ModelContent:
    """What a model file holds.

    Attributes
    ----------
    parameters : dict
        Parameters of the constructor.
    proximity, hash_function : components
        Fitted, with methods `state` and `restore`.
    seed : int
    history : list of lists of numbers
        One for each bit.
    alpha : float
    n_features : int
    feature_names : list of str or None
    data : dict of str to str or None
        Fingerprints of the training data.
    codes : ndarray of uint8
        Codes of the training samples.
    """

    parameters: Mapping[str, Any]
    proximity: Any
    hash_function: Any
    seed: int
    history: list[list[Any]]
    alpha: float
    n_features: int
    feature_names: list[str] | None
    data: dict[str, str | None]
    codes: Any


def write_model(path: str | os.PathLike[str], model: ModelContent, classes: Classes) -> None:
    """Write a model file atomically; equal models give equal bytes, but for classifiers written by skops."""
    writer = ComponentWriter(classes)
    content = {
        "versions": versions(),
        "parameters": {name: writer.value(value, f"parameters.{name}") for name, value in model.parameters.items()},
        "proximity": _stored(writer, model.proximity, "proximity"),
        "hash_function": _stored(writer, model.hash_function, "hash_function"),
        "seed": model.seed,
        "history": model.history,
        "alpha": model.alpha,
        "n_features": model.n_features,
        "feature_names": model.feature_names,
        "data": model.data,
    }
    tensors = {**writer.tensors, "codes": model.codes}
    if writer.objects:
        tensors[SKOPS] = _dump(writer.objects)
    write_file(path, KIND, content, tensors)


def read_model(path: str | os.PathLike[str], classes: Classes, trusted: Sequence[str] | None) -> ModelContent:
    """Read a model file.

    Parameters
    ----------
    path : path
    classes : dict
        Classes of components, by name.
    trusted : list of str or None
        Types of other libraries that skops may build beside those it trusts itself; None refuses any.
    """
    content, tensors = read_file(path, KIND)
    objects = _load(path, tensors[SKOPS].tobytes(), trusted) if SKOPS in tensors else []
    with reading(path):
        return _content(content, tensors, ComponentReader(classes, tensors, objects))


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise ValueError, with the name of the file, for content that is not that of a model."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}.") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} lacks a part of a model file ({error!r}): save the model again.") from error


def _content(content: dict[str, Any], tensors: Tensors, reader: ComponentReader) -> ModelContent:
    return ModelContent(
        parameters={name: reader.value(value) for name, value in content["parameters"].items()},
        proximity=_restored(reader, content["proximity"]),
        hash_function=_restored(reader, content["hash_function"]),
        seed=content["seed"],
        history=content["history"],
        alpha=content["alpha"],
        n_features=content["n_features"],
        feature_names=content["feature_names"],
        data=content["data"],
        codes=tensors["codes"],
    )


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    libraries = {name: version(name) for name in ("proxcode", "numpy", "scipy", "scikit-learn")}
    return {**libraries, "python": platform.python_version()}


def _stored(writer: ComponentWriter, component: Any, name: str) -> dict[str, Any]:
    return {**writer.component(component, name), "state": writer.state(component.state(), name)}


def _restored(reader: ComponentReader, stored: dict[str, Any]) -> Any:
    component = reader.component(stored)
    component.restore(reader.state(stored["state"]))
    return component


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
            f"{path} holds classifiers of types that skops does not trust, {', '.join(unknown)}: if you do, pass "
            f"trusted={sorted([*(trusted or []), *unknown])}."
        )
    if trusted is None:
        raise ValueError(
            f"{path} holds classifiers of another library: pass trusted=[] to load those of types that skops trusts."
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
