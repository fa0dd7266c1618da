"""Damaged files of every format are refused in one sentence or read: no crash, no hang, no large allocation."""

import io
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest

from proxcode.files import open_vectors, read_graph, read_labels

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Seeds of mutations that once ended the process, took for ever, or raised an error of another library.
SEEDS = {
    "npz": (20, 110, 122),
    "hdf5": (1732, 2749),
    "csv": (428, 456),
    "parquet": (1758, 5147),
    "feather": (127, 3355, 9525),
    "arrow stream": (98,),
    "labels in hdf5": (674, 795, 1016, 1241),
    "labels in feather": (248, 272),
    "labels in streams": (2, 35, 64, 73, 3778),
    "pairs": (77, 7047),
    "graphs in text": (21, 127, 1450),
    "graphs in arrays": (250, 723, 923),
}


@pytest.fixture(scope="module")
def fuzzing():
    sys.path.insert(0, str(BENCHMARKS))
    import _fuzzing

    sys.path.remove(str(BENCHMARKS))
    return _fuzzing


@pytest.fixture(scope="module")
def valid(fuzzing, tmp_path_factory):
    """Valid files of all formats but models."""
    folder = tmp_path_factory.mktemp("valid")
    fuzzing.make_tables(folder)
    return folder


@pytest.mark.parametrize("name", SEEDS)
def test_mutations_that_once_failed(fuzzing, valid, tmp_path, name):
    for seed in SEEDS[name]:
        path = fuzzing.write_mutation(valid, name, seed, tmp_path)
        assert fuzzing.outcome_of(fuzzing.READERS[name].read, path) in ("refused", "accepted"), seed


def test_a_sample_of_mutations(fuzzing):
    # In processes of their own, which may end.
    rows = fuzzing.fuzz_rows(150, readers=["feather", "index content"])
    for row in rows:
        assert (row["crashes"], row["hangs"]) == (0, 0), row
        assert row["refused"] + row["accepted"] == row["mutations"] == 150


def npy_header(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_npz_member_announces_more_than_it_holds(tmp_path, compression):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("x.npy", npy_header((2**28, 8)) + bytes(1000))
    with pytest.raises(ValueError, match=r"x\.npz .* announces shape \(268435456, 8\) of float32 in 1000 bytes"):
        open_vectors(path)


def test_an_npz_member_of_an_unknown_compression(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("x.npy", npy_header((2, 2)) + bytes(16))
    with pytest.raises(ValueError, match=r"method 12, expected none or deflate"):
        open_vectors(path)


def test_an_hdf5_dataset_without_room_for_its_shape(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (2**30, 8), chunks=(1024, 8), dtype="f4")
    with pytest.raises(ValueError, match=r"x announces shape \(1073741824, 8\) of float32 in \d+ bytes"):
        open_vectors(path).read()


def test_a_batch_of_rows_without_values(tmp_path):
    path = tmp_path / "y.arrow"
    batch = pa.record_batch([pa.nulls(1000)], ["y"])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(ValueError, match="1000 rows in 0 bytes"):
        read_labels(path)


@pytest.mark.parametrize("name", ["g.gset", "g.mtx"])
def test_a_graph_announces_too_many_nodes(tmp_path, name):
    path = tmp_path / name
    first = (
        "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1" if name == "g.mtx" else "1000000000 1"
    )
    path.write_text(f"{first}\n1 2 3\n")
    with pytest.raises(ValueError, match="announces 1000000000 nodes"):
        read_graph(path)


def test_a_long_cell_is_shortened(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(f"1,2\n3,{'x' * 10_000}\n")
    with pytest.raises(ValueError, match=r"holds 'x{60}\.\.\.', not a number"):
        open_vectors(path).read()
