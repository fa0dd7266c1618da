"""Bits for classes that are not in `fit`: rotated components of samples that a map learned from labels has reshaped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from proxcode.hashing.base import HashTraining, Labels, Matrix, QueryTables, Vector
from proxcode.hashing.class_map import STRENGTHS, ClassMap, Strength, fit_class_map
from proxcode.hashing.joint import JointHash
from proxcode.hashing.rotation import RotationHash
from proxcode.storage.state import State
from proxcode.utils.rows import ALL, Index
from proxcode.utils.validation import check_component

# Number of components up to which there is one for each bit.
FEW = 32


class NewClassHash(JointHash):
    """Codes for classes that come later: a map of the samples learned from labels, then `RotationHash`.

    The map shortens directions in which samples of one class vary and lengthens those in which the known classes
    differ. Its strength is chosen by leaving classes out; where labels do not help left-out classes, samples are not
    mapped, and the code is that of `RotationHash`.

    Parameters
    ----------
    rotation : RotationHash, default=None
        Learns the bits from mapped samples. None is a `RotationHash` without a kernel, and with fewer components than
        bits in codes of more than 32 bits: half as many from 64 bits on. What tells classes apart has few dimensions.

    Attributes
    ----------
    class_map_ : ClassMap
    rotation_ : RotationHash
    decoder_ : ByteDecoder
        Turns codes back into mapped samples.
    """

    def __init__(self, rotation: RotationHash | None = None) -> None:
        self.rotation = rotation

    def fit_bits(self, X: Matrix, labels: Labels | None, n_bits: int, rng: np.random.Generator) -> None:
        """Learn the map from samples with one label, then the bits from mapped samples."""
        X, n_components = X[ALL], max(min(n_bits, FEW), n_bits // 2)
        default = RotationHash(gamma=0.0, n_components=n_components)
        rotation = default if self.rotation is None else self.rotation
        check_component("rotation", rotation, RotationHash, "RotationHash()")
        self.rotation_ = clone(rotation)
        self.class_map_ = fit_class_map(*_of_one_class(X, labels), rng)
        self.rotation_.fit_bits(self.class_map_(X), None, n_bits, rng)
        self.decoder_, self.n_planned_ = self.rotation_.decoder_, n_bits

    def margins(self, X: Matrix) -> Vector:
        return self.rotation_.margins(self.class_map_(X))

    def query_tables(self, X: Matrix) -> QueryTables | None:
        return super().query_tables(self.class_map_(X))

    def finish(self, training: HashTraining, n_bits: int) -> None:
        super().finish(training, n_bits)
        self.rotation_.n_bits_ = n_bits

    def state(self) -> State:
        """Return the map and the state of the rotation."""
        rotation = self.rotation_.state()
        mean, directions, strength, scores = self.class_map_
        arrays = {**rotation.arrays, "map_scores": scores}
        if mean is not None and directions is not None:
            arrays = {**arrays, "map_mean": mean, "map_directions": directions}
        return State({**rotation.values, "shrinkage": strength.shrinkage, "tau": strength.tau}, arrays)

    def restore(self, state: State) -> None:
        rotation = RotationHash() if self.rotation is None else self.rotation
        check_component("rotation", rotation, RotationHash, "RotationHash()")
        mean = directions = None
        n_mapped = state.sizes.get("n_features")
        if "map_directions" in state.arrays:
            mean = state.array("map_mean", "n_features")
            directions = state.array("map_directions", "n_features", "n_mapped")
            n_mapped = directions.shape[1]
        strength = Strength(state.number("shrinkage", at_least=0), state.number("tau", at_least=0))
        scores = state.array("map_scores", "n_rounds", len(STRENGTHS))
        self.class_map_ = ClassMap(mean, directions, strength, scores)
        self.rotation_ = clone(rotation)
        # The rotation is one of mapped samples.
        self.rotation_.restore(replace(state, sizes={} if n_mapped is None else {"n_features": n_mapped}))
        self.n_bits_, self.n_planned_ = self.rotation_.n_bits_, self.rotation_.n_planned_
        self.decoder_ = self.rotation_.decoder_


def _of_one_class(X: Matrix, labels: Labels | None) -> tuple[Matrix, Index]:
    """Return the samples with exactly one label, and their labels; all samples as one class without any."""
    if labels is None:
        return X, np.zeros(len(X), np.int64)
    rows, columns = (labels > 0).nonzero()
    is_known = np.bincount(rows, minlength=len(X)) == 1
    if not is_known.any():
        return X, np.zeros(len(X), np.int64)
    classes = np.empty(len(X), np.int64)
    classes[rows] = columns
    return X[is_known], classes[is_known]
