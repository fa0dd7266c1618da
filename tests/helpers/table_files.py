"""Files in formats that NumPy does not write."""

import struct

import h5py
import numpy as np
import pyarrow as pa


def texmex(path, X):
    rows = [struct.pack("<i", len(row)) + row.tobytes() for row in X]
    path.write_bytes(b"".join(rows))


def text(path, X):
    separator = "," if path.suffix == ".csv" else "\t"
    path.write_text("\n".join(separator.join(map(repr, row)) for row in X.tolist()) + "\n")


def arrow_columns(X):
    return pa.table({f"x{k}": X[:, k] for k in range(X.shape[1])})


def ipc(path, table):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)


def hdf5(path, X):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/x", data=X)
        file.create_dataset("y", data=np.arange(len(X)))
