"""`proxcode encode` against the Python API."""

import numpy as np
import pytest

from helpers.command_line import record_of


@pytest.mark.parametrize("bits", [1, 8, 13, 20])
def test_encode_gives_the_first_bits(bits, folder, model, new, tmp_path):
    output = tmp_path / "codes.npy"
    named = ("--bits", bits, "--force", "-o", output)
    record = record_of("encode", folder / "api.proxcode", folder / "new.npy", *named)
    assert record == {"codes": str(output), "rows": 400, "bits": bits}
    np.testing.assert_array_equal(np.load(output), model.encode(new[0], bits))
