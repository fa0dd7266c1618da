"""Any classifier of scikit-learn as a hash function."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from proxcode.cut.result import Partition
from proxcode.hashing.base import HashFunction, Labels, Matrix, Rows, Vector
from proxcode.storage.state import State


class ClassifierHash(HashFunction):
    """Any scikit-learn classifier, trained anew for each bit.

    Parameters
    ----------
    classifier : estimator
        With `decision_function`, `predict_proba` or at least `predict`.
    max_samples : int, default=None
        Train on at most so many points, drawn once; None is all.

    Attributes
    ----------
    classifiers_ : list of estimators, one per bit
    """

    def __init__(self, classifier: Any = None, max_samples: int | None = None) -> None:
        self.classifier = classifier
        self.max_samples = max_samples

    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: Labels | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Draw the training points."""
        X = X if rows is None else X[rows]
        if self.classifier is None:
            raise ValueError("ClassifierHash has no classifier: give one, e.g. ClassifierHash(LogisticRegression()).")
        if not hasattr(self, "classifiers_"):
            self.classifiers_: list[Any] = []
            self.n_bits_ = 0
        if self.max_samples is not None and self.max_samples < 2:
            raise ValueError(f"max_samples={self.max_samples}: a classifier needs at least 2 points.")
        n_samples = len(X) if self.max_samples is None else min(len(X), self.max_samples)
        self._X, self._order = X, rng.permutation(len(X))
        self._seed = int(rng.integers(2**31))
        self._check_size(n_samples)

    def _check_size(self, n: int) -> None:
        """Warn where training on n points takes too long."""

    def learn(self, side: Partition, points: Rows | None = None) -> Vector:
        """Train the classifier of the next bit."""
        everyone = np.arange(len(self._X)) if points is None else points
        drawn = np.argsort(self._order[everyone])[: self.max_samples]  # the first ones of an order drawn once
        drawn.sort()
        self.classifiers_.append(self._train(everyone[drawn], side[drawn]))
        self.n_bits_ += 1
        return self.training_margins(self.n_bits_ - 1)

    def _train(self, rows: Rows, target: Partition) -> Any:
        """Return the classifier of the next bit, trained on some of the points."""
        constant = len(np.unique(target)) == 1
        classifier = DummyClassifier(strategy="most_frequent") if constant else self._new_classifier()
        return classifier.fit(self._X[rows], target)

    def training_margins(self, bit: int) -> Vector:
        """Return the margins of a bit at the training points."""
        return _margins_of(self.classifiers_[bit], self._X)

    def _new_classifier(self) -> Any:
        classifier = clone(self.classifier)
        seeds = {name: value for name, value in classifier.get_params().items() if name.endswith("random_state")}
        seed = (self._seed + self.n_bits_) % 2**31
        return classifier.set_params(**{name: seed for name, value in seeds.items() if value is None})

    def truncate(self, n_bits: int) -> None:
        """Drop the classifiers of later bits."""
        self.classifiers_ = self.classifiers_[:n_bits]
        self.n_bits_ = n_bits

    def finish(self) -> None:
        """Drop the training points."""
        del self._X, self._order, self._seed

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits."""
        return np.column_stack([_margins_of(classifier, X) for classifier in self.classifiers_[:n_bits]])

    def state(self) -> State:
        """Return the classifiers."""
        return State(objects=self.classifiers_)

    def restore(self, state: State) -> None:
        """Take classifiers over."""
        self.classifiers_ = list(state.objects)
        self.n_bits_ = len(self.classifiers_)


def _margins_of(classifier: Any, X: Matrix) -> Vector:
    """Signed margins: the decision function, else the probability of +1 less a half, else the prediction."""
    if len(classifier.classes_) == 1:
        return np.full(len(X), float(classifier.classes_[0]))
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X), dtype=np.float64)
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X)[:, 1] - 0.5, dtype=np.float64)
    return np.asarray(classifier.predict(X), dtype=np.float64)
