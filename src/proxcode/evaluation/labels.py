"""Labels of an evaluation: how they are read, and which samples have one."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.proximity import Proximity, SameLabel, SharedLabel, default_proximity
from proxcode.utils.labels import UNLABELLED, one_column

Rows = NDArray[np.int64]


class SearchLabels(NamedTuple):
    """Labels of a database and of queries as numbers, of the samples that have one.

    Attributes
    ----------
    database, queries : ndarrays of int64, shape (n,), or of uint64, shape (n_words, n)
        Class numbers, or the masks of sets of labels.
    database_rows, query_rows : ndarrays of int64, shape (n,)
        Samples with a label. Where labels are sets, an empty one too is a label.
    is_shared : bool
        Whether labels are sets.
    """

    database: NDArray[Any]
    queries: NDArray[Any]
    database_rows: Rows
    query_rows: Rows
    is_shared: bool


def label_proximity(labels: Any, given: SameLabel | None, learned: Proximity) -> SameLabel | SharedLabel:
    """Return the proximity that reads labels: the given one; else that of the model, where it is one of such labels.

    Examples
    --------
    >>> label_proximity([1, 2], None, SameLabel(unlabelled=0))
    SameLabel(unlabelled=0)
    >>> label_proximity([[1, 0], [0, 1]], None, SameLabel(unlabelled=0))
    SharedLabel()
    """
    if given is not None:
        return given
    if isinstance(by_shape := default_proximity(labels), SharedLabel):
        return by_shape
    return learned if isinstance(learned, SameLabel) else SameLabel()


def read_search_labels(
    database_labels: Any,
    query_labels: Any,
    n_database: int,
    n_queries: int,
    given: SameLabel | None,
    learned: Proximity,
) -> SearchLabels | None:
    """Read the labels of a search; None where there are none on either side."""
    if (database_labels is None) != (query_labels is None):
        known, other = ("database", "query") if query_labels is None else ("query", "database")
        raise ValueError(f"{other}_labels=None, but {known}_labels are given: pass labels of both, or of neither.")
    if database_labels is None:
        return None
    if len({type(default_proximity(labels)) for labels in (database_labels, query_labels)}) > 1:
        raise ValueError(
            f"database_labels has shape {np.shape(database_labels)} and query_labels {np.shape(query_labels)}: "
            "expected one label per sample in both, or two indicator matrices with the same columns."
        )
    proximity = label_proximity(database_labels, given, learned)
    if isinstance(proximity, SharedLabel):
        return _read_sets(database_labels, query_labels, n_database, n_queries)
    return _read_classes(database_labels, query_labels, n_database, n_queries, proximity)


def labelled_rows(labels: Any, n_samples: int, given: SameLabel | None, learned: Proximity) -> Rows:
    """Return the training samples that have a label: all of them for an indicator matrix.

    Raises ValueError unless there is one label, or one row of the matrix, for each of `n_samples` samples.
    """
    proximity = label_proximity(labels, given, learned)
    if not isinstance(proximity, SameLabel):
        _check_count("train_labels", np.shape(labels)[0], n_samples)
        return np.arange(n_samples)
    classes = proximity.read(labels)
    _check_count("train_labels", len(classes), n_samples)
    return np.flatnonzero(classes != UNLABELLED)


def _read_classes(
    database_labels: Any, query_labels: Any, n_database: int, n_queries: int, proximity: SameLabel
) -> SearchLabels:
    of_database, of_queries = _label_list("database_labels", database_labels), _label_list("query_labels", query_labels)
    _check_count("database_labels", len(of_database), n_database)
    _check_count("query_labels", len(of_queries), n_queries)
    both = [*of_database, *of_queries]
    classes = proximity.read(both)
    proximity.check_minus_one(both, classes)
    database, queries = classes[:n_database], classes[n_database:]
    rows = [np.flatnonzero(part != UNLABELLED) for part in (database, queries)]
    for name, labelled, part in zip(("database", "query"), rows, (database, queries), strict=True):
        if len(labelled) == 0:
            raise ValueError(
                f"{name}_labels holds no label for any of {len(part)} samples: label some, or omit the labels of both "
                "sides to measure true neighbours."
            )
    database, queries = database[rows[0]], queries[rows[1]]
    if not np.isin(queries, database).any():
        raise ValueError(
            f"no label of the queries, such as {of_queries[rows[1][0]]!r}, is one of the database, such as "
            f"{of_database[rows[0][0]]!r}: pass labels of the same kind."
        )
    return SearchLabels(database, queries, rows[0], rows[1], is_shared=False)


def _read_sets(database_labels: Any, query_labels: Any, n_database: int, n_queries: int) -> SearchLabels:
    database, queries = SharedLabel().read(database_labels), SharedLabel().read(query_labels)
    _check_count("database_labels", database.shape[1], n_database)
    _check_count("query_labels", queries.shape[1], n_queries)
    widths = np.shape(database_labels)[1], np.shape(query_labels)[1]
    if widths[0] != widths[1]:
        raise ValueError(
            f"database_labels has {widths[0]} columns and query_labels {widths[1]}: expected one column per label in "
            "both, in the same order."
        )
    return SearchLabels(database, queries, np.arange(n_database), np.arange(n_queries), is_shared=True)


def _label_list(name: str, labels: Any) -> list[Any]:
    """Return labels one by one; a column of them is one label each."""
    column = one_column(labels)
    if isinstance(column, np.ndarray) and column.ndim == 0:
        raise TypeError(f"{name}={labels!r}: expected one label per sample.")
    return list(column) if isinstance(column, list | tuple) else column.tolist()


def _check_count(name: str, n_labels: int, n_samples: int) -> None:
    if n_labels != n_samples:
        raise ValueError(f"{name} has {n_labels} labels for {n_samples} samples: expected one each.")
