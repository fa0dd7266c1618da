"""Classifiers for tests of hash functions."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

FOREST = RandomForestClassifier(n_estimators=5, n_jobs=1)


class Stump(ClassifierMixin, BaseEstimator):
    """A classifier that implements `predict` alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.cut_ = np.median(X[:, 0])
        return self

    def predict(self, X):
        return np.where(X[:, 0] > self.cut_, self.classes_[-1], self.classes_[0])


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that stores its training data."""

    def fit(self, X, y):
        self.classes_, self.X_, self.y_ = np.unique(y), X, y
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1, -1)
