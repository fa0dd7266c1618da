"""The verb `index`: create an index file, and change it in place."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.code_files import ids_file
from proxcode.cli.inputs import check_bits, read_header
from proxcode.cli.options import BITS, FILE, as_json, check_output, force, trust
from proxcode.cli.printing import show
from proxcode.cli.reading import InputFile, say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxcode.files import CodeFile

ids_option = click.option("--ids", help="Ids of the codes, integers or text: FILE, FILE:COLUMN or FILE:KEY.")
model_option = click.option("--model", type=FILE, help="Model that encoded the codes; recorded, and compared later.")
id_column = click.option(
    "--id", "id_column", default="id", show_default=True, help="Column of integer ids of a Parquet file of codes."
)
column = click.option("--column", default="code", show_default=True, help="Column of codes of a Parquet file of codes.")


@click.group()
def index() -> None:
    """Create an index file, add codes to it and remove them.

    Codes are added, replaced and removed without writing the file anew: changes are appended to a journal beside it,
    items.index.journal, and are permanent when a command ends. Move or copy both files together.

    \b
    Examples:
      proxcode index create codes.npy -o items.index --ids items.csv:name --model my.proxcode
      proxcode index add items.index new_codes.npy --ids new.csv:name
      proxcode index add items.index changed_codes.npy --ids changed.csv:name --upsert
      proxcode index remove items.index --ids gone.csv:name
      proxcode index info items.index
      proxcode search items.index queries.npy --model my.proxcode -k 10
    """


@index.command()
@click.argument("codes", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The index file to write.")
@ids_option
@model_option
@click.option("--bits", type=BITS, show_default="that of the file or of the model", help="Code length.")
@column
@id_column
@trust
@force
@as_json
def create(
    codes: Path,
    output: Path,
    ids: str | None,
    model: Path | None,
    bits: int | None,
    column: str,
    id_column: str,
    trust: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write an index file of CODES.

    CODES is an array of packed codes, a Parquet file that proxcode encode wrote, or a saved index. Without --ids, ids
    are those of the file, or else 0, 1, 2, ...

    \b
    Example:
      proxcode index create codes.npy -o items.index --ids items.csv:name --model my.proxcode
    """
    check_output(output, force, codes, ids, model)

    from proxcode.files import open_codes

    header = None if model is None else read_header(model)
    if header is not None:
        check_bits(header, bits)
    file = open_codes(codes, column=column, id_column=id_column if ids is None else None)
    n_bits = file.code_length(bits, None if header is None else header.n_bits_)
    packed, given, read = _read(file, ids, None)
    say(read)
    fingerprint = _fingerprint(file, model, n_bits, trust)

    from proxcode.search import HammingIndex

    HammingIndex(n_bits, model=fingerprint).add(packed, given).save(output, overwrite=force)
    show(as_json, describe(output), read=read)


