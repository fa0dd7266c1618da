"""What the verbs of the command line do, each a function of paths and numbers that returns what to show."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cli.encoding import Encoded, encode_file
from proxcode.code import ProximityPreservingCode
from proxcode.cut import Annealing, MaxCut, Progress, Restarts, SuitableBound, signed_cut
from proxcode.evaluation import Evaluation, evaluate
from proxcode.files import VECTOR_FORMATS, Vectors, open_vectors, read_graph, read_labels, read_pairs, write_table
from proxcode.files._arrays import KEYED
from proxcode.hashing import HashFunction, KernelHash, LinearHash, SVMHash
from proxcode.proximity import GivenPairs, Proximity, SameLabel, SharedLabel, WithinRadius, default_proximity
from proxcode.search import ByDistance, ByMargins, HammingIndex, Rescoring
from proxcode.storage.container import kind_of, read_file

Facts = dict[str, Any]
NEAR = -1  # in place of a radius: the one that the model learned
HASH_FUNCTIONS: dict[str, Callable[[], HashFunction]] = {
    "kernel": KernelHash,
    "linear": LinearHash,
    "svm": SVMHash,
}


class Table(NamedTuple):
    """Where vectors are: a file, and what of it."""

    path: Path
    key: str | None = None
    columns: tuple[str, ...] = ()

    def open(self, labels: str | None = None) -> Vectors:
        """Open the vectors; a column of the same file that holds the labels is left out."""
        file, _, column = (labels or "").rpartition(":")
        has_columns = self.path.suffix.lower() not in KEYED  # of the others, FILE:KEY is an array of its own
        drop = (column,) if file and has_columns and Path(file).resolve() == self.path.resolve() else ()
        return open_vectors(self.path, key=self.key, columns=self.columns or None, drop=drop)

    @property
    def identity(self) -> str:
        """What tells the file as it is from others, or from what it was before."""
        status = self.path.stat()
        return json.dumps([str(self.path.resolve()), status.st_size, status.st_mtime_ns, self.key, self.columns])


class Near(NamedTuple):
    """What near means, as said on the command line; nothing said is a radius that is found."""

    labels: str | None = None
    pairs: Path | None = None
    others: str = "unknown"
    radius: float | None = None
    mean_neighbors: float | None = None
    metric: str = "euclidean"

    def proximity(self) -> Proximity | None:
        """Return the proximity, None where it goes by the labels."""
        said = [name for name in ("labels", "pairs", "radius", "mean_neighbors") if getattr(self, name) is not None]
        if len(said) > 1:
            options = " and ".join("--" + name.replace("mean_", "") for name in said)
            raise ValueError(f"{options} each say what near means: give one of them.")
        if self.pairs is not None:
            return GivenPairs(read_pairs(self.pairs), others=self.others)
        if self.labels is not None:
            return None
        return WithinRadius(self.radius, self.mean_neighbors, metric=self.metric)

    def read_labels(self, n_rows: int) -> NDArray[Any] | None:
        """Return the labels of so many points, None where there are none."""
        if self.labels is None:
            return None
        labels = read_labels(self.labels)
        if len(labels) != n_rows:
            raise ValueError(f"there are {n_rows} vectors but {len(labels)} labels in {self.labels}: give one each.")
        return labels


def fit_model(
    table: Table, near: Near, output: Path, parameters: Mapping[str, Any], *, checkpoint: bool
) -> ProximityPreservingCode:
    """Learn a code and save it; the checkpoint lies beside the model until that is written."""
    model = ProximityPreservingCode(proximity=near.proximity(), **parameters)
    X = table.open(near.labels).read()
    y = near.read_labels(len(X))
    kept = checkpoint_path(output)
    model.fit(X, y, checkpoint=kept if checkpoint else None)
    model.save(output)
    if checkpoint:
        kept.unlink(missing_ok=True)  # another process may have ended the same fit
    return model


def checkpoint_path(output: Path) -> Path:
    """Return where the bits of an unfinished model are kept."""
    return output.with_name(f"{output.name}.checkpoint")


def encode_vectors(
    model_path: Path,
    table: Table,
    output: Path,
    *,
    n_bits: int | None,
    trusted: tuple[str, ...] | None,
    make_progress: Callable[[int | None], Callable[[int], object]],
) -> Encoded:
    """Write the codes of a file of vectors."""
    model = ProximityPreservingCode.load(model_path, trusted=trusted)
    vectors = table.open()
    check_width(model, vectors)
    check_bits(model, n_bits)
    identity = f"{Table(model_path).identity} {table.identity}"
    progress = make_progress(vectors.n_rows)
    return encode_file(model, vectors, output, identity=identity, n_bits=n_bits, progress=progress)


def check_width(model: ProximityPreservingCode, vectors: Vectors) -> None:
    """Say so where vectors are not what the model was fitted to."""
    if vectors.n_columns != model.n_features_in_:
        raise ValueError(
            f"{vectors.path} has vectors of {vectors.n_columns} numbers but the model learned from "
            f"{model.n_features_in_}: choose columns, or another file."
        )


def check_bits(model: ProximityPreservingCode, n_bits: int | None) -> None:
    """Say so where a code is asked for that is longer than the model's."""
    if n_bits is not None and n_bits > model.n_bits_:
        raise ValueError(f"--bits {n_bits}: the model has {model.n_bits_} bits, give 1 to {model.n_bits_}.")


