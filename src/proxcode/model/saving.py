"""Fitted models as files."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from proxcode.cut import AlonNaorGuess, Annealing, InitialGuess, LocalSearch, Restarts, Rounding
from proxcode.hashing import HashFunction, KernelHash
from proxcode.hashing.encoder import codes_of
from proxcode.metrics import BitRecord
from proxcode.model.learned import Learned, Update
from proxcode.proximity import Proximity, WithinRadius
from proxcode.storage.components import with_subclasses
from proxcode.storage.container import reading
from proxcode.storage.model_file import ModelFile, code_digest, read_model, write_model
from proxcode.storage.state import fingerprint
from proxcode.threshold import Threshold
from proxcode.utils.validation import check_component, check_integer, check_number, in_units
from proxcode.weights import Weights

FilePath = str | os.PathLike[str]
Parameters = Mapping[str, Any]


# Types of parameters of the constructor that are not None.
TYPES = {"n_bits": int, "proximity": Proximity, "threshold": Threshold, "weights": Weights, "max_samples": int}


@dataclass(frozen=True)
class SavedModel:
    """A model as loaded from its file."""

    parameters: Parameters
    learned: Learned
    n_features: int
    feature_names: list[str] | None


def read(path: FilePath, trusted: Sequence[str] | None = None, file: ModelFile | None = None) -> SavedModel:
    """Read a model file, see `proxcode.storage.model_file.read_model`, or the contents of one that has been read."""
    parameters, components, values, codes = file or read_model(path, component_classes(), trusted)
    with reading(path, "model"):
        history = [BitRecord.from_numbers(record) for record in values["history"]]
        unit = check_number("its unit", values.get("unit", 1.0), above=0)
        learned = Learned(values["seed"], values["data"], history=history, codes=codes, unit=unit, **components)
        if values.get("training_loss") is not None:
            learned.training_loss = float(values["training_loss"])
        learned.n_paired = check_integer("its n_paired", values.get("n_paired", 0), 0)
        learned.updates = [Update.from_values(record) for record in values.get("updates", ())]
        learned.bit_digests = [str(digest) for digest in values.get("bit_digests", ())]
        if learned.bit_digests and len(learned.bit_digests) != len(history):
            raise ValueError(f"it holds digests of {len(learned.bit_digests)} of {len(history)} bits: save it again")
        learned.digest_bits()
        check_component("proximity", learned.proximity, Proximity, "SameLabel()")
        check_component("hash_function", learned.hash_function, HashFunction, "KernelHash()")
        memory, classes = getattr(learned.hash_function, "memory_", None), getattr(learned.proximity, "classes_", None)
        if memory is not None and classes is not None and len(classes) != memory.n_classes:
            raise ValueError(f"it holds {len(classes)} labels for {memory.n_classes} classes: save the model again")
        if learned.hash_function.n_bits_ != len(history):
            raise ValueError(f"it holds {learned.hash_function.n_bits_} of {len(history)} bits: save the model again")
        parameters = _upgraded(dict(parameters), learned.proximity, learned.hash_function)
        for name, kind in TYPES.items():
            if not isinstance(parameters[name], kind | None):
                raise ValueError(f"its parameter {name} is {parameters[name]!r}: save the model again")
        return SavedModel(parameters, learned, values["n_features"], values["feature_names"])


class SavingMixin(BaseEstimator):
    """Saving and loading of a fitted estimator, and its fitted attributes as one object."""

    n_features_in_: int

    def _set_fitted(self, learned: Learned) -> None:
        """Set the fitted attributes."""
        self._seed, self._data, self._unit = learned.seed, learned.data, learned.unit
        self.proximity_, self.hash_function_ = learned.proximity, learned.hash_function
        self.history_, self.codes_ = list(learned.history), learned.codes
        self.n_bits_, self.training_loss_ = len(self.history_), learned.training_loss
        self.n_paired_samples_ = learned.n_paired
        self.updates_, self._bit_digests = list(learned.updates), list(learned.bit_digests)
        self.alpha_, self.radius_ = self.history_[-1].alpha, self.history_[-1].radius

    def _learned(self) -> Learned:
        """Return what was learned, from the fitted attributes."""
        fitted = self._seed, self._data, self.proximity_, self.hash_function_
        codes, unit, training_loss = self.codes_, self._unit, self.training_loss_
        updates, digests = list(self.updates_), list(self._bit_digests)
        return Learned(
            *fitted, list(self.history_), codes, unit, training_loss, self.n_paired_samples_, updates, digests
        )

    def _difference(self, X: NDArray[Any], y: Any) -> str | None:
        """Return in which way the data of `extend` differ from those of `fit`, other than by rounding of X, or None."""
        if len(X) != len(self.codes_):
            return f"X has {len(X)} samples but the model was fitted on {len(self.codes_)}: pass the same."
        if fingerprint(X) != self._data["X"]:
            codes = codes_of(self.hash_function_, in_units(X, self._unit), self.n_bits_)
            n_different = int((codes != self.codes_).any(axis=1).sum())
            if not self.error_correction or n_different > max(1, len(X) // 100):
                return "X differs from the samples of the original fit; pass the same ones in order."
        if fingerprint(self.proximity_.read(y)) != self._data["y"]:
            return "y differs from the labels of the original fit; pass the same ones in order."
        return None

    def save(self, path: FilePath, *, overwrite: bool = True) -> None:
        """Save the fitted model in one file, atomically and without pickle.

        Equal fits by equal versions give equal bytes, except for classifiers of other libraries, which skops writes
        differently each time.

        Parameters
        ----------
        path : path
        overwrite : bool, default=True
            Whether an existing file is replaced; if not, a FileExistsError is raised.

        Notes
        -----
        The file does not hold the training data, the seconds of `history_`, which are NaN after loading, and the
        setting of `set_output`. A `random_state` that is a generator is stored as None; the seed that was drawn from it
        is kept, so that `extend` continues in the same way. Numbers of NumPy's types become Python's.
        """
        write_model(path, self._stored(), component_classes(), overwrite=overwrite)

    def fingerprint(self, n_bits: int | None = None) -> str:
        """Return a SHA-256 digest that tells codes of `n_bits` bits of this model from those of others; None: all bits.

        It is the same after saving, loading, `extend` and `update`; indexes, stores and files of codes hold it.
        """
        check_is_fitted(self, "n_bits_")
        n_bits = self.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, self.n_bits_)
        learned = self._learned()
        values = [self.n_features_in_, learned.data, learned.unit, learned.seed, learned.bit_digests[:n_bits]]
        return code_digest(learned.hash_function, values)

    def _stored(self) -> ModelFile:
        """Return the model as its file holds it."""
        check_is_fitted(self, "n_bits_")
        self._check_savable()
        learned = self._learned()
        values = {
            "seed": learned.seed,
            "history": [record.numbers() for record in learned.history],
            "alpha": learned.history[-1].alpha,
            "n_features": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", np.array([])).tolist() or None,
            "data": learned.data,
            "unit": learned.unit,
            "training_loss": None if math.isnan(learned.training_loss) else learned.training_loss,
            "n_paired": learned.n_paired,
            "updates": [list(update) for update in learned.updates],
            "bit_digests": learned.bit_digests,
        }
        components = {"proximity": learned.proximity, "hash_function": learned.hash_function}
        return ModelFile(storable(self.get_params(deep=False)), components, values, learned.codes)

    def _check_savable(self) -> None:
        """Raise TypeError for a subclass of the user's own: loading would give the base class."""
        if type(self).__module__.partition(".")[0] != "proxcode":
            raise TypeError(f"{type(self).__name__} cannot be saved: a model file holds a ProximityPreservingCode.")

    @classmethod
    def load(cls, path: FilePath, *, trusted: Sequence[str] | None = None) -> Self:
        """Load a model that `save` saved.

        It encodes and scores as the saved model does: to the last digit on the same kind of processor with the same
        versions of libraries, elsewhere up to rounding, so that a bit differs only if its margin is almost zero.

        Parameters
        ----------
        path : path
        trusted : list of str, default=None
            For models with classifiers of other libraries: names of types, as skops gives them, that may be built
            beside those that skops trusts. None refuses such a model; an empty list accepts what skops trusts.
        """
        return cls._restored(path, read(path, trusted))

    @classmethod
    def _restored(cls, path: FilePath, saved: SavedModel) -> Self:
        """Return the model that was read from a file."""
        if unknown := sorted(set(saved.parameters) - set(cls._get_param_names())):
            raise ValueError(
                f"{path} cannot be read: its model has a parameter {unknown[0]!r} that this version does not know: "
                "upgrade proxcode."
            )
        model = cls(**saved.parameters)
        model.n_features_in_ = saved.n_features
        if saved.feature_names is not None:
            model.feature_names_in_ = np.array(saved.feature_names, dtype=object)
        model._set_fitted(saved.learned)
        return model


