"""Hash functions as nodes of a graph: the same formulas as their methods `scores`, in double precision.

`MARGINS` lists the hash functions; a new one is a function of a graph, a hash function, samples and a number of bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from proxcode.export.graph import Graph
from proxcode.hashing import HashFunction, KernelHash, LinearHash, NewClassHash, RotationHash, SVMHash
from proxcode.hashing.components import Landmarks
from proxcode.hashing.posteriors import SOFTENING, Posteriors
from proxcode.hashing.ridge import RidgeHash
from proxcode.hashing.svm_training import by_gamma


class Samples(NamedTuple):
    """Samples in a graph.

    Attributes
    ----------
    name : str
        Name of the node.
    dtype : numpy.dtype
        Precision of the same samples in `encode`.
    """

    name: str
    dtype: np.dtype[Any]


class Hashed(NamedTuple):
    """Names of the margins, and of the posteriors of labels where a hash function has them."""

    margins: str
    posteriors: str | None = None


def add_hash_function(graph: Graph, function: HashFunction, samples: Samples, n_bits: int) -> Hashed:
    """Add the margins of the first bits. Raises TypeError for a hash function that is not listed in `MARGINS`."""
    add = MARGINS.get(type(function))
    if add is None:
        known = ", ".join(kind.__name__ for kind in MARGINS)
        raise TypeError(f"{type(function).__name__} cannot be exported to ONNX: fit with one of {known}.")
    return add(graph, function, samples, n_bits)


def _add_kernel(graph: Graph, function: KernelHash, samples: Samples, n_bits: int) -> Hashed:
    centred = graph.add("Sub", samples.name, _double(function.center_))
    factor = _double(function.exponent_factor_)
    gamma = np.result_type(samples.dtype, function.center_.dtype).type(function.gamma_)
    products = graph.add("Add", graph.add("MatMul", centred, factor[:-2]), factor[-2])
    exponents = graph.add("Sub", products, graph.add("Mul", _squared_norms(graph, centred), float(gamma)))
    return _add_ridge(graph, function, _exp(graph, exponents), n_bits)


def _add_linear(graph: Graph, function: LinearHash, samples: Samples, n_bits: int) -> Hashed:
    centred = graph.add("Sub", samples.name, _double(function.center_))
    return _add_ridge(graph, function, centred, n_bits, unit=float(samples.dtype.type(function.scale_)))


def _add_ridge(graph: Graph, function: RidgeHash, inputs: str, n_bits: int, unit: float = 1.0) -> Hashed:
    """Add bits as directions among the outputs of a regression, or among posteriors of the labels given these.

    Inputs are divided by `unit`. It is the coefficients that are divided, and those of posteriors multiplied by their
    scale: onnxruntime joins a product with a number and a matrix product into one, and rounds the number to single
    precision.
    """
    posteriors = function.posteriors_
    n_outputs = n_bits if posteriors is None else len(function.coef_)
    outputs = _affine(graph, inputs, function.coef_[:n_outputs].T / unit, function.intercept_[:n_outputs])
    if posteriors is None:
        return Hashed(outputs)
    coef, intercept = function.directions_[:n_bits, :-1].T, function.directions_[:n_bits, -1]
    if not isinstance(posteriors, Posteriors):
        return Hashed(_affine(graph, outputs, coef, intercept))
    logits = graph.add("Add", graph.add("Mul", outputs, posteriors.slope), posteriors.offset)
    fitted_logits = graph.add("Div", logits, SOFTENING)
    if posteriors.exclusive:
        scale, softened = np.sqrt(len(posteriors.offset)), graph.add("Softmax", logits, axis=1)
        shares = graph.add("Softmax", fitted_logits, axis=1)
    else:
        scale, softened = 2.0, graph.add("Sigmoid", logits)
        each = graph.add("Sigmoid", fitted_logits)
        total = graph.add("Max", graph.add("ReduceSum", each, [1], keepdims=1), np.finfo(float).tiny)
        shares = graph.add("Div", each, total)
    return Hashed(_affine(graph, softened, scale * coef, intercept), shares)


def _add_svm(graph: Graph, function: SVMHash, samples: Samples, n_bits: int) -> Hashed:
    machines = function.classifiers_[:n_bits]
    margins = graph.add("MatMul", samples.name, np.zeros((function.support_vectors_.shape[1], n_bits)))
    margins = graph.add("Add", margins, [machine.intercept for machine in machines])
    if len(function.support_) == 0:
        return Hashed(margins)
    center = function.support_vectors_.mean(axis=0, dtype=np.float64)
    vectors = function.support_vectors_ - center
    centred = graph.add("Sub", samples.name, center)
    # The centred vectors of a model in single precision need double precision: a runtime computes them once.
    doubled = graph.add("Mul", graph.add("Sub", _double(function.support_vectors_.T), center[:, None]), 2.0)
    products = graph.add("MatMul", centred, doubled)
    squares = graph.add("Add", _squared_norms(graph, centred), (vectors * vectors).sum(axis=1))
    negative_squares = graph.add("Sub", products, squares)
    for gamma, bits, dual_coef in by_gamma(function.support_, machines):
        coef = np.zeros((len(vectors), n_bits))
        coef[:, bits] = dual_coef
        values = _exp(graph, graph.add("Mul", negative_squares, gamma))
        margins = graph.add("Add", margins, graph.add("MatMul", values, coef))
    return Hashed(margins)


def _add_rotation(graph: Graph, function: RotationHash, samples: Samples, n_bits: int) -> Hashed:
    inputs = function.inputs_
    values = graph.add("Sub", samples.name, _double(inputs.center))
    if isinstance(inputs, Landmarks):
        gamma = np.result_type(samples.dtype, inputs.center.dtype).type(inputs.gamma)
        squares = graph.add("Add", _squared_norms(graph, values), _double(inputs.norms))
        products = graph.add("MatMul", values, 2 * _double(inputs.points.T))
        values = _exp(graph, graph.add("Mul", graph.add("Sub", products, squares), float(gamma)))
    return Hashed(_affine(graph, values, function.coef_[:, :n_bits], function.intercept_[:n_bits]))


def _add_new_classes(graph: Graph, function: NewClassHash, samples: Samples, n_bits: int) -> Hashed:
    mean, directions = function.class_map_.mean, function.class_map_.directions
    if mean is None or directions is None:
        return _add_rotation(graph, function.rotation_, samples, n_bits)
    projected = graph.add("MatMul", graph.add("Sub", samples.name, _double(mean)), _double(directions))
    mapped = graph.add("Div", projected, nonzero(graph, graph.add("ReduceL2", projected, axes=[1], keepdims=1)))
    return _add_rotation(graph, function.rotation_, Samples(mapped, directions.dtype), n_bits)


def nonzero(graph: Graph, lengths: str, least: float = np.finfo(np.float64).tiny) -> str:
    """Add lengths to divide by: 1 for those below `least`."""
    return graph.add("Where", graph.add("Less", lengths, least), 1.0, lengths)


def _exp(graph: Graph, exponents: str) -> str:
    """Add the exponentials of numbers that are above 0 by rounding alone."""
    return graph.add("Exp", graph.add("Min", exponents, 0.0))


def _squared_norms(graph: Graph, samples: str) -> str:
    return graph.add("ReduceSumSquare", samples, axes=[1], keepdims=1)


def _affine(graph: Graph, values: str, coef: Any, intercept: Any) -> str:
    return graph.add("Add", graph.add("MatMul", values, coef), intercept)


def _double(array: Any) -> Any:
    return np.asarray(array, np.float64)


MARGINS: dict[type[HashFunction], Callable[[Graph, Any, Samples, int], Hashed]] = {
    KernelHash: _add_kernel,
    LinearHash: _add_linear,
    SVMHash: _add_svm,
    RotationHash: _add_rotation,
    NewClassHash: _add_new_classes,
}
