"""Codes of many files: those of the model, beside untouched columns; finished files stay, bad ones are set aside."""

import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from helpers.command_line import without_progress
from proxcode import ClassifierHash, KernelHash, LinearHash, ProximityPreservingCode, encode_files
from proxcode.files import read_labels
from proxcode.storage.atomic import atomic_write
from proxcode.utils.engine import LocalEngine

N_FEATURES = 6


@pytest.fixture(scope="module", name="X")
def samples():
    return np.random.default_rng(0).standard_normal((20_000, N_FEATURES)).astype(np.float32)


@pytest.fixture(scope="module")
def model(X):
    hash_function = KernelHash(n_landmarks=50)
    return ProximityPreservingCode(16, hash_function=hash_function, random_state=0).fit(X[:300], X[:300, 0] > 0)


@pytest.fixture(scope="module")
def other_model(X):
    return ProximityPreservingCode(16, hash_function=LinearHash(), random_state=0).fit(X[:300], X[:300, 1] > 0)


@pytest.fixture(scope="module")
def table(X):
    return table_of(X)


@pytest.fixture
def vectors(tmp_path, X, table):
    """A folder with two files of different formats."""
    folder = tmp_path / "vectors"
    folder.mkdir()
    pq.write_table(table, folder / "a.parquet", row_group_size=3000)
    np.save(folder / "b.npy", X[:100])
    return folder


def lists(X, kind="fixed"):
    values = pa.array(X.ravel())
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(values, X.shape[1])
    return pa.ListArray.from_arrays(pa.array(np.arange(0, X.size + 1, X.shape[1]), pa.int32()), values)


def table_of(X):
    """Return a table with columns of many types and nulls around the vectors."""
    n = len(X)
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    columns = {
        "id": pa.array([f"id {k}" for k in range(n)], pa.large_string()),
        "vector": lists(X, "variable"),
        "tags": pa.array([None if k % 5 == 0 else ["x"] * (k % 3) for k in range(n)], pa.list_(pa.string())),
        "seen": pa.array([start + datetime.timedelta(seconds=k) for k in range(n)], pa.timestamp("ns", "Europe/Paris")),
        "kind": pa.array([None if k % 11 == 0 else f"kind {k // 9000}" for k in range(n)]).dictionary_encode(),
        "nested": pa.array([None if k % 7 == 0 else {"a": k, "b": [{"c": str(k)}]} for k in range(n)]),
        "price": pa.array(np.arange(n), pa.int64()).cast(pa.decimal128(21, 2)),
        "length": pa.array(np.arange(n), pa.duration("us")),
    }
    fields = [pa.field(name, column.type, nullable=name != "id") for name, column in columns.items()]
    metadata = {"owner": "you", "org.apache.spark.sql.parquet.row.metadata": "columns"}
    return pa.table(list(columns.values()), pa.schema(fields, metadata))


def bytes_of(table, column="code"):
    return b"".join(table[column].to_pylist())


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


class Counting(LocalEngine):
    """Counts the tasks that it runs."""

    n_tasks = 0

    def map(self, function, tasks):
        for result in super().map(function, tasks):
            self.n_tasks += 1
            yield result


@pytest.mark.parametrize("n_bits", [None, 11])
def test_codes_are_those_of_the_model_beside_untouched_columns(n_bits, model, X, vectors, tmp_path):
    codes = tmp_path / "made" / "codes"
    encoded = encode_files(model, vectors, codes, n_bits=n_bits)
    assert encoded.outputs == [codes / "a.parquet", codes / "b.parquet"]
    assert (encoded.rows, encoded.n_bits, encoded.n_kept, encoded.failed) == (20_100, n_bits or 16, 0, {})
    found, given = pq.read_table(codes / "a.parquet"), pq.read_table(vectors / "a.parquet").drop("vector")
    assert bytes_of(found) == model.encode(X, n_bits).tobytes()
    assert found.schema.field("code") == pa.field("code", pa.binary(2), nullable=False)
    assert found.drop("code").equals(given)
    assert found.drop("code").schema.equals(given.schema)
    metadata = dict(found.schema.metadata)
    assert metadata[b"owner"] == b"you"
    assert metadata[b"proxcode.model"].decode() == model.fingerprint(n_bits)
    assert metadata[b"proxcode.n_bits"] == str(n_bits or 16).encode()
    # Spark would take the columns from it, without the codes.
    assert b"org.apache.spark.sql.parquet.row.metadata" not in metadata
    plain = pq.read_table(codes / "b.parquet")
    assert plain.schema.names == ["row", "code"]
    np.testing.assert_array_equal(plain["row"], np.arange(100))
    assert bytes_of(plain) == model.encode(X[:100], n_bits).tobytes()