@index.command()
@click.argument("index_file", metavar="INDEX", type=FILE)
@click.argument("codes", type=FILE)
@ids_option
@click.option("--upsert", is_flag=True, help="Replace the codes of ids that are stored, and add the others.")
@model_option
@column
@id_column
@trust
@as_json
def add(
    index_file: Path,
    codes: Path,
    ids: str | None,
    upsert: bool,
    model: Path | None,
    column: str,
    id_column: str,
    trust: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add CODES to an INDEX file.

    Without --ids, ids are those of the file of codes, or else continue from the largest stored integer.

    \b
    Examples:
      proxcode index add items.index new_codes.npy --ids new.csv:name
      proxcode index add items.index changed_codes.npy --ids changed.csv:name --upsert
    """
    from proxcode.files import open_codes

    has_strings = _has_strings(index_file)
    file = open_codes(codes, column=column, id_column=id_column if ids is None else None)
    packed, given, read = _read(file, ids, has_strings)
    if upsert and given is None:
        raise click.UsageError("--upsert replaces codes by their ids: pass --ids too.")
    say(read)

    from proxcode.search import HammingIndex

    with HammingIndex.open(index_file) as opened:
        _check_length(file, index_file, opened.n_bits)
        opened.check_model(_fingerprint(file, model, opened.n_bits, trust))
        n_before = len(opened)
        if upsert and given is not None:
            opened.upsert(packed, given)
        else:
            opened.add(packed, given)
        n_added = len(opened) - n_before
    change = {"added": n_added, **({"replaced": len(packed) - n_added} if upsert else {})}
    show(as_json, {**change, **describe(index_file)}, read=read)


@index.command()
@click.argument("index_file", metavar="INDEX", type=FILE)
@click.option("--ids", required=True, help="Ids of the codes to remove: FILE, FILE:COLUMN or FILE:KEY.")
@as_json
def remove(index_file: Path, ids: str, as_json: bool) -> None:
    """Remove codes from an INDEX file; if an id is not stored, nothing is removed.

    \b
    Example:
      proxcode index remove items.index --ids gone.csv:name
    """
    given, read = _read_ids(ids, _has_strings(index_file))
    say(read)

    from proxcode.search import HammingIndex

    with HammingIndex.open(index_file) as opened:
        n_before = len(opened)
        opened.remove(given)
        n_removed = n_before - len(opened)
    show(as_json, {"removed": n_removed, **describe(index_file)}, read=read)


@index.command()
@click.argument("index_file", metavar="INDEX", type=FILE)
@as_json
def compact(index_file: Path, as_json: bool) -> None:
    """Merge the journal of an INDEX file into the file, so that processes that load it share its memory.

    \b
    Example:
      proxcode index compact items.index
    """
    from proxcode.storage.index_file import read_index

    read_index(index_file, mapped=True)  # raises the error of a wrong file before the import of numba

    from proxcode.search import HammingIndex

    with HammingIndex.open(index_file) as opened:
        opened.compact()
    show(as_json, describe(index_file))


@index.command()
@click.argument("index_file", metavar="INDEX", type=FILE)
@as_json
def info(index_file: Path, as_json: bool) -> None:
    """Describe an INDEX file.

    \b
    Example:
      proxcode index info items.index
    """
    show(as_json, describe(index_file))


def describe(path: Path) -> dict[str, Any]:
    """Return what an index file holds, with the changes of its journal."""
    from proxcode.storage.index_file import read_current
    from proxcode.storage.journal import journal_of

    stored = read_current(path)
    journal = journal_of(path)
    return {
        "codes": stored.planes.shape[1],
        "bits": stored.n_bits,
        "ids": stored.kind_of_ids,
        "model": "not known" if stored.fingerprint is None else str(stored.fingerprint)[:12],
        "bytes": path.stat().st_size,
        "bytes of journal": journal.stat().st_size if journal.exists() else 0,
    }


def _has_strings(path: Path) -> bool | None:
    """Return whether an index file has string ids, None if it has no ids yet.

    The error of a file that is no index is raised before heavy libraries are imported.
    """
    from proxcode.storage.index_file import read_index

    return read_index(path, mapped=True).has_strings


def _read(
    file: "CodeFile", ids: str | None, has_strings: bool | None
) -> "tuple[NDArray[np.uint8], NDArray[Any] | None, dict[str, InputFile]]":
    """Return codes, ids, None if there are none, and what was read of files; `has_strings` is that of the index."""
    packed, given = file.read()
    read = {"codes": InputFile(file.path, file.taken, len(packed), unit="codes")}
    if ids is not None:
        given, of_ids = _read_ids(ids, has_strings)
        read |= of_ids
        if len(given) != len(packed):
            raise ValueError(f"{ids} holds {len(given)} ids for {len(packed)} codes: expected one each.")
    return packed, given, read


def _read_ids(source: str, has_strings: bool | None) -> "tuple[NDArray[Any], dict[str, InputFile]]":
    """Return ids in the type of those of the index, and what was read of their file."""
    from proxcode.files import take_ids

    found = take_ids(source)
    return found.beside(has_strings), {"ids": ids_file(found)}


def _check_length(file: "CodeFile", index_file: Path, n_bits: int) -> None:
    if file.n_bits not in (None, n_bits) or file.n_bytes != -(-n_bits // 8):
        length = f"{file.n_bytes} bytes" if file.n_bits is None else f"{file.n_bits} bits"
        raise ValueError(f"{file.path} has codes of {length}, {index_file} of {n_bits} bits: add codes of one length.")


def _fingerprint(file: "CodeFile", model: Path | None, n_bits: int, trust: tuple[str, ...]) -> str | None:
    """Return the fingerprint of the model that encoded the codes, None if it is not known."""
    if model is None:
        return file.fingerprint

    from proxcode.pipeline import load
    from proxcode.stores.base import check_same_model

    given = str(load(model, trusted=trust or None).fingerprint(n_bits))
    check_same_model(file.fingerprint, given)
    return given
