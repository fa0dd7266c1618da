"""`proxcode encode` of many files: a folder of codes, and sentences for what cannot be encoded."""

import json
import shutil
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from helpers.command_line import N_BITS, call, record_of, without_progress
from proxcode.cli import main


@pytest.fixture
def files(folder, new, tmp_path, monkeypatch):
    """Change to a folder with a model and three files of vectors in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder / "api.proxcode", "m.proxcode")
    (tmp_path / "vectors").mkdir()
    for k in range(3):
        np.save(f"vectors/{k}.npy", new[0][100 * k : 100 * (k + 1)])
    return tmp_path


def refuse(*words, code=1):
    """Run a command that is expected to fail; return its sentence."""
    result = CliRunner().invoke(main, ["encode", "m.proxcode", *words])
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("Error: ")


@pytest.mark.parametrize("source", [["vectors"], ["vectors/*.npy"], ["vectors/0.npy", "vectors/[12].npy"]])
def test_codes_of_many_files_are_written_to_a_folder(source, files, model, new):
    call("encode", "m.proxcode", *source, "-o", "codes/", "--bits", 13)
    record = record_of("encode", "m.proxcode", *source, "-o", "codes", "--bits", 13, "--engine", "local")
    assert record == {"codes": "codes", "files": 3, "finished before": 3, "failed": 0, "rows": 300, "bits": 13}
    for k in range(3):
        codes = b"".join(pq.read_table(files / f"codes/{k}.parquet")["code"].to_pylist())
        assert codes == model.encode(new[0][100 * k : 100 * (k + 1)], 13).tobytes()


def test_one_file_is_written_to_a_folder_that_exists_or_ends_with_a_slash(files):
    call("encode", "m.proxcode", "vectors/0.npy", "-o", "codes/", "--code-column", "bits")
    call("encode", "m.proxcode", "vectors/1.npy", "-o", "codes", "--code-column", "bits")
    assert sorted(path.name for path in (files / "codes").iterdir()) == ["0.parquet", "1.parquet", "manifest.json"]
    assert pq.read_table("codes/0.parquet").schema.names == ["row", "bits"]


def test_bad_files_are_named_after_the_summary_and_the_exit_code_is_1(files, new):
    np.save("vectors/1.npy", new[0][:, :5])
    (files / "vectors/2.npy").write_bytes(b"torn")
    result = CliRunner().invoke(main, ["encode", "m.proxcode", "vectors", "-o", "codes", "--json"])
    assert result.exit_code == 1
    record = {"codes": "codes", "files": 1, "finished before": 0, "failed": 2, "rows": 100, "bits": N_BITS}
    # The vectors are described by the first file that can be read.
    read = {"vectors": {"file": "vectors", "files": 3, "width": 64, "type": "float64"}}
    assert json.loads(result.stdout) == {**record, "read": read}
    first, second, last = without_progress(result.stderr).splitlines()
    assert first == (
        f"{files}/vectors/1.npy has 5 features, but the model was fitted to 64: choose columns, or another file."
    )
    assert second == f"{files}/vectors/2.npy is not an npy file: write it with np.save."
    assert last == ("Error: 2 of 3 files were set aside, see codes/manifest.json: the same command tries them again.")


def test_wrong_inputs_are_refused_in_one_sentence(files, folder):
    (files / "empty").mkdir()
    assert refuse("empty", "-o", "codes").startswith("empty has no file of vectors: expected files with one of")
    assert refuse("gone/*.npy", "-o", "codes").startswith("gone/*.npy has no file of vectors")
    assert refuse("vectors", "-o", "m.proxcode") == (
        "m.proxcode is a file: the codes of many files are written to a folder; name another."
    )
    assert refuse("vectors", "-o", "codes.npy").startswith("codes.npy is the name of a file")
    assert refuse("vectors", "-o", "vectors/codes") == (
        "the output folder vectors/codes lies in the input vectors: choose a folder outside."
    )
    assert refuse("vectors", "-o", "codes", "--bits", "21") == (
        f"--bits 21: expected 1 to {N_BITS}, the code length of the model."
    )
    assert refuse("vectors", "-o", "codes", "--scheduler", "tcp://1.2.3.4:5") == (
        "engine 'local' takes no address, but 'tcp://1.2.3.4:5' is given: choose 'dask', 'ray' or 'spark'."
    )
    assert refuse("vectors/0.npy", "-o", "c.npy", "--engine", "dask", code=2) == (
        "--engine applies to many files: name a folder or a quoted pattern, and a folder."
    )
    assert not (files / "codes").exists()
    call("encode", "m.proxcode", "vectors", "-o", "codes")
    remedy = "choose another folder, or replace them (--force, overwrite=True)."
    assert refuse("vectors", "-o", "codes", "--bits", "8") == f"{files}/codes holds codes of another length: {remedy}"
    call("encode", "m.proxcode", "vectors", "-o", "codes", "--bits", "8", "--force")


def test_an_engine_that_is_not_installed_is_named_with_its_remedy(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert refuse("vectors", "-o", "codes", "--engine", "ray") == (
        "engine 'ray' needs ray: pip install 'proxcode[ray]'."
    )
