"""Updates of a ridge hash function: it learns from further samples, and codes that are stored stay valid.

1. Known samples are told from further ones by their digests. Further samples are added to the sums of the regression;
   samples whose labels have changed are moved in them (`memory.py`).
2. The regression of the labels, with a score for each new class, and the posteriors of the classes are those of all
   samples so far.
3. The bits b_k are directions among the posteriors, and these have changed. Each bit is fitted again, by least squares:
   at the exemplars to the margins that it had before, at samples of a new class to the bit of the code that the class
   shall have (`bits/new_classes.py`).

Bits of samples of old classes change only where their margins are small.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from proxcode.cut.result import signs_of
from proxcode.hashing.base import HashFunction, Matrix, Vector
from proxcode.hashing.exemplars import choose_exemplars, further_exemplars
from proxcode.hashing.features import (
    FeatureMap,
    Regression,
    TriangularSolver,
    along_inputs,
    factor_of,
    leave_one_out,
)
from proxcode.hashing.memory import Memory, row_digests
from proxcode.hashing.posteriors import Posteriors, Unchanged, fit_posteriors
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.rows import Index
from proxcode.utils.samples import Samples, select

# Exemplars of a block: there are few of them, for all cores.
EXEMPLAR_BLOCK = 512
# Penalty of a bit that is fitted again, relative to the mean square of its functions.
REFIT_RIDGE = 1e-6


class RegressionHash(HashFunction):
    """A hash function on a ridge regression: what an update reads and replaces.

    Attributes
    ----------
    memory_ : Memory or None
        What an update needs of the training samples.
    ridge_, coef_, intercept_, posteriors_, directions_, label_codes_
        See `RidgeHash`.
    """

    memory_: Memory | None = None
    ridge_: float
    coef_: Matrix
    intercept_: Vector
    directions_: Matrix
    posteriors_: Posteriors | Unchanged | None
    label_codes_: Vector | None = None

    @abstractmethod
    def _inputs(self, X: Matrix) -> Matrix:
        """Return f(x) for each row, a new array in C order."""

    @abstractmethod
    def _input_root(self) -> Matrix | None:
        """Return R, upper triangular; None is the identity."""

    def without_memory(self) -> Self:
        """Return a copy for computations elsewhere, which need no sums."""
        light = copy(self)
        light.memory_ = None
        return light

    def feature_map(self, dtype: Any) -> tuple[FeatureMap, Matrix | None]:
        """Return what computes the features of samples, and R."""
        kept = None if self.memory_ is None else self.memory_.root
        root = self._input_root() if kept is None else kept
        return FeatureMap(self.without_memory()._inputs, None if root is None else TriangularSolver(root, dtype)), root


@dataclass
class RidgeUpdate:
    """An update of which the codes of new classes are still to be found.

    Attributes
    ----------
    new_classes : ndarray of int
        Classes that need a code.
    classes : ndarray of int, shape (n,)
        Classes of the exemplars that bits are fitted to again: those with known margins, then those of `new_classes`.
    margins : ndarray of shape (n_known, n_bits)
        Margins that the exemplars shall have: those from before the update, or those of the code of their class.
    n_added, n_relabelled, n_repeated : int
        Numbers of samples that are new, that have another label than before, and that change nothing: known samples
        with the same label, and repeated rows.
    """

    new_classes: Index
    classes: Index
    margins: Vector
    n_added: int
    n_relabelled: int
    n_repeated: int
    _before: RegressionHash
    _memory: Memory
    _coef: Matrix
    _intercept: Vector
    _posteriors: Posteriors
    _values: Matrix

    def finish(self, codewords: Matrix) -> RegressionHash:
        """Return the updated hash function; the one before is not changed.

        Parameters
        ----------
        codewords : ndarray of shape (n_new_classes, n_bits)
            Codes of -1 and +1 that the new classes shall have.
        """
        units = np.abs(self.margins).mean(axis=0)
        of_new = np.searchsorted(self.new_classes, self.classes[len(self.margins) :])
        targets = np.vstack([self.margins, codewords[of_new] * units])
        counts = np.bincount(self.classes, minlength=self._memory.n_classes)
        # Classes count by the numbers of their samples, not of their exemplars.
        weights = (self._memory.class_counts / np.maximum(counts, 1))[self.classes]
        after = copy(self._before)
        with one_blas_thread:
            after.directions_ = _fitted_directions(self._values, targets, weights)
        after.coef_, after.intercept_, after.posteriors_ = self._coef, self._intercept, self._posteriors
        after.label_codes_ = self._memory.label_codes(after.directions_, after.label_codes_)
        after.memory_ = _thinned(self._memory)
        return after


def begin_update(before: RegressionHash, X: Matrix | Samples, classes: Index, n_classes: int) -> RidgeUpdate | None:
    """Add samples to the regression of a hash function; return None where nothing is new.

    Parameters
    ----------
    before : RegressionHash
        With a memory; not changed.
    X : ndarray or Samples of shape (n, n_features)
        Samples in their units.
    classes : ndarray of int, shape (n,)
        Their classes, numbered as before the update; larger numbers are new classes.
    n_classes : int
        Number of classes after the update.

    Raises
    ------
    ValueError
        If no exemplar is left that tells what the bits were.
    """
    known: Memory = before.memory_  # type: ignore[assignment]
    digests = row_digests(X)
    # A sample that is named several times counts once, with its last label.
    _, last = np.unique(digests[::-1], return_index=True)
    named = np.sort(len(digests) - 1 - last)
    is_known, is_changed = known.compared(digests[named], classes[named])
    further, changed = named[~is_known], named[is_changed]
    if len(further) + len(changed) == 0:
        return None
    with one_blas_thread:
        compute, root = before.feature_map(X.dtype)
        memory = known.with_classes(n_classes)
        if len(changed):
            memory = memory.relabelled(select(X, changed), classes[changed], digests[changed], compute)
        if len(further):
            memory = memory.with_samples(select(X, further), classes[further], digests[further], compute)
        # Relabelled samples become exemplars where their class has none.
        lacks = np.bincount(memory.exemplar_classes, minlength=n_classes) == 0
        candidates = np.sort(np.append(further, changed[lacks[classes[changed]]]))
        owned = memory.exemplar_classes
        chosen = candidates[further_exemplars(classes[candidates], owned, memory.class_counts)]
        memory = replace(
            memory,
            exemplars=np.vstack([memory.exemplars, np.asarray(select(X, chosen)[:])]),
            exemplar_classes=np.append(memory.exemplar_classes, classes[chosen]),
            is_updated=True,
            root=root,
        )
        regression = regression_of(memory, before.ridge_)
        signed = np.full((len(memory.exemplars), n_classes), -1, np.int8)
        signed[np.arange(len(signed)), memory.exemplar_classes] = 1
        label_mean = memory.label_mean.astype(X.dtype)
        scores = leave_one_out(compute, regression, memory.exemplars, signed - label_mean, EXEMPLAR_BLOCK)
        along_features = solve_triangular(regression.upper, regression.along_psi)
        weights = 1.0 / memory.class_counts[memory.exemplar_classes] if _is_balanced(before.posteriors_) else None
        posteriors = fit_posteriors(scores, signed, weights)
        values = posteriors(scores)
        memory = replace(memory, exemplar_values=values)
        taught, margins, new_classes = _margins_to_keep(before, memory)
        if len(margins) == 0:
            raise ValueError(
                f"y gives new labels to all {len(known.exemplars)} samples that the model keeps as exemplars of its "
                "classes: pass further samples of these classes too, or fit a new model."
            )
        coef = np.ascontiguousarray(along_inputs(root, along_features).T)
        intercept = -regression.mean @ along_features
    return RidgeUpdate(
        new_classes=new_classes,
        classes=memory.exemplar_classes[taught],
        margins=margins,
        n_added=len(further),
        n_relabelled=len(changed),
        n_repeated=len(X) - len(further) - len(changed),
        _before=before,
        _memory=memory,
        _coef=coef,
        _intercept=intercept,
        _posteriors=posteriors,
        _values=values[taught].astype(np.float64),
    )


def _margins_to_keep(before: RegressionHash, memory: Memory) -> tuple[Index, Vector, Index]:
    """Return the exemplars to fit bits to, the margins that the first of them shall have, and classes without a code.

    1. Exemplars from before the update that have the same class keep their margins; others of that class need none.
    2. A class without such exemplars keeps the code that it had once, or takes that of a class which it replaces: one
       that has lost all its samples to it.
    3. A class that has neither is new.
    """
    known: Memory = before.memory_  # type: ignore[assignment]
    margins = known.exemplar_values @ before.directions_[:, :-1].T + before.directions_[:, -1]
    earlier, now = known.exemplar_classes, memory.exemplar_classes
    kept = np.flatnonzero(earlier == now[: len(earlier)])
    units = np.abs(margins).mean(axis=0)
    taught, targets, new_classes = [kept], [margins[kept]], []
    for label in np.setdiff1d(now, now[kept]):
        members = np.flatnonzero(now == label)
        moved = members[members < len(earlier)]
        replaced = moved[memory.class_counts[earlier[moved]] == 0]
        if before.label_codes_ is not None and label < len(before.label_codes_) and before.label_codes_[label].any():
            code = signs_of(before.label_codes_[label])
        elif len(replaced):
            code = signs_of(signs_of(margins[replaced]).mean(axis=0))
        else:
            new_classes.append(int(label))
            continue
        taught.append(members)
        targets.append(np.tile(code * units, (len(members), 1)))
    taught += [np.flatnonzero(np.isin(now, new_classes))]
    return np.concatenate(taught), np.vstack(targets), np.array(new_classes, np.int64)


def _is_balanced(posteriors: Posteriors | Unchanged | None) -> bool:
    return isinstance(posteriors, Posteriors) and isinstance(posteriors.slope, np.ndarray)


def regression_of(memory: Memory, ridge: float) -> Regression:
    """Return the regression of the labels from the sums of a memory."""
    upper = factor_of(memory.gram, ridge, memory.n)
    return Regression(memory.n, memory.mean, upper, solve_triangular(upper, memory.moments, trans=1))


def _fitted_directions(values: Matrix, targets: Matrix, weights: Vector) -> Matrix:
    """Return directions and offsets of bits, fitted to margins by weighted least squares."""
    functions = np.hstack([values, np.ones((len(values), 1))])
    weighted = functions * (weights / weights.sum())[:, None]
    normal = weighted.T @ functions
    penalised = np.arange(len(normal) - 1)
    normal[penalised, penalised] += REFIT_RIDGE * np.trace(normal) / len(normal)
    directions: Matrix = cho_solve(cho_factor(normal), weighted.T @ targets).T
    return np.ascontiguousarray(directions)


def _thinned(memory: Memory) -> Memory:
    """Return a memory with no more exemplars than the sizes of its classes allow."""
    kept = choose_exemplars(memory.exemplar_classes, memory.class_counts)
    return replace(
        memory,
        exemplars=memory.exemplars[kept],
        exemplar_classes=memory.exemplar_classes[kept],
        exemplar_values=memory.exemplar_values[kept],
    )
