"""Damaged files of every format, read in child processes: how often a reader refuses, accepts, crashes or hangs.

    python benchmarks/_fuzzing.py [N_MUTATIONS [SECONDS [READER ...]]]

1. Small valid files of every format are written once.
2. A mutation is a copy of one of them with flipped bits, extreme integers, or with blocks cut off, deleted,
   inserted or swapped; files of proxcode are also rewritten with changed content and a correct digest. It follows
   from the name of the reader and a seed.
3. A worker process with limited memory reads one mutation after another, and all that they hold. A refusal is a
   ValueError or OSError that names the file in one sentence. All other exceptions, warnings and the end of the process
   are crashes; a file that takes longer than `PATIENCE` seconds is a hang. After these two a new worker goes on.
"""

import json
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

# Seconds for a file of some kilobytes before it counts as a hang.
PATIENCE = 10
# Memory, in bytes, that a worker may allocate beyond what it holds after it has read a valid file.
MEMORY = 2**30
# Integers that headers are made of, replaced by the extremes and neighbours of their types.
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
# Text put into text files, beside bytes.
WORDS = (
    b",",
    b"\t",
    b"\n",
    b'"',
    b"nan",
    b"inf",
    b"1e999",
    b"-",
    b"9" * 30,
    b"9" * 5000,
    b"1_0",
    b"\x00",
    b"\xff",
    b"%",
)
# Values put in the place of others in the JSON of a file of proxcode.
STRANGE = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**70,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    [],
    [1],
    {},
    {"a": 1},
    {"array": "x"},
)


class Reader(NamedTuple):
    """A way to read files: the names of valid files, what reads one, and what mutates one."""

    names: tuple[str, ...]
    read: Callable[[Path], Any]
    mutate: Callable[[Path, Path, np.random.Generator], None]


def fuzz_rows(n_mutations=10_000, seconds=None, readers=None):
    """Return one row for each reader.

    Parameters
    ----------
    n_mutations : int, default=10_000
        Number of mutated files for each reader.
    seconds : float, default=None
        Time for each reader, after which no further mutation begins; None is no limit.
    readers : list of str, default=None
        Names of readers; None is all.

    Returns
    -------
    list of dict
        With reader, mutations, refused, accepted, crashes, hangs and failures: texts with the seeds of crashes and
        hangs, at most ten.
    """
    names = list(readers or READERS)
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        has_models = any("model" in name or "checkpoint" in name for name in names)
        subprocess.run([sys.executable, __file__, "--make" if has_models else "--make-tables", folder], check=True)
        return [_row(folder, name, n_mutations, seconds) for name in names]


def _row(folder, name, n_mutations, seconds):
    counts = dict.fromkeys(("refused", "accepted", "crashes", "hangs"), 0)
    failures, seed, start = [], 0, monotonic()
    while seed < n_mutations and (seconds is None or monotonic() - start < seconds):
        left = 0 if seconds is None else max(1.0, seconds - (monotonic() - start))
        command = [sys.executable, __file__, "--work", folder, name, str(seed), str(n_mutations), str(left)]
        first = seed
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
            output, errors = worker.communicate()
        for line in output.splitlines():
            outcome, _, text = line.partition(" ")
            counts[outcome] += 1
            if outcome == "crashes":
                failures.append(f"seed {seed}: {text}")
            seed += 1
        if worker.returncode:
            if seed == first and not output and "ready" not in errors:
                raise RuntimeError(f"the worker for {name} cannot begin: {errors[-2000:]}")
            counts["hangs" if worker.returncode == -signal.SIGALRM else "crashes"] += 1
            failures.append(f"seed {seed}: the process ends with {worker.returncode}: {errors.strip()[-200:]!r}")
            seed += 1
    return {"reader": name, "mutations": seed, **counts, "failures": failures[:10]}


def work(folder, name, first, stop, seconds):
    """Read mutations and print the outcome of each."""
    reader, folder = READERS[name], Path(folder)
    for valid in reader.names:
        reader.read(folder / valid)
    print("ready", file=sys.stderr, flush=True)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    start = monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for seed in range(first, stop):
            if seconds and monotonic() - start > seconds:
                return
            mutated = write_mutation(folder, name, seed, Path(scratch))
            signal.alarm(PATIENCE)
            outcome = outcome_of(reader.read, mutated)
            signal.alarm(0)
            print(outcome, flush=True)
            for path in Path(scratch).iterdir():
                path.unlink()


