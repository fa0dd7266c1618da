"""Model files: a fitted model in one file, without pickle.

A model file is a safetensors file (see `container.py`) of kind "model". Its JSON holds

- versions: of proxcode and of the libraries it was fitted with, for information,
- parameters: those of the constructor,
- proximity, hash_function: the fitted components, by class, parameters and what they learned,
- seed, history, training_loss, alpha, unit, n_features, feature_names, updates, bit_digests: the rest of the model,
- data: fingerprints of the training data, which are not in the file;

arrays are tensors beside it, the codes of the training samples among them. Nothing in the file is executed: components
are rebuilt from a dictionary of known classes. Classifiers of other libraries are one tensor written by skops, which is
read only where the caller states which types to trust.

A file of kind "pipeline" holds in addition the transformers that samples pass before they are encoded: its JSON has
versions, steps, n_features and feature_names of the samples, and the content of the model under "model".
"""

import math
import os
import platform
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from proxcode.hamming import check_codes
from proxcode.storage.components import Classes, ComponentReader, ComponentWriter
from proxcode.storage.container import Tensors, content_digest, kind_of, read_file, reading, write_file
from proxcode.storage.state import plain_parameters
from proxcode.utils.validation import check_integer, check_number

KIND, PIPELINE = "model", "pipeline"
SKOPS = "skops"
COMPONENTS = ("proximity", "hash_function")


class ModelFile(NamedTuple):
    """Contents of a model file.

    Attributes
    ----------
    parameters : dict
        Parameters of the constructor.
    components : dict
        The fitted components by name, with methods `state` and `restore`.
    values : dict
        The rest, as JSON.
    codes : ndarray of uint8
        Codes of the training samples.
    """

    parameters: Mapping[str, Any]
    components: Mapping[str, Any]
    values: Mapping[str, Any]
    codes: Any


def write_model(path: str | os.PathLike[str], model: ModelFile, classes: Classes, *, overwrite: bool = True) -> None:
    """Write a model file atomically; equal models give equal bytes, but for classifiers written by skops."""
    writer = ComponentWriter(classes)
    write_content(path, KIND, model_content(model, writer), writer, overwrite=overwrite)


def model_content(model: ModelFile, writer: ComponentWriter) -> dict[str, Any]:
    """Return the JSON of a model; its arrays and classifiers are left with the writer."""
    content = {
        "parameters": {name: writer.value(value, f"parameters.{name}") for name, value in model.parameters.items()},
        **{name: _stored(writer, component, name) for name, component in model.components.items()},
        **model.values,
    }
    writer.tensors["codes"] = model.codes
    return content


def write_content(
    path: str | os.PathLike[str], kind: str, content: Mapping[str, Any], writer: ComponentWriter, *, overwrite: bool
) -> None:
    """Write the JSON of a file, and what the writer set aside."""
    objects = {SKOPS: _dump(writer.objects, kind)} if writer.objects else {}
    content = {"versions": versions(), **content}
    write_file(path, kind, content, {**writer.tensors, **objects}, overwrite=overwrite)


def code_digest(hash_function: Any, values: Sequence[Any]) -> str:
    """Return the SHA-256 of what determines codes: the hash function, and values that JSON can hold."""
    return content_digest({"hash function": plain_parameters(hash_function), "values": values}, {})


def read_model(path: str | os.PathLike[str], classes: Classes, trusted: Sequence[str] | None) -> ModelFile:
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
    objects = load_objects(path, tensors, trusted)
    with reading(path, KIND):
        return restored_model(content, tensors, objects, classes)


def restored_model(content: dict[str, Any], tensors: Tensors, objects: list[Any], classes: Classes) -> ModelFile:
    """Return a model from the JSON and the arrays of a file, and from what skops read."""
    sizes = check_content(content)
    check_codes(tensors["codes"], sizes["n_bits"])
    reader = ComponentReader(classes, tensors, objects, sizes)
    return ModelFile(
        parameters={name: reader.value(value) for name, value in content.pop("parameters").items()},
        components={name: _restored(reader, content.pop(name)) for name in COMPONENTS},
        values=content,
        codes=tensors["codes"],
    )


