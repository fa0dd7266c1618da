"""The verb `info`: describe a file."""

from pathlib import Path
from typing import Any

import click

from proxcode.cli.inputs import holds_vectors
from proxcode.cli.options import FILE, as_json
from proxcode.cli.printing import learned_figures, show


@click.command()
@click.argument("file", type=FILE)
@as_json
def info(file: Path, as_json: bool) -> None:
    """Describe a FILE: a model, an index, a checkpoint, or vectors.

    \b
    Example:
      proxcode info my.proxcode
    """
    show(as_json, describe(file))


def describe(path: Path) -> dict[str, Any]:
    """Return the kind of a file and its properties."""
    from proxcode.storage.container import kind_of, read_file

    if holds_vectors(path):
        from proxcode.files import open_vectors

        vectors = open_vectors(path)
        rows = "unknown without reading the file" if vectors.n_rows is None else vectors.n_rows
        return {"kind": "vectors", "rows": rows, "columns": vectors.n_columns, "type": str(vectors.dtype)}
    kind = kind_of(path)
    content, tensors = read_file(path, kind, mapped=True)
    versions = {f"{name} version": version for name, version in content.get("versions", {}).items()}
    size = {"bytes": path.stat().st_size}
    if kind == "model":
        digests = {f"{name} fingerprint": digest for name, digest in content["data"].items() if digest}
        return {"kind": kind, **_describe_model(path), **size, **versions, **digests}
    if kind == "index":
        from proxcode.search import HammingIndex

        index = HammingIndex.load(path)
        ids = "own" if "ids" in tensors else "0, 1, 2, ..."
        return {"kind": kind, "codes": len(index), "bits": index.n_bits, "ids": ids, **size}
    return {"kind": kind, "bits": len(content.get("history", [])), **size, **versions}


def _describe_model(path: Path) -> dict[str, Any]:
    from proxcode.code import ProximityPreservingCode

    model = ProximityPreservingCode.load(path)
    return {
        **learned_figures(model),
        "samples": len(model.codes_),
        "features": model.n_features_in_,
        # The lists of pairs span several lines.
        "kind of code": _kind_of_code(model),
        "near": " ".join(repr(model.proximity_).split()),
        "hash function": repr(model.hash_function_),
    }


def _kind_of_code(model: Any) -> str:
    """Return what a model is for, in a few words."""
    from proxcode.hashing import NewClassHash, ReconstructionHash, RotationHash

    if isinstance(model.hash_function_, NewClassHash):
        return "for classes that are not in fit"
    if isinstance(model.hash_function_, ReconstructionHash):
        return "for float queries (search --float), learned without labels"
    if isinstance(model.hash_function_, RotationHash):
        return "for top-k search, learned without labels"
    return f"for near pairs: {model.proximity_.describe()}"
