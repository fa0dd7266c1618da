"""The checkpoint of a fit: after every bit, what it takes to go on from there.

A checkpoint is a file like a model's (see `_files`), of kind "checkpoint". It holds the bits in the hash function's own
terms and what they were learned from: fingerprints of the data, parameters, seed. What all bits share (landmarks, the
regression, neighbours) is computed again from the data, in the same steps; so a fit that was cut off ends with the same
model, to the last byte of its file. At the end all of the model is written: a fit that finds it has nothing to do.
"""

import json
import os
from pathlib import Path
from typing import Any

from proxcode.hamming import Codes
from proxcode.learning import Progress
from proxcode.storage.components import PartsReader, PartsWriter
from proxcode.storage.container import Tensors, read_file, write_file
from proxcode.storage.model_file import History, loaded_history, stored_history, stored_parameters, versions
from proxcode.storage.state import State, fingerprint

KIND = "checkpoint"
NOTHING = State()
FREE = ("n_bits", "loss_target", "verbose", "random_state")  # the last one is compared by its seed


class Checkpoint:
    """The file of a fit.

    Parameters
    ----------
    path : path
        Read where there is a file; written after every bit.
    model : ProximityPreservingCode
        About to be fitted.
    data : dict
        Fingerprints of the training data.
    """

    def __init__(self, path: str | os.PathLike[str], model: Any, data: dict[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} for the checkpoint: make it first.")
        writer = PartsWriter()
        parameters = stored_parameters(model, writer)
        if writer.objects:
            raise TypeError(
                f"a checkpoint keeps the bits of KernelHash, LinearHash and SVMHash, not of {writer.objects[0]!r}: use "
                "one of these, or fit without a checkpoint."
            )
        self._content = {
            "versions": versions(),
            "parameters": {name: value for name, value in parameters.items() if name not in FREE},
            "data": data,
        }
        self._tensors = writer.tensors

    def write(
        self,
        seed: int,
        history: History,
        bits: State,
        code: Codes | None,
        proximity: State = NOTHING,
        codes: Codes | None = None,
    ) -> None:
        """Put a later state in the place of the file; see `Progress`."""
        writer = PartsWriter()
        content = {
            **self._content,
            "seed": seed,
            "history": stored_history(history),
            "bits": writer.state(bits, "bits"),
            "proximity": writer.state(proximity, "proximity"),
        }
        arrays = {"code": code, "codes": codes}
        tensors = {name: array for name, array in arrays.items() if array is not None}
        write_file(self.path, KIND, content, {**self._tensors, **writer.tensors, **tensors})

    def read(self, seed: int | None) -> Progress | None:
        """Return how far the fit has come, None where there is no file; refuse the file of another fit.

        Parameters
        ----------
        seed : int or None
            The seed asked for; None takes any.
        """
        if not self.path.exists():
            return None
        content, tensors = read_file(self.path, KIND)
        try:
            different = self._differences(content, tensors)
            found = _progress(content, tensors)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path} does not hold all that a checkpoint holds ({error!r}): delete it to begin anew."
            ) from error
        if seed is not None and found.seed != seed:
            different.append("random_state")
        if different:
            raise ValueError(
                f"the checkpoint {self.path} is that of another fit, with other {', '.join(different)}: give the same, "
                "or delete it to begin anew."
            )
        return found

    def _differences(self, content: dict[str, Any], tensors: Tensors) -> list[str]:
        """Return the names of what a file was learned from that differs from what is asked for."""
        ours, theirs = self._content["parameters"], content["parameters"]
        names = [name for name in {**ours, **theirs} if not _equal(ours.get(name), theirs.get(name))]
        for tensor in (name for name in {**self._tensors, **tensors} if name.startswith("parameters.")):
            if fingerprint(self._tensors.get(tensor)) != fingerprint(tensors.get(tensor)):
                names.append(tensor.split(".")[1])
        data = self._content["data"]
        return [name for name in data if data[name] != content["data"][name]] + list(dict.fromkeys(names))


def _progress(content: dict[str, Any], tensors: Tensors) -> Progress:
    reader = PartsReader(tensors, [])
    return Progress(
        seed=content["seed"],
        history=loaded_history(content["history"]),
        bits=reader.state(content["bits"]),
        code=tensors.get("code"),
        proximity=reader.state(content["proximity"]),
        codes=tensors.get("codes"),
    )


def _equal(ours: Any, theirs: Any) -> bool:
    return ours == theirs or json.dumps(ours) == json.dumps(theirs)  # by value, or both NaN
