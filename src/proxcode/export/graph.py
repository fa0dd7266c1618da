"""Graphs of ONNX, built node by node.

A node takes names of other nodes, and numbers or arrays, which become constants of the graph. All real numbers are in
double precision: sums of kernel values with large coefficients of both signs lose too many digits in single precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Versions of the operators and of the format, of 2022: older than the runtimes in use.
OPSET, IR_VERSION = 17, 8


class Graph:
    """Nodes and constants of a graph, in the order in which they are computed.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add("Mul", graph.add("Sub", "X", [1.5, 2.5]), 2.0)
    'Mul_0'
    >>> [node.name for node in graph.nodes], [constant.name for constant in graph.constants]
    (['Cast_0', 'Sub_0', 'Cast_1', 'Mul_0'], ['constant_0', 'constant_1'])
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._counts: dict[str, int] = {}

    def add(self, operator: str, *inputs: ArrayLike, name: str | None = None, **attributes: Any) -> str:
        """Add a node and return its name.

        Parameters
        ----------
        operator : str
            Operator of ONNX.
        *inputs : str or array
            Names of nodes, or constants.
        name : str, default=None
            Name of the node and of its result. None is that of the operator and a number.
        **attributes
            Those of the operator.
        """
        from onnx import helper

        names = [value if isinstance(value, str) else self._constant(np.asarray(value)) for value in inputs]
        name = self._new_name(operator) if name is None else name
        self.nodes.append(helper.make_node(operator, names, [name], name=name, **attributes))
        return name

    def cast(self, value: ArrayLike, dtype: Any, name: str | None = None) -> str:
        """Add a node that converts a value to another type."""
        from onnx import helper

        return self.add("Cast", value, name=name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _constant(self, array: NDArray[Any]) -> str:
        """Add a constant; real numbers that single precision holds exactly take half the bytes of the file."""
        from onnx import numpy_helper

        with np.errstate(over="ignore"):
            single = array.astype(np.float32) if array.dtype.kind == "f" else array
        is_smaller = array.dtype.kind == "f" and np.array_equal(single, array)
        name = self._new_name("constant")
        stored = single if is_smaller else array
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(stored).reshape(array.shape), name))
        return self.cast(name, np.float64) if is_smaller else name

    def _new_name(self, stem: str) -> str:
        number = self._counts.get(stem, 0)
        self._counts[stem] = number + 1
        return f"{stem}_{number}"
