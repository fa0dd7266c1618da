"""Any classifier of scikit-learn as a hash function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from proxcode.cut.result import Partition
from proxcode.hashing.base import Labels, Matrix, PerBitHash, PerBitTraining, Vector
from proxcode.storage.state import State
from proxcode.utils.rows import ALL, Index, Rows


class ClassifierHash(PerBitHash):
    """Any scikit-learn classifier, trained separately for each bit.

    Parameters
    ----------
    classifier : estimator
        Classifier with `decision_function`, `predict_proba` or at least `predict`.
    max_samples : int, default=None
        Largest number of training samples for each bit, in an order drawn once. None uses all.

    Attributes
    ----------
    classifiers_ : list of estimators
        The classifier of each bit.
    """

    def __init__(self, classifier: Any = None, max_samples: int | None = None) -> None:
        self.classifier = classifier
        self.max_samples = max_samples

    def begin(
        self, X: Matrix, rng: np.random.Generator, *, labels: Labels | None = None, rows: Rows = ALL
    ) -> PerBitTraining:
        if self.classifier is None:
            raise ValueError(
                "classifier=None: expected a scikit-learn classifier, such as ClassifierHash(LogisticRegression())."
            )
        return super().begin(X, rng, labels=labels, rows=rows)

    def train(self, X: Matrix, rows: Index, target: Partition, seed: int) -> Any:
        """Train the classifier of a bit; a constant bit gets a constant classifier."""
        if len(np.unique(target)) == 1:
            return DummyClassifier(strategy="most_frequent").fit(X[rows], target)
        classifier = clone(self.classifier)
        parameters = classifier.get_params()
        unset = [name for name, value in parameters.items() if name.endswith("random_state") and value is None]
        return classifier.set_params(**dict.fromkeys(unset, seed)).fit(X[rows], target)

    def margins(self, model: Any, X: Matrix) -> Vector:
        """Return the decision function, else the probability of +1 minus 1/2, else the prediction."""
        if len(model.classes_) == 1:
            return np.full(len(X), float(model.classes_[0]))
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(X), dtype=np.float64)
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X)[:, 1] - 0.5, dtype=np.float64)
        return np.asarray(model.predict(X), dtype=np.float64)

    def state(self) -> State:
        return State(objects=self.classifiers_)

    def restore(self, state: State) -> None:
        self.classifiers_ = list(state.objects)
        self.n_bits_ = len(self.classifiers_)