@pytest.mark.parametrize("suffix", ["csv", "feather", "npz", "numbers.parquet"])
def test_all_formats_are_encoded(suffix, model, X, tmp_path):
    path, names = tmp_path / f"x.{suffix}", [f"f{k}" for k in range(N_FEATURES)]
    rows, options, others = X[:9000], {}, ["row"]
    if suffix == "csv":
        np.savetxt(path, rows, delimiter=",", fmt="%.17g", header=",".join(names), comments="")
        rows = rows.astype(float)
    elif suffix == "npz":
        np.savez(path, A=rows, B=rows[:, :2])
        options["key"] = "A"
    else:
        columns = {"id": pa.array(np.arange(9000), pa.int16()), **dict(zip(names, rows.T, strict=True))}
        options["drop"], others = "id", ["id"]
        if suffix == "feather":
            pyarrow.feather.write_feather(pa.table(columns), path, chunksize=700)
        else:
            pq.write_table(pa.table(columns), path)
    encoded = encode_files(model, path, tmp_path / "codes", code_column="bits", **options)
    found = pq.read_table(encoded.outputs[0])
    assert found.schema.names == [*others, "bits"]
    assert bytes_of(found, "bits") == model.encode(rows).tobytes()


def test_pandas_and_the_reader_of_labels_read_the_columns(model, X, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": list(X[:50]), "name": [f"n{k}" for k in range(50)]}, index=np.arange(50) * 2)
    frame.to_parquet(tmp_path / "frame.parquet")
    (output,) = encode_files(model, tmp_path / "frame.parquet", tmp_path / "codes").outputs
    found = pandas.read_parquet(output)
    pandas.testing.assert_frame_equal(found.drop(columns="code"), frame.drop(columns="v"))
    assert read_labels(f"{output}:name").tolist() == frame["name"].tolist()


def test_finished_files_are_kept_and_changed_ones_encoded_again(model, X, vectors, tmp_path):
    codes = tmp_path / "codes"
    encode_files(model, vectors, codes)
    before, listed = times(codes), manifest_of(codes)
    for name, entry in listed["files"].items():
        content = (codes / name).read_bytes()
        assert (entry["size"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
        assert entry["input_size"] == Path(entry["input"]).stat().st_size
    assert encode_files(model, vectors, codes).n_kept == 2
    (codes / "manifest.json").unlink()
    encoded = encode_files(model, vectors, codes)
    assert (encoded.n_kept, encoded.rows) == (2, 20_100)
    assert times(codes) == before
    assert manifest_of(codes) == listed
    np.save(vectors / "b.npy", X[100:300])
    np.save(vectors / "c.npy", X[:5])
    encoded = encode_files(model, vectors, codes)
    assert (encoded.n_kept, encoded.rows) == (1, 20_205)
    assert times(codes)["a.parquet"] == before["a.parquet"]
    assert bytes_of(pq.read_table(codes / "b.parquet")) == model.encode(X[100:300]).tobytes()
    # Files of another source are added to the same folder; those that were moved are the same.
    (tmp_path / "later").mkdir()
    np.save(tmp_path / "later" / "d.npy", X[:7])
    vectors = vectors.rename(tmp_path / "moved")
    encoded = encode_files(model, [vectors, tmp_path / "later"], codes)
    assert (encoded.n_kept, encoded.rows) == (3, 20_212)
    assert sorted(manifest_of(codes)["files"]) == ["a.parquet", "b.parquet", "c.parquet", "d.parquet"]


def test_bad_files_are_set_aside_and_tried_again(model, X, vectors, tmp_path):
    with_nan = X[:9000].copy()
    with_nan[8500, 2] = np.nan
    pq.write_table(pa.table({"v": lists(with_nan)}), vectors / "nan.parquet")
    pq.write_table(pa.table({"v": lists(X[:, :3])}), vectors / "narrow.parquet")
    pq.write_table(pa.table({"v": lists(X), "code": X[:, 0]}), vectors / "taken.parquet")
    pq.write_table(pa.table({"text": ["a", "b"]}), vectors / "text.parquet")
    (vectors / "torn.parquet").write_bytes((vectors / "a.parquet").read_bytes()[:-1000])
    (vectors / "nothing.npy").write_bytes(b"")
    reasons = {
        "nan.parquet": "contains nan in row 8500, column 2: drop these rows or impute their values.",
        "narrow.parquet": "has 3 features, but the model was fitted to 6: choose columns, or another file.",
        "nothing.npy": "is empty: write it again.",
        "taken.parquet": "has a column 'code' already: choose another name for that of the codes",
        "text.parquet": "has no column of numbers among text (string): store the vectors as numbers.",
        "torn.parquet": "is truncated or not a valid Parquet file",
    }
    codes, engine = tmp_path / "codes", Counting()
    encoded = encode_files(model, vectors, codes, engine=engine)
    assert engine.n_tasks == 2 + len(reasons)
    assert sorted(path.name for path in encoded.failed) == sorted(reasons)
    for path, reason in encoded.failed.items():
        assert reason.startswith(f"{path} {reasons[path.name]}")
    assert sorted(path.name for path in codes.iterdir()) == ["a.parquet", "b.parquet", "manifest.json"]
    assert manifest_of(codes)["failed"] == {str(path): reason for path, reason in encoded.failed.items()}
    np.save(vectors / "nothing.npy", X[:3])
    encoded = encode_files(model, vectors, codes, engine=engine)
    assert engine.n_tasks == 2 + 2 * len(reasons)
    assert (len(encoded.failed), encoded.n_kept, encoded.rows) == (len(reasons) - 1, 2, 20_103)
    assert len(manifest_of(codes)["failed"]) == len(reasons) - 1


def test_a_file_that_changes_while_it_is_read_is_set_aside(model, X, vectors, tmp_path, monkeypatch):
    path = vectors / "b.npy"
    original = ProximityPreservingCode.encode

    def encode(self, samples, n_bits=None):
        if len(samples) == 100:
            os.utime(path, ns=(1, 1))
        return original(self, samples, n_bits)

    monkeypatch.setattr(ProximityPreservingCode, "encode", encode)
    encoded = encode_files(model, vectors, tmp_path / "codes")
    assert encoded.failed == {path: f"{path} changed while it was read: encode it again once it is complete."}


def test_codes_of_another_model_or_of_other_options_are_refused(model, other_model, vectors, tmp_path):
    codes = tmp_path / "codes"
    encode_files(model, vectors, codes)
    before = times(codes)
    with pytest.raises(FileExistsError, match=r"codes holds codes of another model: choose another folder, or repl"):
        encode_files(other_model, vectors, codes)
    with pytest.raises(FileExistsError, match="holds codes of another length"):
        encode_files(model, vectors, codes, n_bits=8)
    with pytest.raises(FileExistsError, match="holds codes of other columns or options"):
        encode_files(model, vectors, codes, code_column="bits")
    (codes / "manifest.json").unlink()
    with pytest.raises(FileExistsError, match=r"a\.parquet holds codes of another model"):
        encode_files(other_model, vectors, codes)
    assert times(codes) == before
    encode_files(model, vectors, codes)
    with pytest.raises(FileExistsError, match=r"b\.parquet holds codes of another model, and none of the inputs repl"):
        encode_files(other_model, vectors / "a.parquet", codes, overwrite=True)
    assert times(codes) == before
    encoded = encode_files(other_model, vectors, codes, overwrite=True)
    assert (encoded.n_kept, manifest_of(codes)["model"]) == (0, other_model.fingerprint())
    assert other_model.fingerprint() != model.fingerprint()


def test_files_of_others_are_refused(model, X, vectors, tmp_path):
    codes = tmp_path / "codes"
    codes.mkdir()
    (codes / "a.parquet").write_text("theirs")
    with pytest.raises(FileExistsError, match=r"a\.parquet exists, but does not hold codes of proxcode"):
        encode_files(model, vectors, codes)
    assert (codes / "a.parquet").read_text() == "theirs"
    assert len(list(codes.iterdir())) == 1
    encode_files(model, vectors, codes, overwrite=True)
    (tmp_path / "b.npy").write_bytes((vectors / "b.npy").read_bytes())
    with pytest.raises(FileExistsError, match=r"b\.parquet holds codes of .*vectors/b\.npy, not of .*b\.npy"):
        encode_files(model, tmp_path / "b.npy", codes)
    (codes / "manifest.json").write_text("[]")
    with pytest.raises(FileExistsError, match=r"manifest\.json is not a manifest of codes"):
        encode_files(model, vectors, codes)


def test_inputs_and_folders_that_do_not_fit_together_are_refused(model, X, vectors, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(vectors / "a.npy", X[:3])
    with pytest.raises(ValueError, match=r"a\.npy and of .*a\.parquet would both be a\.parquet: rename one of them"):
        encode_files(model, vectors, "codes")
    (vectors / "a.npy").unlink()
    for inside in ("vectors", "vectors/codes"):
        with pytest.raises(ValueError, match="lies in the input vectors: choose a folder outside"):
            encode_files(model, "vectors", inside)
    with pytest.raises(ValueError, match=r"lies in the input \*\*/\*\.npy: choose a folder outside"):
        encode_files(model, "**/*.npy", "codes")
    with pytest.raises(ValueError, match=r"b\.npy lies in the output folder vectors: choose another folder"):
        encode_files(model, "vectors/*.npy", "vectors")
    with pytest.raises(NotADirectoryError, match=r"b\.npy is a file: the codes of many files are written to a folder"):
        encode_files(model, "vectors", "vectors/b.npy")
    with pytest.raises(ValueError, match=r"codes\.npy is the name of a file"):
        encode_files(model, "vectors", "codes.npy")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone\.npy"):
        encode_files(model, ["vectors/b.npy", "gone.npy"], "codes")
    with pytest.raises(ValueError, match="the list of files is empty"):
        encode_files(model, [], "codes")
    with pytest.raises(ValueError, match=r"n_bits=17: expected an integer from 1 to 16"):
        encode_files(model, "vectors", "codes", n_bits=17)
    assert not (tmp_path / "codes").exists()
    # A pattern beside the folder, and the same file named twice.
    assert encode_files(model, ["vectors/*.npy", "vectors/b.npy"], "codes").rows == 100


def test_only_fitted_models_encode(vectors, tmp_path):
    with pytest.raises(NotFittedError):
        encode_files(ProximityPreservingCode(16), vectors, tmp_path / "codes")
    with pytest.raises(TypeError, match=r"model='m\.proxcode': expected a fitted ProximityPreservingCode"):
        encode_files("m.proxcode", vectors, tmp_path / "codes")


def test_a_classifier_has_a_fingerprint(X, tmp_path):
    pytest.importorskip("skops")
    prints = []
    for strength in (1.0, 1e-4):
        hash_function = ClassifierHash(LogisticRegression(C=strength))
        model = ProximityPreservingCode(4, hash_function=hash_function, random_state=0).fit(X[:200], X[:200, 0] > 0)
        model.save(tmp_path / "m.proxcode")
        prints.append(model.fingerprint())
        assert ProximityPreservingCode.load(tmp_path / "m.proxcode", trusted=[]).fingerprint() == prints[-1]
    assert prints[0] != prints[1]


def test_a_saved_model_has_the_fingerprint_of_the_model(model, tmp_path):
    model.save(tmp_path / "m.proxcode")
    assert ProximityPreservingCode.load(tmp_path / "m.proxcode").set_params(verbose=True).fingerprint() == (
        model.fingerprint()
    )


SLOW = """
import sys, time
from proxcode.cli import main
from proxcode.encoding import task

original = task.described
def slowly(*arguments):
    time.sleep(0.3)
    return original(*arguments)
task.described = slowly
main(sys.argv[1:], prog_name="proxcode")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_loses_no_finished_file(sent, model, X, tmp_path):
    vectors, codes = tmp_path / "vectors", tmp_path / "codes"
    vectors.mkdir()
    for k in range(6):
        np.save(vectors / f"{k}.npy", X[1000 * k : 1000 * (k + 1)])
    model.save(tmp_path / "m.proxcode")
    command = [sys.executable, "-c", SLOW, "encode", tmp_path / "m.proxcode", vectors, "-o", codes]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not ((codes / "1.parquet").exists() and (codes / ".2.parquet.partial").exists()):
        time.sleep(0.01)
    process.send_signal(sent)
    errors = process.communicate()[1]
    before = times(codes)
    # The third file was being written.
    assert sorted(before) == ["0.parquet", "1.parquet"]
    if sent == signal.SIGINT:
        assert (process.returncode, without_progress(errors)) == (
            130,
            "Interrupted: run the same command again to resume.\n",
        )
        assert sorted(manifest_of(codes)["files"]) == sorted(before)
    encoded = encode_files(model, vectors, codes)
    assert (encoded.n_kept, encoded.rows) == (2, 6000)
    assert before.items() <= times(codes).items()
    assert sorted(path.name for path in codes.iterdir()) == [*(f"{k}.parquet" for k in range(6)), "manifest.json"]
    for k in range(6):
        assert bytes_of(pq.read_table(codes / f"{k}.parquet")) == model.encode(X[1000 * k : 1000 * (k + 1)]).tobytes()


def test_codes_of_what_an_input_was_do_not_stay(model, other_model, X, tmp_path):
    (tmp_path / "vectors").mkdir()
    np.save(tmp_path / "vectors" / "a.npy", X)
    np.save(tmp_path / "vectors" / "b.npy", X)
    encode_files(model, tmp_path / "vectors", tmp_path / "codes")
    np.save(tmp_path / "vectors" / "a.npy", np.where(np.arange(len(X))[:, None] == 3, np.nan, X))
    encoded = encode_files(other_model, tmp_path / "vectors", tmp_path / "codes", overwrite=True)
    assert [path.name for path in encoded.failed] == ["a.npy"]
    assert sorted(path.name for path in (tmp_path / "codes").iterdir()) == ["b.parquet", "manifest.json"]


def test_codes_that_another_process_writes_are_left_to_it(model, other_model, X, tmp_path):
    (tmp_path / "vectors").mkdir()
    np.save(tmp_path / "vectors" / "a.npy", X)
    encode_files(model, tmp_path / "vectors", tmp_path / "codes")
    output = tmp_path / "codes" / "a.parquet"
    before = output.read_bytes()
    with atomic_write(output) as partial:
        encoded = encode_files(other_model, tmp_path / "vectors", tmp_path / "codes", overwrite=True)
        assert "is being written by another process" in encoded.failed[tmp_path / "vectors" / "a.npy"]
        assert output.read_bytes() == before
        partial.write_bytes(before)
    assert output.read_bytes() == before


def test_parts_without_rows_and_columns_without_values(model, X, tmp_path):
    (tmp_path / "vectors").mkdir()
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    table = pa.table({"vector": lists, "nothing": pa.nulls(len(X))})
    pq.write_table(table, tmp_path / "vectors" / "a.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "vectors" / "b.parquet")
    encoded = encode_files(model, tmp_path / "vectors", tmp_path / "codes")
    assert (encoded.rows, encoded.failed) == (len(X), {})
    assert pq.read_table(tmp_path / "codes" / "a.parquet").schema.names == ["nothing", "code"]


def test_a_manifest_of_something_else_is_refused(model, X, vectors, tmp_path):
    encode_files(model, vectors, tmp_path / "codes")
    path = tmp_path / "codes" / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "files": {"a.parquet": 5}}))
    with pytest.raises(FileExistsError, match="is not a manifest of codes"):
        encode_files(model, vectors, tmp_path / "codes")
