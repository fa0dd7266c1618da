"""Processor seconds to train the SVM of a bit: `SVMHash` against scikit-learn's `SVC`, and a warm start.

Targets are random halves of the ten classes of CIFAR-10 GIST. The kernel of `SVMHash` is computed once for all bits and
listed apart. The warm start takes the coefficients of the bit before, scaled to the new constraint.

python benchmarks/svm.py
python benchmarks/svm.py --samples 5000 20000     SVC is measured up to 5,000 samples
"""

import argparse
from time import process_time

import numpy as np
from sklearn.svm import SVC

from _common import gist
from proxcode.hashing import SVMHash
from proxcode.hashing._svm_kernels import optimise
from proxcode.hashing.svm_training import TOLERANCE, _minimum

N_BITS = 4
MOST_FOR_SVC = 5000


def timed(function):
    start = process_time()
    result = function()
    return process_time() - start, result


def warm_started(K, target, alpha):
    """Return the number of steps from the coefficients of another bit."""
    alpha = alpha.copy()
    sums = {sign: alpha[target == sign].sum() for sign in (-1, 1)}
    larger = max(sums, key=sums.get)
    alpha[target == larger] *= sums[-larger] / sums[larger]
    errors = (K @ (alpha * target).astype(np.float32)).astype(np.float64) - target
    return optimise(K, target, 1.0, TOLERANCE, alpha, errors, 10**9)[0]


def measure(X, y, n_samples):
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(X))[:n_samples]
    X, y = X[chosen], y[chosen]
    training = SVMHash(max_samples=n_samples).begin(X, np.random.default_rng(0))
    X, y = X[training.order], y[training.order]
    targets = [np.where(np.isin(y, rng.permutation(10)[:5]), 1, -1).astype(np.int8) for _ in range(N_BITS)]
    seconds, K = timed(lambda: training.kernel)
    print(f"{n_samples:,} samples: kernel {seconds:.2f} s")
    _minimum(K[:100, :100].copy(), targets[0][:100], 1.0)  # compiles the kernel
    alpha = None
    for target in targets:
        cold = optimise(K, target, 1.0, TOLERANCE, np.zeros(n_samples), -target.astype(np.float64), 10**9)[0]
        line = f"  steps {cold:,}" + ("" if alpha is None else f", warm start {warm_started(K, target, alpha):,}")
        seconds, (alpha, _) = timed(lambda target=target: _minimum(K, target, 1.0))
        line += f"; SVMHash {seconds:.3f} s"
        if n_samples <= MOST_FOR_SVC:
            of_svc, svc = timed(lambda target=target: SVC(gamma=training.gamma).fit(X, target))
            line += f", SVC {of_svc:.2f} s, {of_svc / seconds:.0f} times"
            line += f"; support vectors {(alpha > 0).sum()} and {svc.n_support_.sum()}"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", nargs="+", type=int, default=[5000, 20_000])
    X, y = gist()
    for n_samples in parser.parse_args().samples:
        measure(X, y, n_samples)


if __name__ == "__main__":
    main()
