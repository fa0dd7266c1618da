"""Make the golden model files of the present format: python tests/golden/make.py. Those of earlier formats stay.

Each is a small model of the digits, beside the codes that it gives to the samples of `new_samples`. Those named
`*_coupling_1` and `*_uncoupled_1` were made by the last version that wrote format 1, with its parameters `coupling` and
`cut_points`.
"""

from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from proxcode import CodePipeline, KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.storage.container import FORMAT

FOLDER = Path(__file__).parent


def new_samples():
    return load_digits().data[1000:1200]


def training_data(name):
    """Return X and y of a golden model."""
    X, y = load_digits(return_X_y=True)
    n, dtype = {
        "linear_uncoupled": (80, np.float64),
        "default_uncoupled": (40, np.float64),
        "svm": (80, np.float32),
        "svm_uncoupled": (50, np.float32),
    }.get(name, (200, np.float64))
    return X[:n].astype(dtype), None if name == "kernel_radius" else y[:n]


def new_models():
    """Return the models of the present format, not fitted."""
    parameters = {"n_bits": 12, "random_state": 0}
    kernel = KernelHash(n_landmarks=24)
    return {
        "kernel_labels": ProximityPreservingCode(hash_function=kernel, **parameters),
        "kernel_radius": ProximityPreservingCode(proximity=WithinRadius(), hash_function=kernel, **parameters),
        "kernel_refined": ProximityPreservingCode(
            hash_function=KernelHash(n_landmarks=24, refine_steps=3), max_samples=150, **parameters
        ),
        "linear": ProximityPreservingCode(hash_function=LinearHash(), **parameters),
        "svm": ProximityPreservingCode(hash_function=SVMHash(), **parameters),
    }


def new_pipelines():
    """Return the pipelines of the present format, not fitted; all classes of `proxcode.pipeline.forms` are in one."""
    code = ProximityPreservingCode(n_bits=12, hash_function=LinearHash(refine_steps=0), random_state=0)
    reduced = [("scale", StandardScaler()), ("pca", PCA(20, whiten=True, svd_solver="arpack", random_state=0))]
    divided = [("range", MinMaxScaler()), ("nothing", "passthrough"), ("rows", Normalizer())]
    return {
        "pipeline_pca": CodePipeline([*reduced, ("code", code)]),
        "pipeline_svd": CodePipeline([*divided, ("svd", TruncatedSVD(20, random_state=0)), ("code", clone(code))]),
    }


if __name__ == "__main__":
    for name, model in {**new_models(), **new_pipelines()}.items():
        model.fit(*training_data(name)).save(FOLDER / f"{name}_{FORMAT}.proxcode")
        np.save(FOLDER / f"{name}_{FORMAT}.npy", model.encode(new_samples()))
