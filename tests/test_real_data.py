"""The paper's setting on real data, small enough for every run."""

import numpy as np
import pytest

from proxcode import ProximityPreservingCode
from proxcode.peers import LSH


@pytest.fixture(scope="module")
def gist(data_folder):
    data = np.load(data_folder / "cifar10_gist512.npz")
    order = np.random.default_rng(0).permutation(len(data["x"]))[:9000]
    return data["x"][order].astype(np.float32), data["y"][order]


def test_labels_give_codes_that_random_hyperplanes_do_not(gist):
    X, y = gist
    model = ProximityPreservingCode(n_bits=24, random_state=0).fit(X[:8000], y[:8000])
    lsh = LSH(n_bits=24, random_state=0).fit(X[:8000])
    model_score = model.score(X[8000:], y[8000:])
    assert model_score > 0.24
    model.encode = lsh.encode
    assert model_score > model.score(X[8000:], y[8000:]) + 0.1


def test_memory_stays_far_below_a_dense_matrix(data_folder, tmp_path):
    import subprocess
    import sys

    script = (
        "import sys, numpy as np; from proxcode import ProximityPreservingCode\n"
        "data = np.load(sys.argv[1]); X, y = data['x'][:40000].astype(np.float32), data['y'][:40000]\n"
        "ProximityPreservingCode(n_bits=3, random_state=0).fit(X, y)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    path = data_folder / "cifar10_gist512.npz"
    output = subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True, text=True).stdout
    assert int(output) / 2**20 < 1.5  # GiB; W in single precision would be 6
