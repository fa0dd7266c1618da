"""The verb `dedupe`: near-duplicates among codes."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from proxcode.cli.code_files import ids_file, list_code_files, one_length, one_model
from proxcode.cli.options import BITS, COUNT, FILE, as_json, check_output, force
from proxcode.cli.printing import show
from proxcode.cli.reading import InputFile, say
from proxcode.cli.stores import is_address

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxcode.files import CodeFile
    from proxcode.search import Duplicates


@click.command()
@click.argument("codes")
@click.option("--radius", type=click.IntRange(0), required=True, help="Largest Hamming distance of duplicates.")
@click.option("--pairs", is_flag=True, help="Write all pairs of duplicates, not their groups.")
@click.option("--bits", type=BITS, show_default="that of the file", help="Code length.")
@click.option("--ids", help="Ids of the codes, integers or text: FILE, FILE:COLUMN or FILE:KEY.")
@click.option("--renumber", is_flag=True, help="Number the codes of several files from 0, in the order of the files.")
@click.option("--column", default="code", show_default=True, help="Column of codes of a Parquet file.")
@click.option("--id", "id_column", default="id", show_default=True, help="Column of ids of a Parquet file.")
@click.option("--threads", type=COUNT, show_default="all cores", help="Number of threads.")
@click.option("-o", "--output", type=FILE, help="Write groups or pairs to a .csv, .tsv, .jsonl, .npz or .parquet file.")
@force
@as_json
def dedupe(
    codes: str,
    radius: int,
    pairs: bool,
    bits: int | None,
    ids: str | None,
    renumber: bool,
    column: str,
    id_column: str,
    threads: int | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find near-duplicates among CODES: codes whose Hamming distance is at most --radius.

    CODES is a file of packed codes, a saved index, or a folder or quoted pattern of such files.

    Codes that are linked by duplicates, directly or by a chain of them, are one group. The output has a row for each
    code of a group of two or more: its id, the number of its group, and the representative, the id of the first code of
    the group. Codes whose id is not that of their representative can be removed. With --pairs the output has the ids
    and the distance of each pair of duplicates.

    Codes learned from labels are equal for most samples of a label: their groups are labels, not duplicates. Learn the
    codes without labels: proxcode fit vectors.npy -o my.proxcode

    \b
    Examples:
      proxcode dedupe codes.npy --radius 3 -o groups.csv
      proxcode dedupe codes.npy --radius 3 --pairs -o pairs.csv
    """
    if is_address(codes):
        raise click.UsageError("duplicates are found among codes in files: write those of the database to a file.")
    if pairs and output is None:
        raise click.UsageError("--pairs writes pairs to a file: pass -o, the name of the file, too.")

    from proxcode.files import check_suffix

    several = list_code_files(codes)
    if several is None and renumber:
        raise click.UsageError(f"--renumber is for several files: pass a folder or a pattern instead of {codes}.")
    check_output(output, force, *(several or [Path(codes)]), ids)
    if output is not None:
        check_suffix(output)
    files = _open(several or [Path(codes)], column, id_column, has_own_ids=ids is None and not renumber)
    n_bits = one_length(files, bits)
    one_model(files)
    packed, own_ids, taken = _read(files, ids, renumber)
    read = {"codes": InputFile(codes, files[0].taken, len(packed), unit="codes", n_files=len(files)), **taken}
    say(read)

    from proxcode.search import find_duplicates

    start = perf_counter()
    found = find_duplicates(packed, radius, n_bits=n_bits, ids=own_ids, n_threads=threads, verbose=True)
    # Its words are in `found`.
    del packed
    if pairs and output is not None:
        figures = {"pairs": _write_pairs(output, found, force)}
    else:
        figures = _figures(found)
        if output is not None:
            _write_groups(output, found, force)
    record: dict[str, Any] = {} if output is None else {"output": str(output)}
    record |= {"codes": found.n_codes, "bits": n_bits, "radius": radius, "distinct codes": found.n_distinct, **figures}
    show(as_json, {**record, "seconds": round(perf_counter() - start, 2)}, read=read)


def _open(paths: Sequence[Path], column: str, id_column: str, *, has_own_ids: bool) -> "list[CodeFile]":
    """Open all files of codes; `has_own_ids` says whether ids are to be those of the files."""
    from proxcode.files import open_codes

    files = [open_codes(path, column=column, id_column=id_column if has_own_ids else None) for path in paths]
    if has_own_ids:
        _check_ids(files, id_column)
    return files


def _read(
    files: "Sequence[CodeFile]", ids: str | None, renumber: bool
) -> "tuple[NDArray[np.uint8], NDArray[Any] | None, dict[str, InputFile]]":
    """Return the codes of all files, their ids, None for the numbers of the rows, and what was read of --ids."""
    import numpy as np

    from proxcode.files import take_ids

    given = None if ids is None else take_ids(ids)
    blocks = [file.read() for file in files]
    codes = blocks[0].codes if len(blocks) == 1 else np.concatenate([block.codes for block in blocks])
    if ids is not None and given is not None:
        if len(given.ids) != len(codes):
            raise ValueError(f"{ids} holds {len(given.ids)} ids for {len(codes)} codes: expected one each.")
        return codes, given.ids, {"ids": ids_file(given)}
    own = [block.ids for block in blocks if block.ids is not None]
    if renumber or not own:
        return codes, None, {}
    if len({part.dtype == object for part in own}) > 1:
        raise ValueError(f"{files[0].path.parent} has files with integer and string ids: pass --renumber, or --ids.")
    joined = np.concatenate(own)
    if len(files) > 1 and len(np.unique(joined)) < len(joined):
        raise ValueError(f"{files[0].path.parent} has files with equal ids: pass --renumber, or --ids.")
    return codes, joined, {}


def _check_ids(files: "list[CodeFile]", id_column: str) -> None:
    """Raise ValueError for files without the column of ids that was asked for, or of which only some have ids."""
    with_ids = [file for file in files if file.has_ids]
    without = [file for file in files if not file.has_ids]
    is_asked = click.get_current_context().get_parameter_source("id_column") == ParameterSource.COMMANDLINE
    if without and is_asked:
        raise ValueError(
            f"{without[0].path} has no column {id_column!r} of ids: name one of a Parquet file, or omit --id."
        )
    if without and with_ids:
        raise ValueError(f"{with_ids[0].path} has ids, {without[0].path} has none: pass --renumber, or --ids.")


def _figures(found: "Duplicates") -> dict[str, int]:
    """Return the figures of the groups."""
    import numpy as np

    sizes = np.bincount(found.group[found.group >= 0])
    return {
        "groups": found.n_groups,
        "largest group": int(sizes.max(initial=0)),
        "duplicates": found.n_duplicates,
        "kept": found.n_codes - found.n_duplicates,
    }


def _write_groups(output: Path, found: "Duplicates", force: bool) -> None:
    """Write the codes of groups of two or more, group by group."""
    import numpy as np

    from proxcode.files import write_table

    members = np.flatnonzero(found.group >= 0)
    members = members[np.argsort(found.group[members], kind="stable")]
    columns = {"id": found.ids, "group": found.group, "representative": found.representative}
    write_table(output, {name: values[members] for name, values in columns.items()}, overwrite=force)


def _write_pairs(output: Path, found: "Duplicates", force: bool) -> int:
    """Write all pairs, block by block; return their number."""
    from proxcode.files import append_table

    n_pairs = 0
    kind = found.ids.dtype
    with append_table(output, {"first": kind, "second": kind, "distance": "int32"}, overwrite=force) as append:
        for block in found.pairs():
            append(*block)
            n_pairs += len(block.distance)
    return n_pairs
