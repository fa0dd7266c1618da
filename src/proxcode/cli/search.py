"""The verb `search`: nearest neighbours of queries among codes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.indexes import IndexOptions
from proxcode.cli.inputs import VectorFile, check_bits, read_header
from proxcode.cli.options import BITS, COUNT, FILE, as_json, check_output, force, table_options, trust, vector_options
from proxcode.cli.printing import aligned_columns, show
from proxcode.cli.reading import InputFile, say
from proxcode.cli.stores import StoreOptions, is_address

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxcode.files import TakenIds, Vectors
    from proxcode.pipeline import Model
    from proxcode.search import ByDistance, HammingIndex, Neighbors, Rescoring, ShardedIndex
    from proxcode.stores import CodeStore

# Float queries that are searched for at a time.
FLOAT_BATCH = 4096


@click.command()
@click.argument("codes")
@click.argument("queries", type=FILE)
@click.option("--model", type=FILE, help="Model that encodes the queries; without it, QUERIES are codes.")
@click.option("-k", type=COUNT, default=10, show_default=True, help="Number of neighbours of each query.")
@click.option("--radius", type=click.IntRange(0), help="Find all neighbours up to this Hamming distance, not -k.")
@click.option("--near", is_flag=True, help="Find all neighbours up to the radius that the model learned, not -k.")
@click.option(
    "--float", "as_float", is_flag=True, help="Compare the query vectors themselves, not their codes, with all codes."
)
@click.option("--asymmetric", is_flag=True, help="Re-rank candidates by the margins of the query.")
@click.option(
    "--vectors",
    type=FILE,
    help="Re-rank candidates by the distance of these vectors, row i for code i, in a database for id i.",
)
@click.option(
    "--oversample",
    type=click.FloatRange(1),
    default=4.0,
    show_default=True,
    help="Re-rank this many times k candidates.",
)
@click.option("--bits", type=BITS, show_default="that of the model or of the file", help="Code length.")
@click.option("--ids", help="Ids of the codes, integers or text, one per code: FILE, FILE:COLUMN or FILE:KEY.")
@click.option(
    "--exclude-self", is_flag=True, help="QUERIES are CODES, row by row, or have --query-ids: no query finds itself."
)
@click.option("--query-ids", help="Ids of the queries among the codes, for --exclude-self; in the form of --ids.")
@click.option("--renumber", is_flag=True, help="Number the codes of several indexes from 0, in the order of the files.")
@click.option("--threads", type=COUNT, show_default="all cores", help="Number of threads.")
@click.option("-o", "--output", type=FILE, help="Write to a .csv, .tsv, .jsonl, .npz or .parquet file, not print.")
@vector_options
@table_options
@click.option(
    "--ef-search", type=COUNT, help="PostgreSQL: search approximately by its HNSW index, with this many candidates."
)
@trust
@force
@as_json
def search(
    codes: str,
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
    exclude_self: bool,
    query_ids: str | None,
    renumber: bool,
    threads: int | None,
    output: Path | None,
    key: str | None,
    columns: str | None,
    table: str | None,
    column: str,
    id_column: str,
    ef_search: int | None,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Find the neighbours of QUERIES among CODES.

    CODES is a file of packed codes, a saved index, a folder or quoted pattern of saved indexes, or the address of a
    database, whose --table holds the codes. There --float ranks the nearest --oversample times k codes.

    \b
    Examples:
      proxcode search codes.npy queries.npy --model my.proxcode -k 10
      proxcode search codes.npy queries.npy --model my.proxcode --near -o near.csv
      proxcode search codes.npy queries.npy --model my.proxcode -k 10 -o neighbors.jsonl
      proxcode search codes.npy queries.npy --model my.proxcode --vectors vectors.npy --oversample 8
      proxcode search codes.npy codes.npy --exclude-self -k 5
      proxcode search postgresql://me@localhost/shop queries.npy --table items --model my.proxcode
    """
    _check_usage(model, radius, near, as_float, asymmetric, vectors)
    if query_ids is not None and not exclude_self:
        raise click.UsageError("--query-ids are the ids that --exclude-self leaves out: pass --exclude-self too.")

    from proxcode.files import ArrayCodes, check_suffix, take_ids
    from proxcode.storage.listing import files_of

    source = _source(codes, table, column, id_column, ef_search)
    shards = None if isinstance(source, StoreOptions) else files_of(source)
    if renumber and shards is None:
        raise click.UsageError(f"--renumber is for several indexes: pass a folder or a pattern instead of {codes}.")
    check_output(output, force, codes, *(shards or ()), queries, model, vectors, ids, query_ids)
    if output is not None:
        check_suffix(output)
    header = None if model is None else read_header(model)
    query_file = VectorFile(queries, key, columns)
    opened = query_file.open(model=header)
    if header is None:
        query_codes = ArrayCodes(opened).read().codes
    else:
        check_bits(header, bits)
    stored = None if vectors is None or header is None else VectorFile(vectors).open(model=header)
    own = None if query_ids is None else take_ids(query_ids)
    options = IndexOptions(source, shards, bits, ids, renumber, threads, column, id_column)
    with options.open(header) as (index, read):
        read["queries"] = query_file.input_file(opened.taken, (opened.n_rows, opened.n_columns), opened.dtype)
        if vectors is not None and stored is not None:
            shape = (stored.n_rows, stored.n_columns)
            read["vectors"] = VectorFile(vectors).input_file(stored.taken, shape, stored.dtype)
        say(read)
        if model is None:
            exclusion = _exclusion(index, exclude_self, own, len(query_codes))
            found = _find(index, query_codes, k, radius, exclusion)
        else:
            from proxcode.pipeline import load

            fitted = load(model, trusted=trust or None)
            index.check_model(fitted)
            X = opened.read()
            exclusion = _exclusion(index, exclude_self, own, len(X))
            if near:
                radius = fitted.history_[index.n_bits - 1].radius
            if as_float:
                found = _rows(_search_floats(fitted, index, X, k, oversample, exclusion))
            else:
                rescore = _rescoring(fitted, index, X, asymmetric, stored)
                found = _find(index, fitted.encode(X, index.n_bits), k, radius, exclusion, rescore, oversample)
    _show(found, output, force, as_json, read)


