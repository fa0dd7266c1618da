"""ShardedIndex: several index files searched as one, in this process or on the workers of a cluster.

One search:

1. find the nearest codes in each file (a shard), one shard after another, or one task of an engine per shard,
2. merge them in order of distance, then of shard, then of position in the shard,
3. with rescoring: order the candidates, those of all shards together, by a finer distance.

`shards.py` has what is done with one shard, here or in a worker, and the merge.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes
from proxcode.search.float_queries import FloatQueries, check_queries, check_radius
from proxcode.search.index import HammingIndex
from proxcode.search.shards import Shard, ShardFile, ShardNeighbors, ShardSearch, id_range, ids_of, merged, size_of
from proxcode.storage.index_file import version_of
from proxcode.storage.listing import files_of
from proxcode.stores.base import check_same_model, fingerprint_of
from proxcode.stores.rescoring import Rescoring, check_rescoring, n_candidates, rescored
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.engine import LOCAL, Engine, LocalEngine
from proxcode.utils.validation import check_integer

Result = TypeVar("Result")


class ShardedIndex:
    """Several files written by `HammingIndex.save`, memory-mapped and searched as one index.

    Results are those of one `HammingIndex` that holds all codes in the order of the files, to the last digit: codes at
    equal distance are in the order of the files, then in the order in which they were added. A sharded index is
    read-only: to change codes, open a file with `HammingIndex.open`, and the shards again. A copy by pickle opens the
    files again; with an engine of a cluster, which holds a connection, there is none.

    Parameters
    ----------
    paths : path, or sequence of paths
        A list of index files, a folder that contains nothing else, or a pattern such as `shards/*.index`. The files of
        a folder or pattern are taken in the order of their names.
    engine : Engine, default=None
        Where shards are searched. None: one after another in this process, each with all threads. An engine of
        `proxcode.engines` searches them on its workers, which open the files by the same absolute names; this process
        does not open them.
    renumber : bool, default=False
        Replace the ids of the files by 0, 1, 2, ... in the order of the files. False: the ids of the files, of which
        none may be in two files.
    n_threads, tables
        As in `HammingIndex`, for each shard. On the workers of an engine, n_threads=None is one thread.
    model : ProximityPreservingCode or str, default=None
        The model that encodes the queries: files with codes of another model are refused.

    Attributes
    ----------
    paths : list of Path
        The index files.
    n_bits : int
        Code length in bits.
    nbytes : int
        Memory of codes and ids in bytes, without hash tables and offsets of float queries.
    fingerprint : str or None
        That of the model whose codes the files hold, None if no file has one.

    Examples
    --------
    >>> import tempfile
    >>> codes = np.array([[0, 0], [0, 7], [255, 255], [0, 1]], np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     HammingIndex(n_bits=16).add(codes[:2], ids=[10, 20]).save(Path(folder, "a.index"))
    ...     HammingIndex(n_bits=16).add(codes[2:], ids=[30, 40]).save(Path(folder, "b.index"))
    ...     index = ShardedIndex(folder)
    >>> index
    ShardedIndex(n_bits=16), 4 codes in 2 files
    >>> index.search(np.array([[0, 1]], np.uint8), k=3)
    Neighbors(distance=array([[0, 1, 2]], dtype=int32), neighbor=array([[40, 10, 20]]))
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        engine: Engine | None = None,
        renumber: bool = False,
        n_threads: int | None = None,
        tables: bool | None = None,
        model: Any = None,
    ) -> None:
        if not isinstance(engine, Engine | None):
            raise TypeError(f"engine={engine!r}: expected None or an engine of proxcode.engines.")
        if not isinstance(renumber, bool | np.bool_):
            raise TypeError(f"renumber={renumber!r}: expected True or False.")
        self.paths, self.engine, self.renumber = _list_shards(paths), engine, renumber
        self.n_threads, self.tables = n_threads, tables
        names = [str(path) for path in self.paths]
        self._shards: Sequence[Shard]
        if engine is None or isinstance(engine, LocalEngine):
            self._shards = [HammingIndex.load(name, n_threads=n_threads, tables=tables) for name in names]
        else:
            versions = engine.map(version_of, names)
            self._shards = [ShardFile(*named, n_threads, tables) for named in zip(names, versions, strict=True)]
        sizes = self._map(size_of)
        self.n_bits, self.nbytes = sizes[0].n_bits, sum(size.nbytes for size in sizes)
        # Position of the first code of each shard; the last entry is the number of codes.
        self._starts = np.cumsum([0, *(size.n_codes for size in sizes)], dtype=np.int64)
        for path, size in zip(self.paths, sizes, strict=True):
            if size.n_bits != self.n_bits:
                raise ValueError(
                    f"{path} has codes of {size.n_bits} bits, but {self.paths[0]} of {self.n_bits}: expected files of "
                    "equal code length."
                )
        self.fingerprint = self._common_fingerprint([size.fingerprint for size in sizes])
        self.check_model(model)
        if not renumber:
            self._check_ids([size.has_strings for size in sizes])

    def __reduce__(self) -> tuple[Callable[..., ShardedIndex], tuple[list[Path]]]:
        options = {name: getattr(self, name) for name in ("engine", "renumber", "n_threads", "tables")}
        return partial(type(self), **options), (self.paths,)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __repr__(self) -> str:
        n_files = f"{len(self.paths)} file{'s' * (len(self.paths) > 1)}"
        return f"{type(self).__name__}(n_bits={self.n_bits}), {len(self):,} codes in {n_files}"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what to do instead of a change."""
            if name in ("add", "upsert", "remove", "save"):
                raise AttributeError(
                    f"a ShardedIndex is read-only and has no {name!r}: change one of its files with HammingIndex.open, "
                    "and open the files again."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the codes, in the order of the files, then in the order in which they were added."""
        if self.renumber:
            return np.arange(len(self))
        parts = self._map(ids_of)
        return np.concatenate([part for part in parts if len(part)] or parts)

    def search(
        self, codes: ArrayLike | FloatQueries, k: int = 10, *, rescore: Rescoring | None = None, oversample: float = 4.0
    ) -> Neighbors:
        """Find the k nearest codes of each query; parameters as in `HammingIndex.search`.

        The candidates of a rescoring are the nearest of all shards together. Rescoring is done in this process, with
        the codes and ids of the candidates.
        """
        queries, k = check_queries(codes, self.n_bits, self.fingerprint), check_integer("k", k, 1)
        check_rescoring(rescore, len(queries), oversample)
        n_each = min(n_candidates(rescore, k, oversample), len(self))
        found = self._find(queries, n_each, np.inf, with_codes=rescore is not None)
        shape = (len(queries), n_each)
        neighbor = found.neighbor.reshape(shape)
        if rescore is None:
            return Neighbors(distance=found.distance.reshape(shape), neighbor=neighbor)
        return rescored(rescore, k, found.codes, neighbor, found.n_found)

    def within(self, codes: ArrayLike | FloatQueries, radius: float) -> Neighborhoods:
        """Find all codes at distance at most `radius`; parameters as in `HammingIndex.within`."""
        queries = check_queries(codes, self.n_bits, self.fingerprint)
        found = self._find(queries, len(self), check_radius(radius, queries), with_codes=False)
        offsets = np.concatenate([[0], np.cumsum(found.n_found)])
        return Neighborhoods(offsets=offsets, distance=found.distance, neighbor=found.neighbor)

    def _find(self, queries: Codes | FloatQueries, k: int, radius: float, *, with_codes: bool) -> ShardNeighbors:
        """Find at most k codes per query in all shards."""
        parts = self._map(ShardSearch(queries, k, radius, by_position=self.renumber, with_codes=with_codes))
        if self.renumber:
            numbered = zip(parts, self._starts, strict=False)
            parts = [part._replace(neighbor=part.neighbor + start) for part, start in numbered]
        return merged(parts, k)

    def _map(self, function: Callable[[Shard], Result], numbers: Iterable[int] | None = None) -> list[Result]:
        """Return function(shard) for all shards, or for those with the given numbers."""
        shards = self._shards if numbers is None else [self._shards[number] for number in numbers]
        return list((self.engine or LOCAL).map(function, shards))

    def _common_fingerprint(self, fingerprints: Sequence[str | None]) -> str | None:
        """Return the fingerprint of all files that have one. Raises ValueError if two of them differ."""
        known = [(path, one) for path, one in zip(self.paths, fingerprints, strict=True) if one is not None]
        for path, one in known:
            if one != known[0][1]:
                raise ValueError(
                    f"{path} has codes of the model {one[:12]}, but {known[0][0]} of {known[0][1][:12]}: expected "
                    "files of one model."
                )
        return known[0][1] if known else None

    def check_model(self, model: Any) -> None:
        """Raise ValueError if the codes are known to be of another model; parameters as in `CodeStore.check_model`."""
        check_same_model(self.fingerprint, fingerprint_of(model, self.n_bits))

    def _check_ids(self, has_strings: Sequence[bool | None]) -> None:
        """Raise ValueError if an id is in two files, or if some have integer and others string ids.

        Integers are compared only where the ranges of two files overlap.
        """
        if True in has_strings:
            if False in has_strings:
                strings, integers = (self.paths[has_strings.index(kind)] for kind in (True, False))
                raise ValueError(
                    f"{strings} has string ids, but {integers} integer ids: save them with ids of one kind, or pass "
                    "renumber=True to number the codes in the order of the files."
                )
            self._check_strings()
            return
        ranges = {number: ids for number, ids in enumerate(self._map(id_range)) if ids is not None}
        compared: set[int] = set()
        # The shard with the largest id so far.
        last: int | None = None
        for number in sorted(ranges, key=lambda number: ranges[number]):
            if last is not None and ranges[number].smallest <= ranges[last].largest:
                if ranges[number].is_full and ranges[last].is_full:
                    raise self._repeated_id(ranges[number].smallest, last, number)
                compared |= {last, number}
            if last is None or ranges[number].largest > ranges[last].largest:
                last = number
        if not compared:
            return
        numbers = sorted(compared)
        parts = self._map(ids_of, numbers)
        ids, shard = np.concatenate(parts), np.repeat(numbers, [len(part) for part in parts])
        order = np.argsort(ids, kind="stable")
        ids, shard = ids[order], shard[order]
        repeated = np.flatnonzero((ids[1:] == ids[:-1]) & (shard[1:] != shard[:-1]))
        if len(repeated):
            raise self._repeated_id(ids[repeated[0]], *shard[repeated[0] : repeated[0] + 2])

    def _check_strings(self) -> None:
        """Raise ValueError if a string id is in two files."""
        shard_of: dict[str, int] = {}
        for number, ids in enumerate(self._map(ids_of)):
            for one in ids.tolist():
                if shard_of.setdefault(one, number) != number:
                    raise self._repeated_id(one, shard_of[one], number)

    def _repeated_id(self, repeated: int | str, *numbers: int) -> ValueError:
        first, second = (self.paths[number] for number in sorted(numbers))
        return ValueError(
            f"id {repeated} is in {first} and in {second}: save them with distinct ids, or pass renumber=True to "
            "number the codes in the order of the files."
        )


def _list_shards(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the absolute paths of the index files."""
    if isinstance(paths, str | os.PathLike):
        found = files_of(paths)
        if found is None:
            found = [Path(paths)]
        if not found:
            raise FileNotFoundError(f"{paths} has no index file: expected files written by HammingIndex.save.")
    else:
        found = [Path(path) for path in paths]
        if not found:
            raise ValueError("the list of index files is empty: name at least one.")
    return [path.absolute() for path in found]
