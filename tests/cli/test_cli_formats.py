"""Every format of vectors and labels gives the model and the codes of its array."""

import csv
import struct

import numpy as np
import pytest

from helpers.command_line import call, record_of
from proxcode import ProximityPreservingCode
from proxcode.files import write_table


def write_csv(folder, X, y):
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k}" for k in range(X.shape[1])), "class"])
        writer.writerows([*row.tolist(), f"digit {label}"] for row, label in zip(X, y, strict=True))
    return ("t.csv",), "t.csv:class", ("--columns", ",".join(f"x{k}" for k in range(X.shape[1])))


def write_npy(folder, X, y):
    np.save(folder / "t.npy", X)
    np.save(folder / "y.npy", y)
    return ("t.npy",), "y.npy", ()


def write_npz(folder, X, y):
    np.savez(folder / "t.npz", X=X, other=X[:, :2], y=y)
    return ("t.npz", "--key", "X"), "t.npz:y", ()


def write_fvecs(folder, X, y):
    rows = (struct.pack("<i", X.shape[1]) + row.astype("<f4").tobytes() for row in X)
    (folder / "t.fvecs").write_bytes(b"".join(rows))
    (folder / "y.txt").write_text("".join(f"{label}\n" for label in y))
    return ("t.fvecs",), "y.txt", ()


def write_parquet(folder, X, y):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"embedding": X.tolist(), "class": y}), folder / "t.parquet")
    return ("t.parquet",), "t.parquet:class", ()


def write_safetensors(folder, X, y):
    from safetensors.numpy import save_file

    save_file({"X": np.ascontiguousarray(X), "y": y}, folder / "t.safetensors")
    return ("t.safetensors",), "t.safetensors:y", ()


def write_h5(folder, X, y):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "t.h5", "w") as file:
        file["train/X"], file["train/y"] = X, y
    return ("t.h5", "--key", "train/X"), "t.h5:train/y", ()


FORMATS = (write_csv, write_npy, write_npz, write_fvecs, write_parquet, write_safetensors, write_h5)


@pytest.mark.parametrize("write", FORMATS, ids=lambda write: write.__name__)
def test_every_format_gives_the_model_and_the_codes_of_its_array(write, train, new, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = train[0][:200, :40], train[1][:200]  # whole numbers: the same in all formats
    vectors, labels, without_labels = write(tmp_path, X, y)
    call("fit", *vectors, "--labels", labels, "--bits", 8, "-o", "m.proxcode")
    dtype = np.float32 if write is write_fvecs else np.float64
    expected = ProximityPreservingCode(8, random_state=0).fit(X.astype(dtype), y)
    call("encode", "m.proxcode", *vectors, *without_labels, "-o", "codes.npy")
    np.testing.assert_array_equal(np.load("codes.npy"), expected.codes_)
    facts = record_of("info", vectors[0]) if "--key" not in vectors else {"kind": "vectors", "columns": 40}
    assert facts["kind"] == "vectors"
    assert facts["columns"] == 40 + (write is write_csv)


@pytest.mark.parametrize("file", ["t.csv", "12:30.csv", r"C:\data\t.csv", "t.parquet"])
@pytest.mark.parametrize("column", ["class", "a:b", ":", "x0:class", "t.csv:class"])
def test_the_column_of_the_labels_is_not_part_of_the_vectors(column, file, train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = train[0][:100, 20:30], train[1][:100]
    columns = {f"x{k}": X[:, k] for k in range(5)} | {column: y} | {f"x{k}": X[:, k] for k in range(5, 10)}
    write_table(tmp_path / file, columns)
    call("fit", file, "--labels", f"{file}:{column}", "--bits", 4, "-o", "m.proxcode")
    expected = ProximityPreservingCode(4, random_state=0).fit(X, y)
    loaded = ProximityPreservingCode.load("m.proxcode")
    assert loaded.n_features_in_ == 10
    np.testing.assert_array_equal(loaded.codes_, expected.codes_)


def test_labels_of_another_file_leave_all_columns(train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = train[0][:100, 20:30], train[1][:100]
    write_table(tmp_path / "t.csv", {f"x{k}": X[:, k] for k in range(10)})
    write_table(tmp_path / "y.csv", {"x0": y})
    call("fit", "t.csv", "--labels", "y.csv:x0", "--bits", 4, "-o", "m.proxcode")
    assert ProximityPreservingCode.load("m.proxcode").n_features_in_ == 10
