"""Many files by one name: those of a folder, or those that match a pattern."""

import glob
import os
from pathlib import Path


def files_of(source: str | os.PathLike[str]) -> list[Path] | None:
    """Return the files of a folder or of a pattern such as "vectors/*.parquet", in the order of their names.

    None if `source` is neither, so that it names one file. Names that begin with a dot or an underscore are left out,
    and journals, which belong to the files beside them.
    """
    path = root = Path(source)
    if path.is_dir():
        found = path.iterdir()
    elif glob.has_magic(str(path)) and not path.exists():
        root = fixed_part(path)
        found = root.glob(str(path.relative_to(root)))
    else:
        return None
    # Files under temporary names, and in folders of such names, are being written.
    return sorted(
        file
        for file in found
        if file.is_file()
        and file.suffix != ".journal"
        and not any(part.startswith((".", "_")) for part in file.relative_to(root).parts)
    )


def fixed_part(pattern: Path) -> Path:
    """Return the folder that all files of a pattern lie in: what stands before its first wildcard.

    Examples
    --------
    >>> fixed_part(Path("data/*/vectors.npy")).as_posix()
    'data'
    """
    first = next(k for k, part in enumerate(pattern.parts) if glob.has_magic(part))
    return Path(*pattern.parts[:first])