def _show(
    found: "dict[str, NDArray[Any]]", output: Path | None, force: bool, as_json: bool, read: dict[str, InputFile]
) -> None:
    """Print one row per neighbour, or write them to a file and print their number."""
    if output is None:
        values = {name: column.tolist() for name, column in found.items()}
        show(as_json, values, lambda: aligned_columns(list(values), zip(*values.values(), strict=True)))
        return

    import numpy as np

    from proxcode.files import write_table

    write_table(output, found, overwrite=force)
    n_queries = len(np.unique(found["query"]))
    counts = {"rows": len(found["query"]), "queries with neighbors": n_queries}
    show(as_json, {"neighbors": str(output), **counts}, read=read)


def _source(codes: str, table: str | None, column: str, id_column: str, ef_search: int | None) -> Path | StoreOptions:
    """Return the path of codes, or the table of a database."""
    if is_address(codes):
        return StoreOptions(codes, table, column, id_column, ef_search)
    if table is not None or ef_search is not None:
        raise click.UsageError("--table and --ef-search apply to a database: pass its address instead of a file.")
    return Path(codes)


def _find(
    index: "CodeStore | ShardedIndex",
    queries: "NDArray[np.uint8]",
    k: int,
    radius: int | None,
    exclusion: dict[str, Any],
    rescore: "Rescoring | None" = None,
    oversample: float = 1.0,
) -> "dict[str, NDArray[Any]]":
    """Search by codes; return one row per neighbour."""
    if radius is None:
        return _rows(index.search(queries, k, rescore=rescore, oversample=oversample, **exclusion))

    import numpy as np

    within = index.within(queries, radius, **exclusion)
    query = np.repeat(np.arange(len(within)), np.diff(within.offsets))
    return {"query": query, "neighbor": within.neighbor, "distance": within.distance}


def _exclusion(
    index: "CodeStore | ShardedIndex", is_asked: bool, own: "TakenIds | None", n_queries: int
) -> dict[str, Any]:
    """Return the option of a search by which no query finds itself: the ids of the queries, or of all codes."""
    from proxcode.search import HammingIndex

    if not is_asked:
        return {}
    if not isinstance(index, HammingIndex):
        raise ValueError("--exclude-self is for one file of codes or one index: pass that instead of many or a table.")
    ids = index.ids
    if own is not None:
        ids = own.beside(ids.dtype == object)
    if len(ids) != n_queries:
        raise ValueError(
            f"--exclude-self: there are {len(ids)} ids for {n_queries} queries; pass QUERIES that are CODES row by "
            "row, or one of --query-ids for each query."
        )
    return {"exclude": ids}


def _rows(found: "Neighbors") -> "dict[str, NDArray[Any]]":
    """Return one row per neighbour, without those that an approximate search did not find."""
    import numpy as np

    is_found = found.is_found
    query = np.broadcast_to(np.arange(len(found.neighbor))[:, None], found.neighbor.shape)
    columns = {"query": query, "neighbor": found.neighbor, "distance": found.distance}
    return {name: column[is_found] for name, column in columns.items()}


def _rescoring(
    model: "Model",
    index: "CodeStore | ShardedIndex",
    X: "NDArray[Any]",
    asymmetric: bool,
    vectors: "Vectors | None",
) -> "Rescoring | None":
    """Return the rescoring that --asymmetric or --vectors asks for."""
    from proxcode.search import ByDistance, ByMargins, HammingIndex, ShardedIndex

    if asymmetric:
        return ByMargins(model.scores(X, index.n_bits))
    if vectors is None:
        return None
    if isinstance(index, HammingIndex | ShardedIndex):
        return _by_distance(X, index, vectors)
    return ByDistance(queries=X, vectors=vectors.read())


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
    model: "Model",
    index: "CodeStore | ShardedIndex",
    X: "NDArray[Any]",
    k: int,
    oversample: float,
    exclusion: dict[str, Any],
) -> "Neighbors":
    """Search for float queries in batches: each query takes a kilobyte of lookup tables for each byte of a code."""
    from proxcode.search import HammingIndex, Neighbors, ShardedIndex

    if index.n_bits != model.n_bits_:
        raise ValueError(f"--float compares all {model.n_bits_} bits of the model, but the codes have {index.n_bits}.")
    if not isinstance(index, HammingIndex | ShardedIndex):
        return model.search(index, X, k, oversample=oversample)
    batches = [slice(start, start + FLOAT_BATCH) for start in range(0, len(X), FLOAT_BATCH)]
    return Neighbors.joined(
        [
            index.search(model.query(X[rows]), k, **{name: ids[rows] for name, ids in exclusion.items()})
            for rows in batches
        ]
    )


def _by_distance(X: "NDArray[Any]", index: "HammingIndex | ShardedIndex", vectors: "Vectors") -> "ByDistance":
    """Rescore by the distance of vectors, of which row i belongs to code i whatever its id."""
    import numpy as np

    from proxcode.search import ByDistance

    stored = vectors.read()
    if len(stored) != len(index):
        raise ValueError(f"{vectors.path} holds {len(stored)} vectors for {len(index)} codes: expected one each.")
    ids = index.ids
    order = np.argsort(ids)
    return ByDistance(queries=X, vectors=lambda found: stored[order[np.searchsorted(ids, found, sorter=order)]])
