"""The verb `search`: nearest neighbours of queries among codes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.inputs import ModelHeader, VectorFile, check_bits, holds_vectors, read_header
from proxcode.cli.options import BITS, COUNT, FILE, as_json, check_output, force, vector_options
from proxcode.cli.printing import aligned_columns, show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxcode.code import ProximityPreservingCode
    from proxcode.files import Vectors
    from proxcode.search import ByDistance, HammingIndex, Rescoring, ShardedIndex


# Float queries that are searched for at a time.
FLOAT_BATCH = 4096


@click.command()
@click.argument("codes", type=FILE)
@click.argument("queries", type=FILE)
@click.option("--model", type=FILE, help="Model that encodes the queries; without it, QUERIES are codes.")
@click.option("-k", type=COUNT, default=10, show_default=True, help="Number of neighbours of each query.")
@click.option("--radius", type=click.IntRange(0), help="Find all neighbours up to this Hamming distance, not -k.")
@click.option("--near", is_flag=True, help="Find all neighbours up to the radius that the model learned, not -k.")
@click.option(
    "--float", "as_float", is_flag=True, help="Compare the query vectors themselves, not their codes, with all codes."
)
@click.option("--asymmetric", is_flag=True, help="Re-rank candidates by the margins of the query.")
@click.option("--vectors", type=FILE, help="Re-rank candidates by the distance of these vectors, row i for code i.")
@click.option(
    "--oversample",
    type=click.FloatRange(1),
    default=4.0,
    show_default=True,
    help="Re-rank this many times k candidates.",
)
@click.option("--bits", type=BITS, show_default="that of the model or of the file", help="Code length.")
@click.option("--ids", help="Integer ids of the codes, one per code: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--renumber", is_flag=True, help="Number the codes of several indexes from 0, in the order of the files.")
@click.option("--threads", type=COUNT, show_default="all cores", help="Number of threads.")
@click.option("-o", "--output", type=FILE, help="Write to a .csv, .tsv, .npz or .parquet file instead of printing.")
@vector_options
@force
@as_json
def search(
    codes: Path,
    queries: Path,
    model: Path | None,
    k: int,
    radius: int | None,
    near: bool,
    as_float: bool,
    asymmetric: bool,
    vectors: Path | None,
    oversample: float,
    bits: int | None,
    ids: str | None,
    renumber: bool,
    threads: int | None,
    output: Path | None,
    key: str | None,
    columns: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find the neighbours of QUERIES among CODES.

    CODES is a file of packed codes, a saved index, or a folder or quoted pattern of saved indexes.

    \b
    Examples:
      proxcode search codes.npy queries.npy --model my.proxcode -k 10
      proxcode search codes.npy queries.npy --model my.proxcode --near -o near.csv
      proxcode search codes.npy queries.npy --model my.proxcode --vectors vectors.npy --oversample 8
    """
    _check_usage(model, radius, near, as_float, asymmetric, vectors)

    import numpy as np

    from proxcode.files import check_suffix, write_table
    from proxcode.storage.listing import files_of

    shards = files_of(codes)
    if renumber and shards is None:
        raise click.UsageError(f"--renumber is for several indexes: pass a folder or a pattern instead of {codes}.")
    check_output(output, force, codes, *(shards or ()), queries, model, vectors, ids)

    if output is not None:
        check_suffix(output)
    header = None if model is None else read_header(model)
    opened = VectorFile(queries, key, columns).open(model=header)
    rescore: Rescoring | None = None
    if model is None or header is None:
        query_codes: Any = _packed_codes(opened)
        index = _open_index(codes, shards, bits, ids, renumber, threads)
    else:
        check_bits(header, bits)
        stored = None if vectors is None else VectorFile(vectors).open(model=header)
        index = _open_index(codes, shards, bits, ids, renumber, threads, header)

        from proxcode.code import ProximityPreservingCode
        from proxcode.search import ByMargins

        fitted = ProximityPreservingCode.load(model)
        X = opened.read()
        query_codes = None if as_float else fitted.encode(X, index.n_bits)
        if near:
            radius = fitted.history_[index.n_bits - 1].radius
        if asymmetric:
            rescore = ByMargins(fitted.scores(X, index.n_bits))
        elif stored is not None:
            rescore = _by_distance(X, index, stored)
    if as_float:
        distance, neighbor = _search_floats(fitted, index, X, k)
        n_neighbors = np.full(len(neighbor), neighbor.shape[1])
    elif radius is not None:
        within = index.within(query_codes, radius)
        neighbor, distance, n_neighbors = within.neighbor, within.distance, np.diff(within.offsets)
    else:
        distance, neighbor = index.search(query_codes, k, rescore=rescore, oversample=oversample)
        n_neighbors = np.full(len(neighbor), neighbor.shape[1])
    query = np.repeat(np.arange(len(n_neighbors)), n_neighbors)
    found: dict[str, NDArray[Any]] = {"query": query, "neighbor": neighbor.ravel(), "distance": distance.ravel()}
    if output is None:
        values = {name: column.tolist() for name, column in found.items()}
        show(as_json, values, lambda: aligned_columns(list(values), zip(*values.values(), strict=True)))
    else:
        write_table(output, found, overwrite=force)
        n_queries = int((n_neighbors > 0).sum())
        show(as_json, {"neighbors": str(output), "rows": len(query), "queries with neighbors": n_queries})


