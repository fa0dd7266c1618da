"""Codes to search among: a table of a database, saved indexes, or a file of codes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from proxcode.cli.code_files import ids_file
from proxcode.cli.inputs import ModelHeader
from proxcode.cli.reading import InputFile
from proxcode.cli.stores import StoreOptions

if TYPE_CHECKING:
    from proxcode.search import HammingIndex, ShardedIndex
    from proxcode.stores import CodeStore

    T = TypeVar("T", bound=CodeStore | ShardedIndex)


@dataclass(frozen=True)
class IndexOptions:
    """Where codes are, and the values of the options that say how to read them."""

    source: Path | StoreOptions
    shards: list[Path] | None
    bits: int | None
    ids: str | None
    renumber: bool
    threads: int | None
    column: str
    id_column: str

    @property
    def _name(self) -> str:
        return f"table {self.source.table}" if isinstance(self.source, StoreOptions) else str(self.source)

    @contextmanager
    def open(self, model: ModelHeader | None) -> "Iterator[tuple[CodeStore | ShardedIndex, dict[str, InputFile]]]":
        """Open a table of a database, load one or several saved indexes, or build one from a file of codes.

        The second item is what was read of files: the codes and their ids.
        """
        if not isinstance(self.source, StoreOptions):
            index, read = self._index(self.source, model)
            yield self._checked(index, model), read
            return
        if self.ids is not None:
            raise ValueError("a database has its own ids: omit --ids, and name the column of ids by --id.")
        with self.source.open() as store:
            yield self._checked(store, model), {}

    def _index(
        self, path: Path, model: ModelHeader | None
    ) -> "tuple[HammingIndex | ShardedIndex, dict[str, InputFile]]":
        from proxcode.files import Taken, holds_vectors, open_codes, take_ids
        from proxcode.storage.index_file import read_index

        if self.shards is None and holds_vectors(path):
            file = open_codes(path, column=self.column, id_column=self.id_column if self.ids is None else None)
            n_bits = file.code_length(self.bits, None if model is None else model.n_bits_)
            packed, given = file.read()
            read = {"codes": InputFile(path, file.taken, len(packed), unit="codes")}
            if self.ids is not None:
                found = take_ids(self.ids)
                given, read["ids"] = found.ids, ids_file(found)

            from proxcode.search import HammingIndex

            return HammingIndex(n_bits, n_threads=self.threads, model=file.fingerprint).add(packed, given), read
        if self.ids is not None:
            raise ValueError(f"{path} is an index with its own ids: omit --ids.")
        for index_file in [path] if self.shards is None else self.shards:
            read_index(index_file, mapped=True)  # raises the error of a wrong file before the import of numba

        from proxcode.search import HammingIndex, ShardedIndex

        index: HammingIndex | ShardedIndex
        if self.shards is None:
            index = HammingIndex.load(path, n_threads=self.threads)
        else:
            index = ShardedIndex(path, renumber=self.renumber, n_threads=self.threads)
        n_files = 1 if self.shards is None else len(self.shards)
        return index, {"codes": InputFile(path, Taken(), len(index), unit="codes", n_files=n_files)}

    def _checked(self, index: "T", model: ModelHeader | None) -> "T":
        """Return an index. Raises ValueError if it does not have the code length of --bits, or one of the model."""
        if self.bits not in (None, index.n_bits):
            raise ValueError(f"--bits {self.bits}: {self._name} has codes of {index.n_bits} bits; omit --bits.")
        if model is not None and index.n_bits > model.n_bits_:
            raise ValueError(
                f"{self._name} has codes of {index.n_bits} bits, the model of {model.n_bits_}: pass its own model."
            )
        return index
