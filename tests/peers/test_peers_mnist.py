"""Peers on MNIST against what their authors' released code is known to have given in one run."""

import numpy as np
import pytest

from proxcode import KernelHash
from proxcode.hamming import pack
from proxcode.metrics import mean_average_precision, ranking_counts
from proxcode.peers import PEERS

TOLERANCE = 0.04
AUTHORS = [
    ("SH", {}, (0.27, 0.33)),
    ("SGH", {}, (0.38, 0.42)),
    ("ITQ", {}, (0.41, 0.45)),
    ("AGH", {}, (0.42, 0.49)),
    ("LGHSR", {}, (0.44, 0.50)),
    ("IMH-LE", {}, (0.55, 0.59)),
    ("AGH-2", {}, (0.58, 0.61)),
    ("IMH-tSNE", {}, (0.63, 0.64)),
    ("KSH", {}, (0.81, 0.78)),
    ("COSDISH", {}, (0.82, 0.66)),
    ("SDH", {"n_anchors": 300}, (0.87, 0.86)),
    ("Hadamard", {"hash_function": KernelHash(n_landmarks=300)}, (0.88, 0.86)),
]
MEASURED = [
    ("SDH", {}, True, (0.923, 0.889)),
    ("Hadamard", {}, True, (0.927, 0.903)),
    ("TSH", {"hash_function": KernelHash()}, True, (0.937, 0.915)),
    ("BRE", {}, False, (0.388, 0.411)),
    ("BRE", {}, True, (0.576, 0.565)),
    ("MLH", {}, False, (0.492, 0.504)),
    ("MLH", {}, True, (0.752, 0.727)),
    ("KMH", {}, False, (0.345, 0.383)),
]


def figures(model, mnist, with_classes=True):
    """Full-ranking mAP of the test samples, with the training samples and with the test samples themselves as base."""
    X, y, X_test, y_test = mnist
    test = model.fit(X, y if with_classes else None).encode(X_test)
    train = pack(model.training_bits_) if hasattr(model, "training_bits_") else model.encode(X)
    among_tests = ranking_counts(test, test, y_test, y_test, same_set=True)
    return mean_average_precision(*ranking_counts(test, train, y_test, y)), mean_average_precision(*among_tests)


@pytest.mark.parametrize(("name", "parameters", "authors"), AUTHORS, ids=[name for name, *_ in AUTHORS])
def test_figures_are_those_of_the_authors_code(name, parameters, authors, mnist):
    model = PEERS[name](n_bits=32, random_state=0, **parameters)
    assert figures(model, mnist) == pytest.approx(authors, abs=TOLERANCE)


def test_figures_of_lsh_are_those_of_the_authors_code_in_the_mean_over_seeds(mnist):
    of_seeds = [figures(PEERS["LSH"](n_bits=32, random_state=seed), mnist) for seed in range(6)]
    assert np.mean(of_seeds, axis=0) == pytest.approx((0.24, 0.29), abs=TOLERANCE)


@pytest.mark.parametrize(("name", "parameters", "with_classes", "measured"), MEASURED)
def test_figures_that_the_authors_code_does_not_tell_are_as_measured(name, parameters, with_classes, measured, mnist):
    model = PEERS[name](n_bits=32, random_state=0, **parameters)
    assert figures(model, mnist, with_classes) == pytest.approx(measured, abs=TOLERANCE)