def read_content(path: str | os.PathLike[str], *, mapped: bool = False) -> tuple[str, dict[str, Any], Tensors]:
    """Return the kind of a file of a model or a pipeline, its JSON and its arrays; raise ValueError for another."""
    kind = PIPELINE if kind_of(path) == PIPELINE else KIND
    return kind, *read_file(path, kind, mapped=mapped)


def read_sizes(path: str | os.PathLike[str]) -> dict[str, int]:
    """Return the numbers of features of samples and of bits of a file of a model or a pipeline, from its JSON alone."""
    kind, content, _ = read_content(path, mapped=True)
    with reading(path, kind):
        if kind == KIND:
            return check_content(content)
        sizes = check_content(content["model"])
        if content["n_features"] is None:
            raise ValueError("its samples are not vectors: load it in Python, by proxcode.load")
        return {**sizes, "n_features": check_integer("its n_features", content["n_features"], 1)}


def check_content(content: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of features and of bits of a model; raise an error for values that no model has."""
    history, names, data = content["history"], content["feature_names"], content["data"]
    n_features, n_bits = check_integer("its n_features", content["n_features"], 1), len(history)
    if not history:
        raise ValueError("it holds no bits: save the model again")
    for record in history:
        if not all(isinstance(number, int | float) for number in record) or not math.isfinite(record[0]):
            raise ValueError(f"its history holds {record!r}, not the figures of a bit: save the model again")
    check_integer("its seed", content["seed"], 0, 2**32 - 1)
    if content.get("training_loss") is not None:
        check_number("its training_loss", content["training_loss"], at_least=0)
    if names is not None and (len(names) != n_features or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"its feature_names are not those of {n_features} features: save the model again")
    if not all(data[name] is None or isinstance(data[name], str) for name in ("X", "y")):
        raise ValueError("its data are not fingerprints: save the model again")
    return {"n_features": n_features, "n_bits": n_bits}


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


def _dump(objects: list[Any], kind: str) -> Any:
    skops_io = _import_skops("saving")
    try:
        data = skops_io.dumps(objects)
    except skops_io.exceptions.UnsupportedTypeException as error:
        raise TypeError(f"skops cannot store these {_OBJECTS[kind]} ({error}): use {_INSTEAD[kind]}.") from error
    return np.frombuffer(data, np.uint8)


def load_objects(
    path: str | os.PathLike[str], tensors: Tensors, trusted: Sequence[str] | None, kind: str = KIND
) -> list[Any]:
    """Return the estimators of other libraries in a file. Raises ValueError unless all of their types are trusted."""
    if SKOPS not in tensors:
        return []
    data, what = tensors[SKOPS].tobytes(), _OBJECTS[kind]
    skops_io = _import_skops(f"loading {path}")
    try:
        unknown = sorted(set(skops_io.get_untrusted_types(data=data)) - set(trusted or []))
    except (ValueError, LookupError, TypeError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} holds {what} that skops cannot read ({error}): save the {kind} again.") from error
    if unknown:
        raise ValueError(
            f"{path} holds {what} of types that skops does not trust, {', '.join(unknown)}: if you do, pass "
            f"trusted={sorted([*(trusted or []), *unknown])}."
        )
    if trusted is None:
        raise ValueError(
            f"{path} holds {what} of another library: pass trusted=[] to load those of types that skops trusts."
        )
    return list(skops_io.loads(data, trusted=list(trusted)))


# What skops writes and reads in each kind of file, and what needs no skops.
_OBJECTS = {KIND: "classifiers", PIPELINE: "transformers or classifiers"}
_INSTEAD = {
    KIND: "KernelHash, LinearHash or SVMHash",
    PIPELINE: "transformers such as StandardScaler and PCA, and hash functions of proxcode",
}


def _import_skops(purpose: str) -> Any:
    try:
        import skops.io
        import skops.io.exceptions
    except ImportError as error:
        raise ImportError(
            f"{purpose} a model with estimators of another library needs skops: pip install 'proxcode[skops]'."
        ) from error
    return skops.io