class Query(NamedTuple):
    """What to search for, and how.

    Attributes
    ----------
    k : int
    radius : int or None
        None for the k nearest; NEAR for the radius that the model learned.
    by_margins : bool
    vectors : Path or None
        The vectors of the codes, to order neighbours by their true distance.
    oversample : float
    """

    k: int = 10
    radius: int | None = None
    by_margins: bool = False
    vectors: Path | None = None
    oversample: float = 4.0


def search_codes(
    base: Path,
    queries: Table,
    query: Query,
    *,
    model_path: Path | None,
    n_bits: int | None,
    ids: str | None,
    n_threads: int | None,
) -> dict[str, NDArray[Any]]:
    """Search; return one row for each neighbour: query, neighbor, distance."""
    vectors = queries.open()
    model = None if model_path is None else ProximityPreservingCode.load(model_path)
    if model is None:
        index = _open_index(base, n_bits, ids, n_threads)
        return _find(index, _as_codes(vectors), query, None, None)
    check_width(model, vectors)
    check_bits(model, n_bits)
    index = _open_index(base, n_bits, ids, n_threads, default_bits=model.n_bits_)
    if index.n_bits > model.n_bits_:
        raise ValueError(f"{base} has codes of {index.n_bits} bits, the model {model.n_bits_}: give its own model.")
    return _find(index, model.encode(X := vectors.read(), index.n_bits), query, model, X)


