"""Numba kernels of hash functions; they are serial and release Python's lock."""

import numpy as np

from proxcode.utils.jit import kernel


@kernel
def descend(gram, fields, codes, flips):
    """Lower c'Gc - 2 f'c of each code by flips of single bits; of several descents keep the best.

    Parameters
    ----------
    gram : ndarray of float32, shape (p, p)
    fields : ndarray of float32, shape (n, p)
    codes : ndarray of int8, shape (n, p)
        -1 or +1; overwritten.
    flips : ndarray of int64, shape (n_descents, n_flipped)
    """
    n, p = codes.shape
    coupled, code = np.empty(p, np.float32), np.empty(p, np.float32)
    tolerance = np.float32(1e-5) * np.trace(gram) / np.float32(p)
    for i in range(n):
        least = np.float32(np.inf)
        for descent in range(len(flips) + 1):
            code[:] = codes[i]
            if descent > 0:
                for b in flips[descent - 1]:
                    code[b] = -code[b]
            coupled[:] = 0
            for b in range(p):
                coupled += gram[b] * code[b]
            while True:
                best, gain = -1, tolerance
                for b in range(p):
                    lower = code[b] * (coupled[b] - fields[i, b]) - gram[b, b]
                    if lower > gain:
                        best, gain = b, lower
                if best < 0:
                    break
                step = np.float32(-2) * code[best]
                code[best] = -code[best]
                coupled += gram[best] * step
            energy = np.float32(0)
            for b in range(p):
                energy += code[b] * (coupled[b] - 2 * fields[i, b])
            if energy < least:
                least = energy
                for b in range(p):
                    codes[i, b] = np.int8(code[b])
