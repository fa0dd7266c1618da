"""Many files by one name: those of a folder, or those that match a pattern."""

import glob
import os
from pathlib import Path


def files_of(source: str | os.PathLike[str]) -> list[Path] | None:
    """Return the files of a folder or of a pattern such as "vectors/*.parquet", in the order of their names.

    None if `source` is neither, so that it names one file. Names that begin with a dot or an underscore are left out.
    """
    path = root = Path(source)
    if path.is_dir():
        found = path.iterdir()
    elif glob.has_magic(str(path)) and not path.exists():
        first = next(k for k, part in enumerate(path.parts) if glob.has_magic(part))
        root = Path(*path.parts[:first])
        found = root.glob(str(Path(*path.parts[first:])))
    else:
        return None
    # Files under temporary names, and in folders of such names, are being written.
    return sorted(
        file
        for file in found
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(root).parts)
    )