def _open_index(
    base: Path, n_bits: int | None, ids: str | None, n_threads: int | None, default_bits: int | None = None
) -> HammingIndex:
    """Open a saved index, or make one of a file of codes."""
    if not _holds_vectors(base):
        if ids is not None:
            raise ValueError(f"{base} is an index and has ids of its own: leave --ids out.")
        index = HammingIndex.load(base, n_threads=n_threads)
        if n_bits not in (None, index.n_bits):
            raise ValueError(f"--bits {n_bits}: {base} is an index of {index.n_bits} bits, leave --bits out.")
        return index
    codes = _as_codes(open_vectors(base))
    n_bits = n_bits or default_bits or 8 * codes.shape[1]
    if codes.shape[1] != -(-n_bits // 8):
        raise ValueError(
            f"{base} has codes of {codes.shape[1]} bytes, not of {n_bits} bits: say how many with --bits, as in encode."
        )
    return HammingIndex(n_bits, n_threads=n_threads).add(codes, None if ids is None else read_labels(ids))


def _holds_vectors(path: Path) -> bool:
    """Whether a file is a table, not a model or an index."""
    suffix = path.suffix.lower()
    return suffix in VECTOR_FORMATS and not (suffix == ".safetensors" and _is_ours(path))


def _is_ours(path: Path) -> bool:
    try:
        return bool(kind_of(path))
    except (ValueError, OSError):
        return False


def _as_codes(vectors: Vectors) -> NDArray[np.uint8]:
    if vectors.dtype != np.uint8:
        raise ValueError(
            f"{vectors.path} holds {vectors.dtype} numbers, not packed codes of uint8: make them with proxcode encode, "
            "or give --model to have queries encoded."
        )
    return vectors.read()


def _find(
    index: HammingIndex,
    codes: NDArray[np.uint8],
    query: Query,
    model: ProximityPreservingCode | None,
    X: NDArray[Any] | None,
) -> dict[str, NDArray[Any]]:
    rows = np.arange(len(codes))
    if query.radius is not None:
        radius = model.history_[index.n_bits - 1].radius if model is not None and query.radius == NEAR else query.radius
        found = index.within(codes, radius)
        return {
            "query": np.repeat(rows, np.diff(found.offsets)),
            "neighbor": found.neighbor,
            "distance": found.distance,
        }
    rescore: Rescoring | None = None
    if query.by_margins or query.vectors is not None:
        if model is None or X is None:
            raise ValueError("--asymmetric and --vectors need the queries as vectors: give them, and --model.")
        by_margins = query.vectors is None
        rescore = ByMargins(model.scores(X, index.n_bits)) if by_margins else _by_distance(X, index, query, model)
    distance, neighbor = index.search(codes, query.k, rescore=rescore, oversample=query.oversample)
    return {"query": np.repeat(rows, neighbor.shape[1]), "neighbor": neighbor.ravel(), "distance": distance.ravel()}


def _by_distance(X: NDArray[Any], index: HammingIndex, query: Query, model: ProximityPreservingCode) -> ByDistance:
    """Order by the vectors of the codes: row i is that of code i, whatever its id."""
    vectors = _read(query.vectors, model)
    if len(vectors) != len(index):
        raise ValueError(f"there are {len(index)} codes but {len(vectors)} vectors in {query.vectors}: give one each.")
    ids = index.ids
    order = np.argsort(ids)
    return ByDistance(X, lambda found: vectors[order[np.searchsorted(ids, found, sorter=order)]])


def _read(path: Path | None, model: ProximityPreservingCode) -> NDArray[Any]:
    vectors = open_vectors(str(path))
    check_width(model, vectors)
    return vectors.read()


def evaluate_model(
    model_path: Path, table: Table, near: Near, *, train: Path | None, peers: tuple[str, ...]
) -> Evaluation:
    """Measure a model on vectors that it was not fitted to."""
    model = ProximityPreservingCode.load(model_path)
    vectors = table.open(near.labels)
    check_width(model, vectors)
    X = vectors.read()
    y = near.read_labels(len(X))
    proximity = _proximity_of(near, y, model.proximity_)
    training = None if train is None else _read(train, model)
    return evaluate(model, X, y, proximity=proximity, peers=peers, train=training)


def _proximity_of(near: Near, y: NDArray[Any] | None, learned: Proximity) -> Proximity | None:
    """Return what near means among new vectors as an option says it, None for what the model learned."""
    if near == Near():
        if isinstance(learned, WithinRadius):
            return None
        raise ValueError(
            f"the model learned by {type(learned).__name__}, which tells nothing of new vectors: give their --labels, "
            "or say what near means by --pairs, --radius or --neighbors."
        )
    if (said := near.proximity()) is not None:
        return said
    return None if isinstance(learned, SameLabel | SharedLabel) else default_proximity(y)


def cut_graph(
    path: Path,
    *,
    max_cut: bool,
    n_starts: int | None,
    time_limit: float | None,
    prove: bool,
    seed: int,
    output: Path | None,
    report: Callable[[float], None],
) -> Facts:
    """Cut a graph of a file; write the side of each point where asked.

    `report` is told each better value, with `max_cut` each better cut weight.
    """
    weights, names = read_graph(path)
    total = float(weights.sum()) / 2

    def tell(progress: Progress) -> None:
        report((total + progress.value / 2) / 2 if max_cut else progress.value)

    search = Annealing(report=tell) if n_starts is None else Restarts(n_starts=n_starts, report=tell)
    bound = SuitableBound() if prove else None
    signed = -weights if max_cut else weights
    cut = signed_cut(signed, search=search, bound=bound, time_limit=time_limit, random_state=seed)
    edges = sp.triu(weights, k=1).tocoo()
    is_cut = cut.partition[edges.row] != cut.partition[edges.col]
    if output is not None:
        write_table(output, {"point": names, "side": cut.partition})
    view = MaxCut(cut, total) if max_cut else cut
    return {
        "points": len(names),
        "edges": edges.nnz,
        "value": -cut.value if max_cut else cut.value,
        "upper bound": view.upper_bound if np.isfinite(view.upper_bound) else None,
        "proved": cut.proved,
        "gap": view.gap if np.isfinite(view.gap) else None,
        "ended": cut.status,
        "cut weight": float(edges.data[is_cut].sum()),
        "frustrated edges": len(cut.frustrated_edges),
        "side +1": int((cut.partition > 0).sum()),
        "side -1": int((cut.partition < 0).sum()),
    }


def describe(path: Path) -> Facts:
    """Say what a file holds."""
    if _holds_vectors(path):
        vectors = open_vectors(path)
        rows = "unknown without reading all" if vectors.n_rows is None else vectors.n_rows
        return {"kind": "vectors", "rows": rows, "columns": vectors.n_columns, "type": str(vectors.dtype)}
    kind = kind_of(path)
    if kind == "model":
        return _describe_model(ProximityPreservingCode.load(path), path)
    content, tensors = read_file(path, kind, mapped=True)
    if kind == "index":
        index = HammingIndex.load(path)
        ids = "own" if "ids" in tensors else "0, 1, 2, ..."
        return {"kind": kind, "codes": len(index), "bits": index.n_bits, "ids": ids, "bytes": path.stat().st_size}
    facts = {"kind": kind, "bits": len(content.get("history", [])), "bytes": path.stat().st_size}
    return {**facts, **{f"{name} version": version for name, version in content["versions"].items()}}


def _describe_model(model: ProximityPreservingCode, path: Path) -> Facts:
    content = read_file(path, "model", mapped=True).content
    return {
        "kind": "model",
        "bits": model.n_bits_,
        "radius": model.radius_,
        "training loss": model.history_[-1].loss,
        "points": len(model.codes_),
        "features": model.n_features_in_,
        "near": repr(model.proximity_),
        "hash function": repr(model.hash_function_),
        "bytes": path.stat().st_size,
        **{f"{name} version": version for name, version in content["versions"].items()},
        **{f"{name} fingerprint": digest for name, digest in content["data"].items() if digest},
    }
