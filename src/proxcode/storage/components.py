"""Components, parameters and learned state as JSON and arrays, and back.

Nothing is imported by a name found in a file: components are rebuilt from a dictionary of known classes. Classifiers of
other libraries are set aside, to be written by skops and read only where the caller trusts them.

`component_text` describes a stored component without its class, and therefore without the import of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proxcode.storage.container import Tensors
from proxcode.storage.state import State
from proxcode.utils.validation import check_integer

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Classes = Mapping[str, "type[BaseEstimator]"]
# Rows and columns of a sparse matrix of pairs.
MAX_SPARSE = 2**27
SPARSE_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def with_subclasses(kinds: Sequence[type]) -> Iterator[type]:
    """Yield classes and all that are derived from them."""
    for kind in kinds:
        yield kind
        yield from with_subclasses(kind.__subclasses__())


class ComponentWriter:
    """Turns values into JSON, and sets arrays and classifiers aside.

    Parameters
    ----------
    classes : dict
        Classes of components that may be stored, by name.

    Attributes
    ----------
    tensors : dict of ndarray
        Arrays, by the place where they were found.
    objects : list
        Classifiers of other libraries.
    """

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self.tensors: Tensors = {}
        self.objects: list[Any] = []

    def value(self, value: Any, name: str) -> Any:
        """Return a parameter as JSON. Raises TypeError where it cannot be stored."""
        import scipy.sparse as sp
        from sklearn.base import BaseEstimator, is_classifier

        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.value(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": self.value(list(value), name)}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.value(item, f"{name}.{key}") for key, item in value.items()}}
        if isinstance(value, BaseEstimator):
            return self.object(value) if is_classifier(value) else self.component(value, name)
        return {"sparse": self._sparse(value, name)} if sp.issparse(value) else self._array(value, name)

    def component(self, component: BaseEstimator, name: str) -> dict[str, Any]:
        """Return a component by its class and parameters."""
        if self.classes.get(type(component).__name__) is not type(component):
            raise _refusal(component, name)
        parameters = component.get_params(deep=False)
        return {
            "class": type(component).__name__,
            "parameters": {key: self.value(value, f"{name}.{key}") for key, value in parameters.items()},
        }

    def state(self, state: State, name: str) -> dict[str, Any]:
        """Return what a component learned."""
        return {
            "values": self.value(dict(state.values), name),
            "arrays": {key: self._array(array, f"{name}.{key}_") for key, array in state.arrays.items()},
            "objects": [self.object(item) for item in state.objects],
        }

    def object(self, value: Any) -> dict[str, int]:
        """Set a classifier of another library aside."""
        self.objects.append(value)
        return {"object": len(self.objects) - 1}

    def _array(self, value: Any, name: str) -> dict[str, str]:
        array = np.asarray(value if hasattr(value, "__array__") else None)
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise _refusal(value, name)
        # Keys of dictionaries may contain dots too.
        while name in self.tensors:
            name += "_"
        self.tensors[name] = np.asarray(array, array.dtype.newbyteorder("="), order="C")
        return {"array": name}

    def _sparse(self, matrix: Any, name: str) -> dict[str, Any]:
        import scipy.sparse as sp

        entries = sp.coo_array(matrix)
        columns = {"row": entries.row, "col": entries.col, "data": entries.data}
        return {
            "format": matrix.format,
            "is_array": isinstance(matrix, sp.sparray),
            "shape": [int(size) for size in matrix.shape],
            **{key: self._array(column, f"{name}.{key}") for key, column in columns.items()},
        }


def _refusal(value: Any, name: str) -> TypeError:
    parameter = name.partition(".")[2] or name
    return TypeError(
        f"{parameter}={value!r} cannot be stored: a model file holds numbers, strings, arrays, components of proxcode "
        "and classifiers of scikit-learn; use one of these."
    )


class ComponentReader:
    """Turns JSON back into values.

    Parameters
    ----------
    classes : dict
        Classes of components, by name.
    tensors : dict of ndarray
    objects : list
        The classifiers that were set aside, in the same order.
    sizes : dict of int, default={}
        Sizes that arrays of all components have in common; see `State`.
    """

    def __init__(
        self, classes: Classes, tensors: Tensors, objects: list[Any], sizes: Mapping[str, int] | None = None
    ) -> None:
        self.classes = classes
        self.tensors = tensors
        self.objects = objects
        self.sizes = sizes or {}

    def value(self, stored: Any) -> Any:
        """Return a value from its JSON."""
        if isinstance(stored, list):
            return [self.value(item) for item in stored]
        if not isinstance(stored, dict):
            return stored
        if "class" in stored:
            return self.component(stored)
        kind, content = next(iter(stored.items()), (None, None))
        if kind not in _READERS:
            raise ValueError(f"it holds a value of kind {kind!r} that this version does not know: upgrade proxcode")
        return getattr(self, _READERS[kind])(content)

    def component(self, stored: dict[str, Any]) -> Any:
        """Return a component from its class and parameters."""
        name = stored["class"]
        if not isinstance(name, str) or name not in self.classes:
            raise ValueError(f"it names a component {name!r} that this version does not know: upgrade proxcode")
        known = self.classes[name]._get_param_names()
        if unknown := sorted(set(stored["parameters"]) - set(known)):
            raise ValueError(
                f"its {name} has a parameter {unknown[0]!r} that this version does not know: upgrade proxcode"
            )
        return self.classes[name](**{key: self.value(value) for key, value in stored["parameters"].items()})

    def state(self, stored: dict[str, Any]) -> State:
        """Return what a component learned."""
        return State(
            values=self.value(stored["values"]),
            arrays={key: self.value(array) for key, array in stored["arrays"].items()},
            objects=self.value(stored["objects"]),
            sizes=dict(self.sizes),
        )

    def _tuple(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(self.value(items))

    def _dict(self, items: dict[str, Any]) -> dict[str, Any]:
        return {key: self.value(item) for key, item in items.items()}

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self.tensors:
            raise ValueError(f"its array {name!r} is missing; save the model again")
        return self.tensors[name]

    def _object(self, number: int) -> Any:
        return self.objects[number]

    def _sparse(self, stored: dict[str, Any]) -> Any:
        if stored["format"] not in SPARSE_FORMATS:
            raise ValueError(f"it names a sparse format {stored['format']!r} that this version does not know")
        import scipy.sparse as sp

        row, col, data = (self.value(stored[key]) for key in ("row", "col", "data"))
        kind = sp.coo_array if stored["is_array"] else sp.coo_matrix
        shape = tuple(check_integer("size of a sparse matrix", size, 0, MAX_SPARSE) for size in stored["shape"])
        return kind((data, (row, col)), shape=shape).asformat(stored["format"])


_READERS = {"tuple": "_tuple", "dict": "_dict", "array": "_array", "object": "_object", "sparse": "_sparse"}


def component_text(stored: Mapping[str, Any], tensors: Tensors) -> str:
    """Return the class of a stored component and its parameters other than None and False.

    Examples
    --------
    >>> parameters = {"pairs": {"array": "pairs"}, "others": None}
    >>> component_text({"class": "GivenPairs", "parameters": parameters}, {"pairs": np.zeros((9, 2))})
    'GivenPairs(pairs=array of shape (9, 2))'
    """
    named = {key: value for key, value in stored["parameters"].items() if value is not None and value is not False}
    return f"{stored['class']}({', '.join(f'{name}={_text(value, tensors)}' for name, value in named.items())})"


def _text(stored: Any, tensors: Tensors) -> str:
    if isinstance(stored, list):
        return f"list of {len(stored)} values"
    if not isinstance(stored, dict):
        return repr(stored)
    if "class" in stored:
        return component_text(stored, tensors)
    ((kind, content),) = stored.items()
    if kind == "array":
        return f"array of shape {tensors[content].shape}"
    if kind == "sparse":
        return f"sparse matrix of shape {tuple(content['shape'])}"
    return "classifier of another library" if kind == "object" else f"{kind} of {len(content)} values"
