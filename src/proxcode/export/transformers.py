"""Transformers of a pipeline as nodes of a graph: the same formulas as their methods `transform`.

`OUTPUTS` lists the classes, those that a pipeline stores without skops; a new one is a function of a graph, a
transformer and samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from proxcode.export.graph import Graph
from proxcode.export.hash_functions import Samples, nonzero

NORMS = {"l1": "ReduceL1", "l2": "ReduceL2", "max": "ReduceMax"}


def add_transformer(graph: Graph, transformer: Any, samples: Samples) -> Samples:
    """Add the output of a fitted transformer. Raises TypeError for a class that is not listed in `OUTPUTS`."""
    add = OUTPUTS.get(type(transformer))
    if add is None:
        known = ", ".join(kind.__name__ for kind in OUTPUTS)
        raise TypeError(
            f"the transformer {type(transformer).__name__} cannot be exported to ONNX, only {known}: transform samples "
            "before the graph, and export the last step alone."
        )
    return Samples(add(graph, transformer, samples), _output_type(transformer, samples))


def _output_type(transformer: Any, samples: Samples) -> np.dtype[Any]:
    """Return the precision in which scikit-learn transforms samples of this type."""
    zeros = np.zeros((1, transformer.n_features_in_), samples.dtype)
    with warnings.catch_warnings():
        # Zeros have no names of features, which does not matter here.
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(transformer.transform(zeros)).dtype


def _add_standard(graph: Graph, scaler: StandardScaler, samples: Samples) -> str:
    name = samples.name
    if scaler.with_mean:
        name = graph.add("Sub", name, _as_used(scaler.mean_, samples))
    if scaler.with_std:
        name = graph.add("Div", name, _as_used(scaler.scale_, samples))
    return name


def _add_min_max(graph: Graph, scaler: MinMaxScaler, samples: Samples) -> str:
    scaled = graph.add("Add", graph.add("Mul", samples.name, scaler.scale_), scaler.min_)
    if not scaler.clip:
        return scaled
    low, high = scaler.feature_range
    return graph.add("Min", graph.add("Max", scaled, float(low)), float(high))


def _add_normalizer(graph: Graph, normalizer: Normalizer, samples: Samples) -> str:
    sizes = graph.add("Abs", samples.name) if normalizer.norm == "max" else samples.name
    lengths = graph.add(NORMS[normalizer.norm], sizes, axes=[1], keepdims=1)
    # scikit-learn leaves samples as they are whose norm is within rounding of zero.
    return graph.add("Div", samples.name, nonzero(graph, lengths, 10 * float(np.finfo(samples.dtype).eps)))


def _add_pca(graph: Graph, pca: PCA, samples: Samples) -> str:
    projected = graph.add("MatMul", samples.name, np.asarray(pca.components_, np.float64).T)
    # In the precision of the fit, as scikit-learn computes it.
    centred = graph.add("Sub", projected, np.asarray(pca.mean_ @ pca.components_.T, np.float64))
    if not pca.whiten:
        return centred
    deviations = np.sqrt(pca.explained_variance_)
    least = np.finfo(deviations.dtype).eps
    return graph.add("Div", centred, np.maximum(deviations, least).astype(np.float64))


def _add_svd(graph: Graph, svd: TruncatedSVD, samples: Samples) -> str:
    return graph.add("MatMul", samples.name, np.asarray(svd.components_, np.float64).T)


def _as_used(array: Any, samples: Samples) -> Any:
    """Return learned numbers, rounded to the precision of the samples as scikit-learn does."""
    return array.astype(samples.dtype).astype(np.float64)


OUTPUTS: dict[type[BaseEstimator], Callable[[Graph, Any, Samples], str]] = {
    StandardScaler: _add_standard,
    MinMaxScaler: _add_min_max,
    Normalizer: _add_normalizer,
    PCA: _add_pca,
    TruncatedSVD: _add_svd,
}
