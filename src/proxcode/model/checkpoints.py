"""Checkpoints of a fit: a model file with the bits learned so far.

Resuming a fit is loading the file and learning the remaining bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from proxcode.hashing.joint import JointHash
from proxcode.model.learned import Learned
from proxcode.model.saving import FilePath, Parameters, component_classes, read, storable
from proxcode.storage.components import ComponentWriter
from proxcode.storage.state import equal_json, fingerprint

# Parameters of the constructor in which a resumed fit may differ; seeds are compared instead of `random_state`.
MAY_DIFFER = ("n_bits", "verbose", "random_state")


def open_checkpoint(path: FilePath, parameters: Parameters, learned: Learned, n_bits: int) -> Learned:
    """Return what a checkpoint holds, `learned` if there is no file yet; raise ValueError for that of another fit.

    Parameters
    ----------
    path : path
    parameters : dict
        Those of the model to be fitted.
    learned : Learned
        What the fit would start from.
    n_bits : int
        The code length asked for.
    """
    path, ours = Path(path), _fingerprints(parameters)
    if not path.exists():
        return learned
    try:
        saved = read(path)
    except ValueError as error:
        raise ValueError(f"the checkpoint cannot be resumed ({error}): delete {path} to start again.") from error
    theirs, found = _fingerprints(saved.parameters), saved.learned
    if found.updates:
        raise ValueError(f"checkpoint {path} holds a model that was updated: pass another name, or delete it.")
    different = [name for name in learned.data if learned.data[name] != found.data[name]]
    different += [name for name in ours if name not in MAY_DIFFER and not equal_json(ours[name], theirs.get(name))]
    if parameters["random_state"] is not None and learned.seed != found.seed:
        different.append("random_state")
    if different:
        raise ValueError(
            f"checkpoint {path} belongs to a fit with a different {', '.join(different)}: pass the same, or delete it "
            "to start again."
        )
    if isinstance(found.hash_function, JointHash) and found.hash_function.n_planned_ != n_bits:
        raise ValueError(
            f"n_bits={n_bits}: {type(found.hash_function).__name__} learned the {found.hash_function.n_planned_} bits "
            f"of checkpoint {path} at once; pass as many, or delete it to start again."
        )
    if len(found.history) > n_bits:
        raise ValueError(
            f"n_bits={n_bits}: checkpoint {path} holds {len(found.history)} bits; pass at least as many, or delete it."
        )
    return found


def _fingerprints(parameters: Parameters) -> dict[str, Any]:
    """Return each parameter in JSON, its arrays by fingerprint. Raises TypeError for what a checkpoint cannot hold."""
    found = {}
    for name, value in storable(parameters).items():
        writer = ComponentWriter(component_classes())
        content = writer.value(value, name)
        if writer.objects:
            raise TypeError(
                f"{name}={value!r} cannot be stored in a checkpoint: use a hash function of proxcode, or fit "
                "without a checkpoint."
            )
        found[name] = [content, {key: fingerprint(array) for key, array in writer.tensors.items()}]
    return found
