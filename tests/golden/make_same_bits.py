"""Configurations whose bits must not change, and the file that records them: tests/golden/same_bits.npz.

The file was made from the results of commit 19a7c3d, the last before the package was restructured, in the interface of
that commit; the configurations here are the same in the present interface. For each configuration it holds

- of a model: the codes (at most the first 500), those of `encode`, five figures of the history, and the radius,
- of a cut: the partition, the value, the numbers of flips and sweeps, and the upper bound,
- of a peer: the codes,

and the environment (see `helpers.processor`): the last digits of BLAS and of compiled kernels differ between kinds of
processors.

The codes by radius with a subset of the samples were recorded again when far pairs began to be drawn. The share of
misplaced pairs and the paper's own method were removed when thresholds were restricted to alpha > 0. The code by vector
update was recorded again: since commit 9f117e3 its `SVMHash` solves the dual problem itself.

Where bits are meant to change, or for another kind of processor, make it again; with --add, only configurations that
the file does not hold are recorded, and those it holds stay as they are:

    PYTHONPATH=src:tests python tests/golden/make_same_bits.py [--add]
"""

import json
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from helpers.processor import environment
from proxcode import (
    GivenPairs,
    KernelHash,
    LinearHash,
    NewClassHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode import cut as signed
from proxcode.threshold import LogisticThreshold
from proxcode.weights import GradientWeights

FILE = Path(__file__).with_name("same_bits.npz")
# Largest number of codes of a configuration that are recorded.
MAX_CODES = 500
# Figures of each bit that are recorded.
FIGURES = ("alpha", "logistic_loss", "flips", "sweeps", "hash_accuracy")
# Peers in the order of `proxcode.peers.PEERS`.
PEER_NAMES = (
    *("LSH", "ITQ", "SH", "AGH", "AGH-2", "IMH-LE", "IMH-tSNE", "DGH", "LGHSR", "SGH", "Sign", "KMH", "BRE", "MLH"),
    *("SDH", "KSH", "COSDISH", "TSH", "Hadamard", "ClassifierCode", "WCW-ITQ", "LDA-ITQ", "CCA-ITQ", "FastHash"),
)


class Data:
    """Digits with labels, tags and pairs, and Gaussian blobs of many samples."""

    def __init__(self):
        X, y = load_digits(return_X_y=True)
        self.X, self.y = X, y = X[:400], y[:400]
        rng = np.random.default_rng(0)
        self.tags = np.column_stack([y % 2 == 0, y > 6, y % 3 == 0]).astype(int)
        first, second = rng.integers(0, 400, (2, 3000))
        self.pairs = np.column_stack([first, second, np.where(y[first] == y[second], 1, -1)])[first != second]
        self.blobs_y = np.arange(21000) % 30
        self.blobs = rng.normal(size=(30, 8))[self.blobs_y] + 0.6 * rng.normal(size=(21000, 8))
        self.many_y = np.arange(2600) % 1300
        self.missing = [None if i % 7 == 0 else int(label) for i, label in enumerate(y)]


class Graphs:
    """A sparse and a dense signed graph."""

    def __init__(self):
        rng = np.random.default_rng(1)
        i, j = rng.integers(0, 600, (2, 1800))
        keep = i != j
        half = sp.coo_array((rng.choice([-1.0, 1.0], 1800)[keep], (i[keep], j[keep])), shape=(600, 600)).tocsr()
        self.sparse = half + half.T
        dense = np.random.default_rng(2).normal(size=(80, 80))
        self.dense = dense + dense.T


data, graphs = cache(Data), cache(Graphs)


def code(n_bits, random_state=0, **parameters):
    return ProximityPreservingCode(n_bits, random_state=random_state, **parameters)


def radius_code(n_bits, **parameters):
    return code(n_bits, proximity=WithinRadius(), **parameters)


CODES = {
    "labels_130": lambda d: code(130).fit(d.X, d.y),
    "labels_1": lambda d: code(1, random_state=3).fit(d.X, d.y),
    "labels_float32": lambda d: code(24).fit(d.X.astype(np.float32), d.y),
    "missing_labels": lambda d: code(20).fit(d.X, d.missing),
    "shared_label": lambda d: code(32).fit(d.X, d.tags),
    "radius_70": lambda d: radius_code(70).fit(d.X),
    "radius_cosine": lambda d: code(16, proximity=WithinRadius(mean_neighbors=12, metric="cosine")).fit(d.X),
    "pairs_unknown": lambda d: code(24, proximity=GivenPairs(d.pairs)).fit(d.X),
    "pairs_others_far": lambda d: code(16, proximity=GivenPairs(d.pairs[d.pairs[:, 2] > 0], others="far")).fit(d.X),
    "paper_radius_vector_update": lambda d: radius_code(
        12,
        threshold=LogisticThreshold(),
        weights=GradientWeights(),
        hash_function=SVMHash(max_samples=200),
        cut=signed.Restarts(signed.SignedLaplacianGuess(), signed.VectorUpdate(), n_starts=2),
    ).fit(d.X),
    "linear_labels": lambda d: code(40, hash_function=LinearHash()).fit(d.X, d.y),
    "linear_radius": lambda d: radius_code(24, hash_function=LinearHash(ridge=1e-3)).fit(d.X),
    "kernel_unrefined_labels": lambda d: code(24, hash_function=KernelHash(refine_steps=0)).fit(d.X, d.y),
    "kernel_three_steps": lambda d: code(16, hash_function=KernelHash(n_landmarks=100, refine_steps=3)).fit(d.X, d.y),
    "kernel_unrefined_radius_subset": lambda d: radius_code(
        16, hash_function=KernelHash(refine_steps=0), max_samples=200
    ).fit(d.X),
    "no_error_correction": lambda d: code(20, error_correction=False).fit(d.X, d.y),
    "classifier": lambda d: code(8, hash_function=LogisticRegression(max_iter=2000)).fit(d.X / 16, d.y),
    "annealed_cuts": lambda d: radius_code(8, cut=signed.Annealing(n_sweeps=60)).fit(d.X),
    "subset_labels": lambda d: code(24, max_samples=150).fit(d.X, d.y),
    "subset_shared": lambda d: code(16, max_samples=150).fit(d.X, d.tags),
    "subset_radius": lambda d: radius_code(24, max_samples=100).fit(d.X),
    "pool_of_labels": lambda d: code(16, hash_function=KernelHash(n_landmarks=100)).fit(d.blobs, d.blobs_y),
    "many_classes": lambda d: code(12, hash_function=LinearHash()).fit(d.blobs[:2600], d.many_y),
    "loss_target": lambda d: code(64, loss_target=0.03).fit(d.X, d.y),
    "extended_labels": lambda d: code(16).fit(d.X, d.y).extend(40, d.X, d.y),
    "extended_radius": lambda d: radius_code(10).fit(d.X).extend(24, d.X),
    "rotation_70": lambda d: code(70).fit(d.X),
    "rotation_kernel_float32": lambda d: code(
        24, hash_function=RotationHash(n_landmarks=100, gamma=1e-3, n_components=30)
    ).fit(d.X.astype(np.float32)),
    "rotation_many_samples": lambda d: code(12, hash_function=RotationHash(n_landmarks=50)).fit(d.blobs),
    "reconstruction_70": lambda d: code(70, hash_function=ReconstructionHash()).fit(d.X),
    "reconstruction_13": lambda d: code(13, hash_function=ReconstructionHash(4, 2)).fit(d.X.astype(np.float32)),
    "new_classes": lambda d: code(24, proximity=SameLabel(new_classes=True)).fit(d.X, d.y),
    "new_classes_hash_of_shared_labels": lambda d: code(16, hash_function=NewClassHash()).fit(d.X, d.tags),
}


def annealing(**parameters):
    return signed.Annealing(**parameters)


CUTS = {
    "annealing_sparse": lambda g: signed.signed_cut(g.sparse, search=annealing(n_sweeps=400), random_state=0),
    "annealing_dense": lambda g: signed.signed_cut(g.dense, search=annealing(n_sweeps=300), random_state=1),
    "annealing_float32": lambda g: signed.signed_cut(
        g.dense.astype(np.float32), search=annealing(n_sweeps=50), random_state=1
    ),
    "annealing_short_runs": lambda g: signed.signed_cut(
        g.sparse, search=annealing(n_sweeps=2000, run_sweeps=300, reheat_sweeps=30, patience=3), random_state=5
    ),
    "restarts_bit": lambda g: signed.signed_cut(g.sparse, search=signed.Restarts(n_starts=5), random_state=0),
    "restarts_vector_laplacian": lambda g: signed.signed_cut(
        g.dense, search=signed.Restarts(signed.LaplacianGuess(), signed.VectorUpdate(), 2), random_state=0
    ),
    "restarts_projection": lambda g: signed.signed_cut(
        g.dense, search=signed.Restarts(signed.ProjectionGuess(), signed.BitUpdate(), 2), random_state=0
    ),
    "restarts_semidefinite": lambda g: signed.signed_cut(
        g.sparse, search=signed.Restarts(signed.AlonNaorGuess(), signed.NoUpdate(), 1), random_state=0
    ),
    "cycle_bound": lambda g: signed.signed_cut(
        g.sparse[:150, :150], search=annealing(n_sweeps=200), bound=signed.CycleBound(), random_state=0
    ),
    "semidefinite_bound": lambda g: signed.signed_cut(
        g.dense, search=annealing(n_sweeps=200), bound=signed.SemidefiniteBound(), random_state=0
    ),
    "max_cut": lambda g: signed.max_cut(abs(g.sparse), search=annealing(n_sweeps=200), random_state=0).cut,
    "frustration": lambda g: signed.frustration(g.sparse, search=annealing(n_sweeps=200), random_state=0).cut,
    "ising": lambda g: (
        signed.ising_ground_state(np.linspace(-1, 1, 80), g.dense, search=annealing(n_sweeps=200), random_state=0).cut
    ),
}


def record_codes(name):
    """Return the codes, the history and the radius of a configuration."""
    d = data()
    model = CODES[name](d)
    X = d.X if model.n_features_in_ == d.X.shape[1] else d.blobs
    return {
        "codes": model.codes_[:MAX_CODES],
        "encoded": model.encode(X[:MAX_CODES]),
        "history": np.array([[getattr(record, name) for name in FIGURES] for record in model.history_]),
        "radius": np.array(model.radius_),
    }


def record_cut(name):
    """Return the partition and the figures of a cut."""
    cut = CUTS[name](graphs())
    figures = np.array([cut.value, cut.flips, cut.sweeps, cut.upper_bound])
    return {"partition": cut.partition, "figures": figures}


def record_peer(name):
    """Return the codes of a peer."""
    from proxcode.peers import PEERS

    d = data()
    return {"codes": PEERS[name](16, random_state=0).fit(d.X, d.y).encode(d.X[:100])}


CONFIGURATIONS = {
    **{f"codes/{name}": (record_codes, name) for name in CODES},
    **{f"cut/{name}": (record_cut, name) for name in CUTS},
    **{f"peer/{name}": (record_peer, name) for name in PEER_NAMES},
}


def record(configuration):
    """Return the arrays of a configuration."""
    function, name = CONFIGURATIONS[configuration]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(name)


def write(recorded, path=FILE):
    """Write the arrays of all configurations: one array for all values of each type, and where to find them."""
    values, places = {}, {}
    for key, array in recorded.items():
        parts = values.setdefault(array.dtype.name, [])
        places[key] = [array.dtype.name, sum(part.size for part in parts), list(array.shape)]
        parts.append(array.ravel())
    arrays = {dtype: np.concatenate(parts) for dtype, parts in values.items()}
    np.savez_compressed(path, about=json.dumps({"environment": environment(), "places": places}), **arrays)


def read(path=FILE):
    """Return the environment and the arrays, by configuration and name."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(str(arrays["about"]))
    recorded = {
        key: arrays[dtype][start : start + int(np.prod(shape))].reshape(shape)
        for key, (dtype, start, shape) in about["places"].items()
    }
    return about["environment"], recorded


if __name__ == "__main__":
    kept = read()[1] if "--add" in sys.argv else {}
    held = {key.rpartition("/")[0] for key in kept}
    write(
        {
            **kept,
            **{
                f"{configuration}/{name}": array
                for configuration in CONFIGURATIONS
                if configuration not in held
                for name, array in record(configuration).items()
            },
        }
    )