def component_classes() -> dict[str, type[BaseEstimator]]:
    """Return the classes that a model file may name: all components defined in proxcode."""
    bases = (Proximity, Threshold, Weights, HashFunction, InitialGuess, Rounding, LocalSearch, Restarts, Annealing)
    classes = {kind.__name__: kind for kind in with_subclasses(bases) if kind.__module__.startswith("proxcode.")}
    # Earlier versions call it so.
    return {**classes, "SemidefiniteGuess": AlonNaorGuess}


def storable(parameters: Parameters) -> dict[str, Any]:
    """Return parameters with a `random_state` that is not an integer replaced by None."""
    seed = parameters.get("random_state")
    return {**parameters, "random_state": seed if isinstance(seed, numbers.Integral) else None}


def _upgraded(parameters: dict[str, Any], proximity: Proximity, fitted: HashFunction) -> dict[str, Any]:
    """Return the parameters of the present version that stand for those of earlier ones.

    1. A fit without labels was within a radius, and -1 was a label, which now has to be said.
    2. Renamed in format 2: `cut_points`, and `coupling`, which is now `refine_steps` of the hash function.
    """
    was_default = isinstance(proximity, WithinRadius) or getattr(proximity, "unlabelled", -1) is None
    if parameters["proximity"] is None and was_default:
        parameters["proximity"] = clone(proximity)
    if "cut_points" in parameters:
        parameters["max_samples"] = parameters.pop("cut_points")
    steps = parameters.pop("coupling", None)
    if steps is not None:
        # Not `or`: a forest that is not fitted has no truth value.
        if parameters["hash_function"] is None:
            parameters["hash_function"] = KernelHash()
        for hash_function in (parameters["hash_function"], fitted):
            if "refine_steps" in hash_function.get_params():
                hash_function.set_params(refine_steps=steps)
    return parameters
