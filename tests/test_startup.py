"""Start-up costs, in fresh processes."""

import resource
import subprocess
import sys

HEAVY = ("numba", "scipy", "sklearn", "matplotlib", "faiss")
LIGHT = f"import sys, proxcode; sys.exit(' '.join(m for m in {HEAVY} if m in sys.modules) or 0)"
FIRST_FIT = (
    "import numpy as np; from proxcode import ProximityPreservingCode\n"
    "rng = np.random.default_rng(0)\n"
    "X, y = rng.normal(size=(1000, 64)), rng.integers(0, 10, 1000)\n"
    "ProximityPreservingCode(n_bits=16, random_state=0).fit(X, y)"
)


def best_of_three(command):
    """Seconds of processor time: other work on the machine does not count."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def test_import_is_light():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)
    assert best_of_three("import proxcode") < 0.5


def test_first_fit_with_cached_kernels_takes_under_three_seconds():
    best_of_three(FIRST_FIT)  # fills the cache
    imports_alone = best_of_three("import sklearn.neighbors, numba")  # 1.7 s on an idle machine
    assert best_of_three(FIRST_FIT) < 3 * max(1.0, imports_alone / 1.7)


def test_every_public_name_can_be_imported():
    import proxcode

    for name in proxcode.__all__:
        assert getattr(proxcode, name).__doc__, name
    assert set(proxcode.__all__) <= set(dir(proxcode))
