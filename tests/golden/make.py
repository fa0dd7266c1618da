"""Make the golden model files of a format version: python tests/golden/make.py. Those of old versions stay as they are.

Each is a small model of the digits, beside the codes that it gave to the points of `new_points`.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from proxcode import KernelHash, LinearHash, ProximityPreservingCode, SVMHash
from proxcode.storage.container import FORMAT

FOLDER = Path(__file__).parent


def new_points():
    return load_digits().data[1000:1200]


def models():
    X, y = load_digits(return_X_y=True)
    parameters = {"n_bits": 12, "random_state": 0}
    kernel = KernelHash(n_landmarks=24)
    yield "kernel_labels", ProximityPreservingCode(hash_function=kernel, **parameters).fit(X[:200], y[:200])
    yield "kernel_radius", ProximityPreservingCode(hash_function=kernel, **parameters).fit(X[:200])
    yield "linear", ProximityPreservingCode(hash_function=LinearHash(), **parameters).fit(X[:200], y[:200])
    few = X[:80].astype(np.float32)
    yield "svm", ProximityPreservingCode(hash_function=SVMHash(), **parameters).fit(few, y[:80])


if __name__ == "__main__":
    for name, model in models():
        model.save(FOLDER / f"{name}_{FORMAT}.proxcode")
        np.save(FOLDER / f"{name}_{FORMAT}.npy", model.encode(new_points()))
