"""Bits, histories and cuts are those recorded before the package was restructured, to the last digit.

`golden/make_same_bits.py` defines the configurations, tells how the file `golden/same_bits.npz` was made and makes it
again where bits are meant to change.
"""

import numpy as np
import pytest

from golden.make_same_bits import CONFIGURATIONS, FILE, MAX_CODES, read, record
from helpers.processor import environment

CONSTRAINTS = FILE.parents[2] / "constraints.txt"


@pytest.fixture(scope="module")
def recorded():
    """Return the arrays of the file; skip on another kind of processor and with other versions of libraries."""
    theirs, arrays = read()
    ours = environment()
    different = [name for name in theirs if name != "processor" and ours[name] != theirs[name]]
    if different:
        pytest.skip(f"the bits were recorded with another {', '.join(different)}: the last digits differ")
    return theirs, arrays


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_same_bits(configuration, recorded):
    theirs, arrays = recorded
    for name, found in record(configuration).items():
        expected = arrays[f"{configuration}/{name}"]
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        is_equal = np.asarray(found == expected)
        assert is_equal.all(), (
            f"{(~is_equal).sum()} of {found.size} values of {name} differ, first at {np.argwhere(~is_equal)[0]}; "
            f"recorded with {theirs}, found with {environment()}"
        )


def test_the_versions_are_those_of_make_test():
    pinned = dict(line.split("==") for line in CONSTRAINTS.read_text().splitlines())
    theirs, _ = read()
    libraries = [name for name in theirs if name not in ("architecture", "processor")]
    assert {name: theirs[name] for name in libraries} == {name: pinned[name] for name in libraries}


def test_the_file_is_complete_and_small():
    _, arrays = read()
    assert {key.rpartition("/")[0] for key in arrays} == set(CONFIGURATIONS)
    assert len(CONFIGURATIONS) == 33 + 13 + 24
    assert max(len(array) for key, array in arrays.items() if key.endswith("/codes")) == MAX_CODES
    assert FILE.stat().st_size < 100_000
