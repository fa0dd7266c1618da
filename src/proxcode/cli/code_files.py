"""Files of codes and of their ids: all files of a folder, of one code length and one model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proxcode.cli.reading import InputFile

if TYPE_CHECKING:
    from proxcode.files import CodeFile, TakenIds


def list_code_files(source: str | Path) -> list[Path] | None:
    """Return the files of codes of a folder or a pattern, None if `source` names one file."""
    from proxcode.storage.listing import files_of

    found = files_of(source)
    if found is None:
        return None
    # `encode` writes a list of its files beside them.
    files = [path for path in found if path.suffix != ".json"]
    if not files:
        raise ValueError(f"{source} has no file of codes: expected files of codes or saved indexes.")
    return files


def one_length(files: "Sequence[CodeFile]", bits: int | None, of_model: int | None = None) -> int:
    """Return the code length of all files, as `CodeFile.code_length` does. Raises ValueError if they differ."""
    lengths = [file.code_length(bits, of_model) for file in files]
    for file, n_bits in zip(files, lengths, strict=True):
        if n_bits != lengths[0]:
            raise ValueError(
                f"{file.path} has codes of {n_bits} bits, {files[0].path} of {lengths[0]}: pass codes of one length."
            )
    return lengths[0]


def one_model(files: "Sequence[CodeFile]", others: Mapping[str, Path] | None = None) -> str | None:
    """Return the fingerprint of the model of all files, None if it is not known.

    `others` are fingerprints of models with their files. Raises ValueError for different models.
    """
    known = {file.fingerprint: file.path for file in files if file.fingerprint is not None} | dict(others or {})
    if len(known) > 1:
        (one, first), (other, second) = list(known.items())[:2]
        raise ValueError(f"{first} is of the model {one[:12]}, {second} of {other[:12]}: pass codes of one model.")
    return next(iter(known), None)


def ids_file(found: "TakenIds") -> InputFile:
    """Return what was read of a file of ids."""
    from proxcode.files import split_column

    return InputFile(split_column(found.source)[0], found.taken, len(found.ids), unit="ids")
