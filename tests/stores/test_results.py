"""Results of searches as data frames."""

import sys

import numpy as np
import pandas as pd
import pytest

from helpers.codes import random_codes
from proxcode import HammingIndex
from proxcode.stores import Neighborhoods, Neighbors

COLUMNS = ["query", "rank", "neighbor", "distance"]


def rows_by_loops(found):
    """Return the rows of a result, one neighbour after another."""
    rows = []
    for query, (distance, neighbor) in enumerate(found):
        for rank, (d, i) in enumerate(zip(distance, neighbor, strict=True), 1):
            if not (i == -1 and (d == -1 or np.isinf(d))):
                rows.append((query, rank, i, d))
    return rows


def assert_rows(frame, rows):
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert isinstance(frame.index, pd.RangeIndex)
    assert [tuple(row) for row in frame.itertuples(index=False)] == [tuple(row) for row in rows]


def test_neighbours_of_a_search_are_rows_of_a_frame(rng):
    codes = random_codes(rng, 50, 20)
    index = HammingIndex(20).add(codes, ids=np.arange(50) - 7)
    for k in (1, 4, 80):
        found = index.search(codes[:9], k)
        frame = found.to_frame()
        assert_rows(frame, rows_by_loops(zip(*found, strict=True)))
        assert frame["distance"].dtype == np.int32
        by_query = frame.pivot(index="query", columns="rank", values="neighbor").to_numpy()
        np.testing.assert_array_equal(by_query, found.neighbor)
    # An id may be -1: such a neighbour is one like any other.
    assert index.search(codes[6:7], 1).to_frame()["neighbor"].tolist() == [-1]


def test_all_neighbours_within_a_radius_are_rows_of_a_frame(rng):
    codes, others = random_codes(rng, 60, 16), random_codes(rng, 7, 16)
    found = HammingIndex(16).add(codes).within(others, 3)
    frame = found.to_frame()
    assert_rows(frame, rows_by_loops(found))
    # Some queries have no neighbour, and no row.
    assert 0 < frame["query"].nunique() < 7
    assert_rows(found.as_neighbors().to_frame(), rows_by_loops(found))
    one = found[int(frame["query"].iloc[0])]
    assert_rows(one.to_frame(), rows_by_loops([one]))


def test_neighbours_that_were_not_found_have_no_row():
    distance = np.array([[0.5, np.inf], [np.inf, np.inf], [-1.0, 2.0]])
    found = Neighbors(distance, np.array([[3, -1], [-1, -1], [5, -1]]))
    assert_rows(found.to_frame(), [(0, 1, 3, 0.5), (2, 1, 5, -1.0), (2, 2, -1, 2.0)])
    np.testing.assert_array_equal(found.is_found, [[True, False], [False, False], [True, True]])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0,)])
def test_no_neighbours_are_a_frame_without_rows(shape):
    assert_rows(Neighbors(np.empty(shape, np.int32), np.empty(shape, np.int64)).to_frame(), [])
    nothing = Neighborhoods(np.zeros(3, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
    assert_rows(nothing.to_frame(), [])


def test_pandas_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = Neighbors(np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int64))
    sentence = r"^to_frame\(\) needs pandas, which is not installed: pip install pandas\.$"
    with pytest.raises(ModuleNotFoundError, match=sentence):
        found.to_frame()
