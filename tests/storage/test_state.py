"""Fingerprints of arrays."""

import numpy as np

from proxcode.storage.state import fingerprint


def test_fingerprints_tell_apart_types_shapes_and_values():
    arrays = [np.array(2.0), np.array(3.0), np.array([2.0]), np.array([[2.0]]), np.zeros(0), np.zeros((0, 2))]
    arrays += [np.array([2.0], np.float32), np.array([2]), np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)]
    found = [fingerprint(array) for array in [*arrays, None]]
    assert len(set(found)) == len(found)
    assert fingerprint(np.arange(12)[::2]) == fingerprint(np.arange(0, 12, 2))


def test_rows_of_several_blocks_count(monkeypatch):
    whole = fingerprint(np.arange(10.0))
    monkeypatch.setattr("proxcode.storage.state.BLOCK", 3)
    assert fingerprint(np.arange(10.0)) == whole
    for row in range(10):
        assert fingerprint(np.where(np.arange(10) == row, -1, np.arange(10.0))) != whole