def write_mutation(folder, name, seed, scratch):
    """Write the mutated file of a seed; return its path."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    reader = READERS[name]
    valid = folder / reader.names[rng.integers(len(reader.names))]
    mutated = scratch / f"mutated{valid.suffix}"
    reader.mutate(valid, mutated, rng)
    return mutated


def outcome_of(read, path):
    """Read a file; return "accepted", "refused", or "crashes" with the reason."""
    try:
        read(path)
    except (ValueError, OSError) as error:
        text = str(error)
        is_clear = type(error) in {ValueError, OSError, FileNotFoundError} and path.name in text
        if is_clear and "\n" not in text and len(text) < 2000:
            return "refused"
        return f"crashes {type(error).__name__}: {' '.join(text.split())[:300]}"
    except Exception as error:
        return f"crashes {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return "accepted"


def mutate_bytes(valid, mutated, rng):
    """Write a copy with one to three changes of its bytes."""
    data = bytearray(valid.read_bytes())
    is_text = b"\x00" not in data and max(data) < 128
    for _ in range(rng.integers(1, 4)):
        data = _changed(data, rng, is_text)
    mutated.write_bytes(bytes(data))


def _changed(data, rng, is_text):
    if len(data) < 2:
        return bytearray(rng.bytes(16))
    size = int(rng.integers(1, min(len(data), 64) + 1))
    at, other = _place(len(data), rng), _place(len(data), rng)
    change = int(rng.integers(8))
    if change == 0:
        for place in rng.integers(len(data), size=rng.integers(1, 9)):
            data[place] ^= 1 << int(rng.integers(8))
    elif change == 1:
        data[at] ^= 1 << int(rng.integers(8))
    elif change == 2:
        del data[at if at else 1 :]
    elif change == 3:
        data[at : at + size] = bytes([int(rng.choice([0, 1, 255, int(rng.integers(256))]))]) * size
    elif change == 4:
        del data[at : at + size]
    elif change == 5:
        data[at:at] = WORDS[rng.integers(len(WORDS))] if is_text else rng.bytes(size)
    elif change == 6 and is_text:
        word = WORDS[rng.integers(len(WORDS))]
        data[at : at + len(word)] = word
    elif change == 6:
        value, width = EXTREMES[rng.integers(len(EXTREMES))], int(rng.choice([1, 2, 4, 8]))
        at -= at % width if rng.integers(2) else 0
        data[at : at + width] = (value % 256**width).to_bytes(width, "little")
    else:
        block = data[at : at + size]
        data[at : at + size], data[other : other + size] = data[other : other + size], block
    return data


def _place(length, rng):
    """Draw a place, often near the start or the end, where headers and footers are."""
    kind = rng.integers(3)
    if kind == 0:
        return int(rng.integers(length))
    near = int(min(length - 1, rng.geometric(1 / 150)))
    return near if kind == 1 else length - 1 - near


def mutate_content(valid, mutated, rng):
    """Write a copy of a file of proxcode with changed content and a correct digest."""
    from proxcode.storage.container import kind_of, read_file, write_file

    kind = kind_of(valid)
    content, tensors = read_file(valid, kind)
    for _ in range(rng.integers(1, 3)):
        if tensors and rng.integers(2):
            name = sorted(tensors)[rng.integers(len(tensors))]
            changed = _changed_array(tensors.pop(name), rng)
            if changed is not None:
                tensors[name] = changed
        elif content:
            holder, key = _some_entry(content, rng)
            if rng.integers(4) == 0:
                del holder[key]
            else:
                holder[key] = deepcopy(STRANGE[rng.integers(len(STRANGE))])
    write_file(mutated, kind, content, tensors)


def _changed_array(array, rng):
    """Return an array of another type, shape or content, or None for no array."""
    dtype = str(rng.choice(["u1", "i4", "i8", "f4", "f8", "f2", "?"]))
    changes = (
        lambda: None,
        lambda: array[: len(array) // 2] if array.ndim else array,
        lambda: array.reshape(-1),
        lambda: array.astype(dtype),
        lambda: np.concatenate([array, array]) if array.ndim else array[None],
        lambda: np.zeros((0,) * array.ndim, array.dtype),
        lambda: np.ascontiguousarray(array.T)[..., None],
        lambda: _with_extreme(array, rng),
        lambda: _with_extreme(array, rng),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        return changes[rng.integers(len(changes))]()


def _with_extreme(array, rng):
    """Return an array with one value replaced."""
    changed = array.copy()
    extremes = [np.nan, np.inf, -np.inf, 1e30, 0] if array.dtype.kind == "f" else [0, 1, 127, -1, 2**31, 2**62]
    if changed.size:
        value = np.array(extremes[rng.integers(len(extremes))]).astype(array.dtype)
        changed.reshape(-1)[rng.integers(changed.size)] = value
    return changed


def _some_entry(content, rng):
    """Return a dictionary or list somewhere in the content, and one of its keys."""
    entries, waiting = [], [content]
    while waiting:
        holder = waiting.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            entries.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return entries[rng.integers(len(entries))]


def read_vectors(path):
    from proxcode.files import open_vectors

    vectors = open_vectors(path)
    with np.errstate(all="ignore"):
        vectors.read().sum(dtype=float)
        sum(block.sum(dtype=float) for block in vectors.blocks(3))


def read_column(path):
    from proxcode.files import read_labels

    return read_labels(path)


def read_some_graph(path):
    from proxcode.files import read_graph

    return read_graph(path)


def read_some_pairs(path):
    from proxcode.files import read_pairs

    return read_pairs(path)


def read_model(path):
    from proxcode import ProximityPreservingCode

    model = ProximityPreservingCode.load(path)
    repr(model), model._repr_html_()
    X = np.random.default_rng(0).normal(size=(3, model.n_features_in_))
    with np.errstate(all="ignore"):
        codes = model.encode(X)
        try:
            queries = model.query(X)
        except ValueError as error:
            # Finite but very large numbers in a file whose digest is right.
            if not str(error).startswith("tables contains"):
                raise
        else:
            model.index(codes).search(queries, k=2)


def read_checkpoint(path):
    from proxcode import LinearHash, ProximityPreservingCode

    X, y = _samples()
    ProximityPreservingCode(5, hash_function=LinearHash(), random_state=0).fit(X, y, checkpoint=path)


def read_index(path, mapped=False):
    from proxcode import HammingIndex

    index = HammingIndex.load(path, mapped=mapped, n_threads=1)
    queries = np.zeros((2, -(-index.n_bits // 8)), np.uint8)
    index.search(queries, k=3)
    index.within(queries, radius=4)
    index.add(queries)
    index.remove(index.ids[:1])


def read_mapped_index(path):
    read_index(path, mapped=True)


def _samples():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    return (rng.normal(size=(40, 6)) + 2 * rng.normal(size=(4, 6))[y]).astype(np.float32), y


def make(folder):
    """Write the valid files."""
    make_tables(Path(folder))
    _make_models(Path(folder))


def make_tables(folder):
    """Write the valid files of all formats but models."""
    _make_arrays(folder)
    _make_texts(folder)
    _make_arrow(folder)
    _make_indexes(folder)


def _make_arrays(folder):
    import h5py
    import scipy.sparse as sp
    from safetensors.numpy import save_file

    X, y = _samples()
    np.save(folder / "x.npy", X)
    np.save(folder / "fortran.npy", np.asfortranarray(X.astype(float)))
    np.savez(folder / "x.npz", x=X, y=y)
    np.savez_compressed(folder / "packed.npz", x=X, y=y)
    save_file({"x": X, "y": y}, folder / "x.safetensors")
    words = np.array(["cat", "dog", "bird", "fish"])[y]
    np.save(folder / "y.npy", y)
    np.save(folder / "words.npy", words)
    np.savez_compressed(folder / "words.npz", words)
    np.save(folder / "pairs.npy", np.column_stack([y, y + 4, 2 * (y % 2) - 1]))
    for suffix, dtype in {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}.items():
        rows = [np.int32(6).tobytes() + np.abs(10 * row).astype(dtype).tobytes() for row in X]
        (folder / f"x{suffix}").write_bytes(b"".join(rows))
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("group/x", data=X)
        file.create_dataset("y", data=y)
    with h5py.File(folder / "chunks.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(7, 3), compression="gzip", shuffle=True)
    for name, values in {"strings": words.astype(object), "fixed": words.astype("S5")}.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("y", data=values, dtype=h5py.string_dtype() if name == "strings" else None)
    W = np.triu(np.random.default_rng(1).integers(-1, 2, size=(12, 12)), 1).astype(float)
    np.save(folder / "graph.npy", W + W.T)
    sp.save_npz(folder / "graph.npz", sp.csr_array(W + W.T))
    sp.save_npz(folder / "graph_coo.npz", sp.coo_array(W + W.T))


def _make_texts(folder):
    X, y = _samples()
    for suffix, separator in {".csv": ",", ".tsv": "\t"}.items():
        rows = [separator.join(map(str, row)) for row in X.tolist()]
        names = separator.join(f'"x {k}"' for k in range(X.shape[1]))
        (folder / f"x{suffix}").write_text("\n".join([names, *rows]) + "\n")
        (folder / f"plain{suffix}").write_text("\n".join(rows) + "\n")
        (folder / f"y{suffix}").write_text("\n".join(["label", *map(str, y)]) + "\n")
        pairs = [separator.join([str(a), str(a + 4), "near" if a % 2 else "far"]) for a in y]
        (folder / f"pairs{suffix}").write_text("\n".join(pairs) + "\n")
        edges = [separator.join([f"n{a}", f"n{b}", str(a - b)]) for a in range(5) for b in range(a)]
        (folder / f"graph{suffix}").write_text(
            "\n".join(["source,target,weight".replace(",", separator), *edges]) + "\n"
        )
    (folder / "y.txt").write_text("\n".join(map(str, y)) + "\n")
    (folder / "words.txt").write_text("\n".join(f"class {label}" for label in y) + "\n")
    edges = [f"{a + 1} {b + 1} {a - b}" for a in range(6) for b in range(a)]
    (folder / "graph.gset").write_text("\n".join([f"6 {len(edges)}", *edges]) + "\n")
    (folder / "graph.txt").write_text("\n".join(["# edges", *edges]) + "\n")
    (folder / "graph.mtx").write_text(
        "\n".join(["%%MatrixMarket matrix coordinate real symmetric", f"6 6 {len(edges)}", *edges]) + "\n"
    )
    (folder / "dense.mtx").write_text(
        "\n".join(["%%MatrixMarket matrix array real symmetric", "3 3", *map(str, range(6))]) + "\n"
    )


def _make_arrow(folder):
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    X, y = _samples()
    words = pa.array([None if k % 9 == 0 else f"class {label}" for k, label in enumerate(y)])
    lists = pa.array(X.tolist(), pa.list_(pa.float32()))
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    large = pa.array(X.tolist(), pa.large_list(pa.float64()))
    missing = pa.array([None if k == 5 else float(value) for k, value in enumerate(X[:, 0])])
    tables = {
        "columns": pa.table({**{f"x{k}": X[:, k] for k in range(3)}, "missing": missing, "y": y, "label": words}),
        "lists": pa.table({"id": y, "vector": lists}),
        "fixed": pa.table({"vector": fixed, "label": words.dictionary_encode()}),
        "large": pa.table({"vector": large}),
        "numbers": pa.table({"y": y}),
        "words": pa.table({"label": words}),
        "large_words": pa.table({"label": words.cast(pa.large_string())}),
        "view_words": pa.table({"label": words.cast(pa.string_view())}),
        "dictionary": pa.table({"label": words.dictionary_encode()}),
        "flags": pa.table({"label": pa.array([bool(label % 2) for label in y])}),
    }
    for name, table in tables.items():
        if name != "view_words":
            pa.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=16, compression="snappy")
            pa.parquet.write_table(table, folder / f"{name}_plain.parquet", compression="none", use_dictionary=False)
            pa.parquet.write_table(table, folder / f"{name}_zstd.parquet", compression="zstd", data_page_version="2.0")
        for compression in ("uncompressed", "lz4", "zstd"):
            pa.feather.write_feather(table, str(folder / f"{name}_{compression}.feather"), compression, chunksize=16)
        with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=16)


def _make_models(folder):
    from proxcode import (
        GivenPairs,
        KernelHash,
        LinearHash,
        ProximityPreservingCode,
        ReconstructionHash,
        RotationHash,
        SameLabel,
        SVMHash,
        WithinRadius,
    )

    X, y = _samples()
    pairs = np.column_stack([y, y + 4])
    models = {
        "linear": {"hash_function": LinearHash()},
        "kernel": {"hash_function": KernelHash(n_landmarks=10)},
        "svm": {"hash_function": SVMHash()},
        "radius": {"proximity": WithinRadius(), "hash_function": KernelHash(n_landmarks=10)},
        "rotation": {"hash_function": RotationHash(n_landmarks=10, gamma=0.1)},
        "principal": {"hash_function": RotationHash(gamma=0)},
        "reconstruction": {"hash_function": ReconstructionHash(n_rounds=1, n_descents=1)},
        "new_classes": {"proximity": SameLabel(new_classes=True)},
        "pairs": {"proximity": GivenPairs(pairs), "hash_function": LinearHash()},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, parameters in models.items():
            is_unlabelled = name in ("radius", "rotation", "principal", "reconstruction", "pairs")
            model = ProximityPreservingCode(5, random_state=0, **parameters).fit(X, None if is_unlabelled else y)
            model.save(folder / f"{name}.proxcode")


def _make_indexes(folder):
    from proxcode import HammingIndex

    index = HammingIndex(n_bits=11)
    codes = np.random.default_rng(0).integers(256, size=(30, 2), dtype=np.uint8) & np.array([255, 224], np.uint8)
    index.add(codes).save(folder / "plain.index")
    HammingIndex(n_bits=11).add(codes, ids=np.arange(30) * 7).save(folder / "ids.index")


def _names(suffix, *names):
    return tuple(f"{name}{suffix}" for name in names)


VECTOR_TABLES = ("columns", "lists", "fixed", "large")
LABEL_TABLES = ("numbers", "words", "large_words", "dictionary", "flags")
MODELS = _names(
    ".proxcode", "linear", "kernel", "svm", "radius", "rotation", "principal", "reconstruction", "new_classes", "pairs"
)
_SOURCES = {
    "npy": (("x.npy", "fortran.npy"), read_vectors),
    "npz": (("x.npz", "packed.npz"), read_vectors),
    "safetensors": (("x.safetensors",), read_vectors),
    "hdf5": (("x.h5", "chunks.h5"), read_vectors),
    "fvecs": (("x.fvecs", "x.bvecs", "x.ivecs"), read_vectors),
    "csv": (("x.csv", "plain.csv", "x.tsv", "plain.tsv"), read_vectors),
    "parquet": (_names(".parquet", *(f"{n}{k}" for n in VECTOR_TABLES for k in ("", "_plain", "_zstd"))), read_vectors),
    "feather": (
        _names(".feather", *(f"{n}_{k}" for n in VECTOR_TABLES for k in ("uncompressed", "lz4", "zstd"))),
        read_vectors,
    ),
    "arrow stream": (_names(".arrow", *VECTOR_TABLES), read_vectors),
    "labels in arrays": (("y.npy", "words.npy", "words.npz", "x.npz", "x.safetensors", "x.h5"), read_column),
    "labels in hdf5": (("strings.h5", "fixed.h5"), read_column),
    "labels in text": (("y.csv", "y.tsv", "y.txt", "words.txt"), read_column),
    "labels in parquet": (
        _names(".parquet", *(f"{n}{k}" for n in LABEL_TABLES for k in ("", "_plain", "_zstd"))),
        read_column,
    ),
    "labels in feather": (
        _names(".feather", *(f"{n}_{k}" for n in (*LABEL_TABLES, "view_words") for k in ("uncompressed", "lz4"))),
        read_column,
    ),
    "labels in streams": (_names(".arrow", *LABEL_TABLES, "view_words"), read_column),
    "pairs": (("pairs.csv", "pairs.tsv", "pairs.npy"), read_some_pairs),
    "graphs in text": (
        ("graph.csv", "graph.tsv", "graph.txt", "graph.gset", "graph.mtx", "dense.mtx"),
        read_some_graph,
    ),
    "graphs in arrays": (("graph.npy", "graph.npz", "graph_coo.npz"), read_some_graph),
    "model": (MODELS, read_model),
    "checkpoint": (("linear.proxcode",), read_checkpoint),
    "index": (("plain.index", "ids.index"), read_index),
    "mapped index": (("plain.index", "ids.index"), read_mapped_index),
}
READERS = {name: Reader(names, read, mutate_bytes) for name, (names, read) in _SOURCES.items()}
READERS |= {
    f"{name} content": READERS[name]._replace(mutate=mutate_content)
    for name in ("model", "checkpoint", "index", "mapped index")
}


def main(n_mutations=10_000, seconds=None, *readers):
    for row in fuzz_rows(int(n_mutations), float(seconds) if seconds else None, readers or None):
        print(json.dumps(row))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2])
    elif sys.argv[1:2] == ["--make-tables"]:
        make_tables(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
    else:
        main(*sys.argv[1:])