def _check_usage(
    model: Path | None, radius: int | None, near: bool, as_float: bool, asymmetric: bool, vectors: Path | None
) -> None:
    """Raise a usage error for options that contradict each other."""
    if as_float and (model is None or near or radius is not None or asymmetric or vectors is not None):
        raise click.UsageError(
            "--float ranks all codes by the query vectors: pass --model, and none of --near, --radius, --asymmetric, "
            "--vectors."
        )
    reranks = asymmetric or vectors is not None
    if near and radius is not None:
        raise click.UsageError("--near and --radius each define a radius: pass only one of them.")
    if reranks and (near or radius is not None):
        raise click.UsageError("--asymmetric and --vectors re-rank the -k nearest: omit --near and --radius.")
    if asymmetric and vectors is not None:
        raise click.UsageError("--asymmetric and --vectors each define a ranking: pass only one of them.")
    if model is None and near:
        raise click.UsageError("--near uses the radius that a model learned: pass --model too.")
    if model is None and reranks:
        raise click.UsageError("--asymmetric and --vectors need queries as vectors: pass these and --model.")


def _search_floats(
    model: "ProximityPreservingCode", index: "HammingIndex | ShardedIndex", X: "NDArray[Any]", k: int
) -> tuple["NDArray[Any]", "NDArray[Any]"]:
    """Search for float queries in batches: each query takes a kilobyte of lookup tables for each byte of a code."""
    import numpy as np

    if index.n_bits != model.n_bits_:
        raise ValueError(f"--float compares all {model.n_bits_} bits of the model, but the codes have {index.n_bits}.")
    batches = [X[start : start + FLOAT_BATCH] for start in range(0, len(X), FLOAT_BATCH)]
    found = [index.search(model.query(batch), k) for batch in batches]
    return np.vstack([part.distance for part in found]), np.vstack([part.neighbor for part in found])


def _open_index(
    codes: Path,
    shards: list[Path] | None,
    bits: int | None,
    ids: str | None,
    renumber: bool,
    threads: int | None,
    model: ModelHeader | None = None,
) -> "HammingIndex | ShardedIndex":
    """Load one or several saved indexes, or build one from a file of codes."""
    from proxcode.files import open_vectors, read_labels
    from proxcode.storage.container import read_file

    if shards is None and holds_vectors(codes):
        packed = _packed_codes(open_vectors(codes))
        n_bytes = packed.shape[1]
        n_bits = bits or (8 * n_bytes if model is None else model.n_bits_)
        if n_bytes != -(-n_bits // 8):
            raise ValueError(f"{codes} has codes of {n_bytes} bytes, not of {n_bits} bits: pass --bits as in encode.")
        labels = None if ids is None else read_labels(ids)

        from proxcode.search import HammingIndex

        return HammingIndex(n_bits, n_threads=threads).add(packed, labels)
    if ids is not None:
        raise ValueError(f"{codes} is an index with its own ids: omit --ids.")
    for path in [codes] if shards is None else shards:
        read_file(path, "index", mapped=True)  # raises the error of a wrong file before the import of numba

    from proxcode.search import HammingIndex, ShardedIndex

    index: HammingIndex | ShardedIndex
    if shards is None:
        index = HammingIndex.load(codes, n_threads=threads)
    else:
        index = ShardedIndex(codes, renumber=renumber, n_threads=threads)
    if bits not in (None, index.n_bits):
        raise ValueError(f"--bits {bits}: {codes} is an index of {index.n_bits} bits; omit --bits.")
    if model is not None and index.n_bits > model.n_bits_:
        raise ValueError(f"{codes} has codes of {index.n_bits} bits, the model of {model.n_bits_}: pass its own model.")
    return index


def _packed_codes(vectors: "Vectors") -> "NDArray[np.uint8]":
    if vectors.dtype != "uint8":
        raise ValueError(
            f"{vectors.path} holds {vectors.dtype} numbers, not packed codes of uint8: encode vectors with proxcode "
            "encode; queries alone are encoded by --model."
        )
    return vectors.read()


def _by_distance(X: "NDArray[Any]", index: "HammingIndex | ShardedIndex", vectors: "Vectors") -> "ByDistance":
    """Rescore by the distance of vectors, of which row i belongs to code i whatever its id."""
    import numpy as np

    from proxcode.search import ByDistance

    stored = vectors.read()
    if len(stored) != len(index):
        raise ValueError(f"{vectors.path} holds {len(stored)} vectors for {len(index)} codes: expected one each.")
    ids = index.ids
    order = np.argsort(ids)
    return ByDistance(X, lambda found: stored[order[np.searchsorted(ids, found, sorter=order)]])
