"""Codes of whole files: little memory, and an interrupted run resumes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from proxcode import LinearHash, ProximityPreservingCode
from proxcode.cli.encode import BLOCK, Encoded, encode_file
from proxcode.files import open_vectors

PEAK = """
import sys
from pathlib import Path
from proxcode.cli import main

main(sys.argv[1:], standalone_mode=False)
status = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in status if line.startswith("VmHWM")))  # of this process alone, in KiB
"""


@pytest.fixture(scope="module")
def model(train):
    X, y = train
    return ProximityPreservingCode(13, random_state=0).fit(X[:200, :16], y[:200])


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    X = np.random.default_rng(0).normal(size=(3 * BLOCK + 5, 16))
    np.save(folder / "X.npy", X)
    np.savetxt(folder / "X.csv", X, delimiter=",", fmt="%.17g")
    return folder, X


def interrupting(after):
    """Return a progress function that raises KeyboardInterrupt after this many rows."""
    done = []

    def progress(n_rows):
        done.append(n_rows)
        if sum(done) >= after:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("n_bits", [1, 8, 13])
@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_an_interrupted_run_resumes_after_its_last_complete_block(suffix, n_bits, model, many, tmp_path):
    folder, X = many
    vectors, output = open_vectors(folder / f"X.{suffix}"), tmp_path / "codes.npy"
    with pytest.raises(KeyboardInterrupt):
        encode_file(model, vectors, output, identity="a", n_bits=n_bits, progress=interrupting(2 * BLOCK))
    (partial,) = tmp_path.iterdir()
    with partial.open("ab") as file:
        file.write(b"half a block")
    seen = []
    encoded = encode_file(model, vectors, output, identity="a", n_bits=n_bits, progress=seen.append)
    assert encoded == Encoded(rows=len(X), bits=n_bits, first_row=2 * BLOCK)
    assert seen == [2 * BLOCK, BLOCK, 5]
    np.testing.assert_array_equal(np.load(output), model.encode(X, n_bits))
    assert list(tmp_path.iterdir()) == [output]


def test_a_run_of_another_identity_is_not_resumed(model, many, tmp_path):
    vectors, output = open_vectors(many[0] / "X.npy"), tmp_path / "codes.npy"
    with pytest.raises(KeyboardInterrupt):
        encode_file(model, vectors, output, identity="other", progress=interrupting(BLOCK))
    assert encode_file(model, vectors, output, identity="this").first_row == 0
    np.testing.assert_array_equal(np.load(output), model.encode(many[1]))
    assert list(tmp_path.iterdir()) == [output]


def test_an_interrupt_after_the_last_block_loses_no_block(model, many, tmp_path):
    vectors, output = open_vectors(many[0] / "X.npy"), tmp_path / "codes.npy"
    with pytest.raises(KeyboardInterrupt):
        encode_file(model, vectors, output, identity="a", progress=interrupting(len(many[1])))
    assert encode_file(model, vectors, output, identity="a").first_row == 3 * BLOCK
    np.testing.assert_array_equal(np.load(output), model.encode(many[1]))


@pytest.mark.parametrize("n_bits", [0, 14])
def test_a_code_length_that_the_model_does_not_have_is_refused(n_bits, model, many, tmp_path):
    with pytest.raises(ValueError, match=rf"--bits {n_bits}: expected 1 to 13, the code length of the model\."):
        encode_file(model, open_vectors(many[0] / "X.npy"), tmp_path / "codes.npy", identity="a", n_bits=n_bits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read as Linux gives it")
def test_encoding_600_mb_takes_under_600_mib(tmp_path):
    n_rows, n_columns = 300_000, 512
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, n_columns)).astype(np.float32)
    model = ProximityPreservingCode(32, hash_function=LinearHash(), random_state=0).fit(X, X[:, 0] > 0)
    model.save(tmp_path / "m.proxcode")
    vectors = tmp_path / "X.npy"
    with vectors.open("wb") as file:  # zeros that take no place on the disk
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_columns)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * n_rows * n_columns)
    arguments = ("encode", tmp_path / "m.proxcode", vectors, "-o", tmp_path / "codes.npy")
    command = [sys.executable, "-c", PEAK, *map(str, arguments)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    vectors.unlink()
    assert int(output.splitlines()[-1]) / 1024 < 600
    codes = np.load(tmp_path / "codes.npy")
    assert codes.shape == (n_rows, 4)
    assert (codes == model.encode(np.zeros((1, n_columns), np.float32))).all()
