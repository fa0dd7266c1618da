"""The verb `load`: copy codes from files into a table of a database."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from proxcode.cli.code_files import ids_file, list_code_files, one_length, one_model
from proxcode.cli.inputs import check_bits, read_header
from proxcode.cli.options import BITS, FILE, as_json, table_options, trust
from proxcode.cli.printing import show
from proxcode.cli.reading import InputFile, say
from proxcode.cli.stores import StoreOptions, is_address

if TYPE_CHECKING:
    from proxcode.files import CodeFile


@click.command()
@click.argument("codes", type=FILE)
@click.argument("address")
@table_options
@click.option("--ids", help="Integer ids of the codes, one per code: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--model", type=FILE, help="Model of the codes, recorded with them; Parquet files and indexes know it.")
@click.option("--bits", type=BITS, show_default="that of the file or of the model", help="Code length.")
@click.option("--hnsw", is_flag=True, help="PostgreSQL: create an HNSW index of pgvector after loading.")
@trust
@as_json
def load(
    codes: Path,
    address: str,
    table: str | None,
    column: str,
    id_column: str,
    ids: str | None,
    model: Path | None,
    bits: int | None,
    hnsw: bool,
    trust: tuple[str, ...],
    as_json: bool,
) -> None:
    """Copy CODES into a table of the database at ADDRESS.

    CODES is a file of packed codes, a Parquet file or a folder of Parquet files that encode wrote, or a saved index.
    Ids are those of --ids, or of the column --id of a Parquet file, or of the index, otherwise numbers after the
    largest id of the table. A table or column that does not exist is created. In PostgreSQL all codes are stored, or
    none.

    Passwords are read from PGPASSWORD, a password file or a service file (postgresql:///?service=name), and from
    CLICKHOUSE_PASSWORD.

    \b
    Examples:
      proxcode load codes.npy postgresql://me@localhost/shop --table items --model my.proxcode
      proxcode load codes.parquet postgresql://me@localhost/shop --table items --column code --id id
      proxcode load codes/ clickhouse://localhost/default --table items --id key
    """
    if not is_address(address):
        raise click.UsageError("ADDRESS is not that of a database: expected postgresql://... or clickhouse://...")
    options = StoreOptions(address, table, column, id_column)
    if hnsw and not address.lower().startswith("postgres"):
        raise click.UsageError("--hnsw creates an index of PostgreSQL: omit it.")

    from proxcode.files import open_codes, take_ids

    shards = list_code_files(codes)
    if shards is not None and ids is not None:
        raise click.UsageError("--ids are those of one file: name it, or pass --id, a column of Parquet files.")
    header = None if model is None else read_header(model)
    if header is not None:
        check_bits(header, bits)
    own_ids = id_column if ids is None else None
    files = [open_codes(path, column=column, id_column=own_ids) for path in (shards or [codes])]
    n_bits = one_length(files, bits, header.n_bits_ if header is not None else None)
    fingerprint = one_model(files, _fingerprint(model, n_bits, trust))
    taken_ids = None if ids is None else take_ids(ids)
    given = None if taken_ids is None else taken_ids.beside(has_strings=False)
    known = [file.n_rows for file in files if file.n_rows is not None]
    total = sum(known) if len(known) == len(files) else None
    _check_ids(files, own_ids)
    if given is not None and total not in (None, len(given)):
        raise ValueError(f"{ids} holds {len(given)} ids for {total} codes: expected one each.")
    read = {"codes": InputFile(codes, files[0].taken, total, unit="codes", n_files=len(files))}
    if taken_ids is not None:
        read["ids"] = ids_file(taken_ids)
    say(read)

    from proxcode.utils.progress import ProgressDisplay

    n_loaded = 0
    with options.open(n_bits=n_bits, model=fingerprint) as store:
        with ProgressDisplay("loaded", "codes", total) as progress:
            for file in files:
                for block in file.blocks():
                    rows = slice(n_loaded, n_loaded + len(block.codes))
                    store.add(block.codes, block.ids if given is None else given[rows])
                    n_loaded += len(block.codes)
                    progress.update(len(block.codes))
        if given is not None and len(given) != n_loaded:
            raise ValueError(f"{ids} holds {len(given)} ids for {n_loaded} codes: expected one each.")
        if hnsw:
            store.create_index()  # type: ignore[attr-defined]
        record = {"table": table, "codes": n_loaded, "bits": store.n_bits, "in table": len(store)}
        recorded = store.fingerprint
    show(as_json, {**record, "model": "not known" if recorded is None else recorded[:12]}, read=read)


def _check_ids(files: "list[CodeFile]", id_column: str | None) -> None:
    """Raise ValueError for files that lack the column of ids that was asked for, or that others have."""
    is_asked = click.get_current_context().get_parameter_source("id_column") == ParameterSource.COMMANDLINE
    for file in files:
        is_tabular = file.path.suffix.lower() == ".parquet"
        if (
            id_column is not None
            and is_tabular
            and not file.has_ids
            and (is_asked or any(one.has_ids for one in files))
        ):
            raise ValueError(
                f"{file.path} has no column {id_column!r} of ids: name one of its columns by --id, or pass --ids."
            )


def _fingerprint(model: Path | None, n_bits: int, trust: tuple[str, ...]) -> dict[str, Path]:
    """Return the fingerprint of the model of the codes with its file, if it is given."""
    if model is None:
        return {}

    from proxcode.pipeline import load as load_model

    return {load_model(model, trusted=trust or None).fingerprint(n_bits): model}
