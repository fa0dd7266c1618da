"""The verb `info`: describe a file.

The figures of a model are read from its file without the model: scikit-learn and numba are not imported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proxcode.cli.options import FILE, as_json
from proxcode.cli.printing import learned_figures, recall_figure, show

if TYPE_CHECKING:
    from proxcode.storage.container import Tensors

# What a model is for, by its hash function; with any other, it is for near pairs.
KINDS = {
    "NewClassHash": "for classes that are not in fit",
    "ReconstructionHash": "for float queries (search --float), learned without labels",
    "RotationHash": "for top-k search, learned without labels",
}


@click.command()
@click.argument("file", type=FILE)
@as_json
def info(file: Path, as_json: bool) -> None:
    """Describe a FILE: a model, a pipeline, an index, a checkpoint, or vectors.

    \b
    Example:
      proxcode info my.proxcode
    """
    show(as_json, describe(file))


def describe(path: Path) -> dict[str, Any]:
    """Return the kind of a file and its properties."""
    from proxcode.files import holds_vectors
    from proxcode.storage.container import kind_of, read_file
    from proxcode.storage.model_file import PIPELINE

    if holds_vectors(path):
        from proxcode.files import open_vectors

        vectors = open_vectors(path)
        rows = "unknown without reading the file" if vectors.n_rows is None else vectors.n_rows
        return {"kind": "vectors", "rows": rows, "columns": vectors.n_columns, "type": str(vectors.dtype)}
    kind = kind_of(path)
    if kind == "index":
        from proxcode.cli.index import describe as describe_index

        return {"kind": kind, **describe_index(path)}
    content, tensors = read_file(path, PIPELINE if kind == PIPELINE else "model")
    size = {"bytes": path.stat().st_size}
    if kind == PIPELINE:
        return {"kind": kind, **_describe_pipeline(path, content, tensors, size)}
    return {"kind": kind, **_describe_model(path, content, tensors, size)}


def _describe_pipeline(path: Path, content: dict[str, Any], tensors: "Tensors", size: dict[str, int]) -> dict[str, Any]:
    """Return what is said of the code, with the features of samples before the transformers, and these."""
    from proxcode.storage.components import component_text
    from proxcode.storage.container import reading
    from proxcode.storage.model_file import PIPELINE

    with reading(path, PIPELINE):
        model = {**content["model"], "versions": content["versions"]}
        transformers = [
            component_text(step, tensors) if "class" in step else str(step.get("type", "passthrough"))
            for step in content["steps"]
        ]
    figures = _describe_model(path, model, tensors, size)
    own = {
        "features": content["n_features"] or "samples are not vectors",
        "transformers": ", ".join(transformers) or "none",
        "features of the code": figures.pop("features"),
    }
    at = list(figures).index("kind of code")
    return dict([*list(figures.items())[:at], *own.items(), *list(figures.items())[at:]])


def _describe_model(path: Path, content: dict[str, Any], tensors: "Tensors", size: dict[str, int]) -> dict[str, Any]:
    from proxcode.metrics import BitRecord
    from proxcode.storage.components import component_text
    from proxcode.storage.container import reading
    from proxcode.storage.model_file import KIND, check_content

    with reading(path, KIND):
        check_content(content)
        proximity, hash_function = content["proximity"], content["hash_function"]
        kind = KINDS.get(hash_function["class"]) or f"for near pairs: {_near_means(proximity)}"
        history = [BitRecord.from_numbers(record) for record in content["history"]]
        return {
            **learned_figures(history, content.get("training_loss")),
            "samples": len(tensors["codes"]),
            **({"samples of pairs": n_paired} if (n_paired := content.get("n_paired")) else {}),
            **recall_figure(proximity["state"]["values"]["dict"].get("recall", 1.0)),
            "features": content["n_features"],
            "kind of code": kind,
            "near": component_text(proximity, tensors),
            "hash function": component_text(hash_function, tensors),
            **size,
            **{f"{name} version": version for name, version in content["versions"].items()},
            **{f"{name} fingerprint": digest for name, digest in content["data"].items() if digest},
        }


def _near_means(proximity: Mapping[str, Any]) -> str:
    """Return what `describe` of a stored proximity returns; for a class that is not known here, its name."""
    parameters, learned = proximity["parameters"], proximity["state"]["values"]["dict"]
    others = parameters.get("others") or "unknown, or mostly far if no far pair is listed"
    meanings = {
        "SameLabel": "the same label" + (", for classes that come later" if parameters.get("new_classes") else ""),
        "SharedLabel": "at least one label in common",
        "GivenPairs": f"listed as near; pairs not listed are {others}",
        "Nearest": f"among the {parameters.get('n_neighbors') or 'up to 100'} nearest",
        "WithinRadius": f"{parameters.get('metric')} distance of at most {learned.get('radius', 0.0):.4g}",
    }
    return meanings.get(proximity["class"], proximity["class"])
