"""Samples of a search: as given, and as the code of a model takes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.evaluation.distances import own_rows
from proxcode.pipeline import CodePipeline, Model, code_of
from proxcode.utils.validation import check_samples


@dataclass(frozen=True)
class SearchSamples:
    """The database or the queries.

    Attributes
    ----------
    given : array, data frame, or what else the first step of a pipeline takes
    transformed : array or data frame of shape (n_samples, n_features)
        As the code takes them: transformed by all steps before it, or as they are given.
    array : ndarray of shape (n_samples, n_features)
        The same, validated.
    """

    given: Any
    transformed: Any
    array: NDArray[Any]

    @classmethod
    def read(cls, name: str, model: Model, X: Any) -> "SearchSamples":
        """Transform and validate samples; an error names which ones."""
        try:
            if isinstance(model, CodePipeline):
                transformed = model.preprocess(X)
                return cls(X, transformed, check_samples(code_of(model), transformed, reset=False))
            return cls(X, X, check_samples(model, X, reset=False))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error

    def take(self, rows: NDArray[np.int64]) -> "SearchSamples":
        """Return some of the samples, in ascending order; all of them are the object itself."""
        if len(rows) == len(self.array):
            return self
        return SearchSamples(rows_of(self.given, rows), rows_of(self.transformed, rows), self.array[rows])

    def own_rows_of(self, queries: "SearchSamples") -> NDArray[np.int64]:
        """Return the row of this database that is each query itself, -1 where there is none.

        Transformed samples may differ in their last digits where those given are equal: a product rounds by the number
        of rows. They are compared only where those given are no matrix of numbers.
        """
        given = [_as_numbers(samples.given) for samples in (self, queries)]
        if given[0] is None or given[1] is None:
            return own_rows(self.array, queries.array)
        return own_rows(given[0], given[1])


def _as_numbers(X: Any) -> NDArray[Any] | None:
    """Return samples as a matrix of numbers, None where they are something else."""
    array = np.asarray(X)
    return array if array.ndim == 2 and array.dtype.kind in "biuf" else None


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows of an array, a data frame, a sparse matrix or a list."""
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
