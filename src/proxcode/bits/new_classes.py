"""Codes of classes that an update adds to a model.

The bits of the other classes are given, and all samples of a new class get one code. Bit by bit, given the code so far,

1. find beta, the threshold, and the weights W of all pairs, as in the loop over bits (Steps I and II),
2. class by class, choose the bit that maximises b'Wb: the sign of the sum of (Wb)_i over the samples i of the class.
"""

import numpy as np
from numpy.typing import NDArray

from proxcode.bits.rules import Rules
from proxcode.hamming import GrowingCode
from proxcode.pairs import SameClassPairs
from proxcode.utils.rows import Index, evenly_spaced

# Samples of other classes, and of each new class, that the code of a new class is found from.
MAX_KNOWN, MAX_NEW = 1000, 50


def new_class_codes(classes: Index, known_bits: NDArray[np.int8], new_classes: Index, rules: Rules) -> NDArray[np.int8]:
    """Return a code of -1 and +1 for each new class, shape (n_new_classes, n_bits).

    Parameters
    ----------
    classes : ndarray of int, shape (n_samples,)
        Samples of known classes, then those of new ones.
    known_bits : ndarray of int8, shape (n_known, n_bits)
        Bits, -1 or +1, of the samples of known classes.
    new_classes : ndarray of int
    rules : Rules

    Examples
    --------
    >>> known = np.repeat([[1, 1, 1, 1], [1, 1, -1, -1]], 5, axis=0).astype(np.int8)
    >>> new_class_codes(np.repeat([0, 1, 2], 5), known, np.array([2]), Rules.resolved(None, None, None))
    array([[-1, -1,  1, -1]], dtype=int8)
    """
    n_known, n_bits = known_bits.shape
    if len(new_classes) == 0:
        return np.empty((0, n_bits), np.int8)
    chosen = [evenly_spaced(n_known, MAX_KNOWN)]
    for label in new_classes:
        members = np.flatnonzero(classes == label)
        chosen.append(members[evenly_spaced(len(members), MAX_NEW)])
    bits = known_bits[chosen[0]]
    samples = np.concatenate(chosen)
    members_of = [classes[samples] == label for label in new_classes]
    pairs, code = SameClassPairs(classes[samples]), GrowingCode(len(samples))
    codes = np.empty((len(new_classes), n_bits), np.int8)
    for k in range(n_bits):
        coded = pairs.with_code(code)
        line = rules.threshold.line(*coded.counts())
        form, _ = coded.form(*rules.weights.tables(line.beta, k, line.scale))
        bit = np.zeros(len(samples))
        bit[: len(bits)] = bits[:, k]
        for number, members in enumerate(members_of):
            codes[number, k] = 1 if form.matvec(bit)[members].sum() >= 0 else -1
            bit[members] = codes[number, k]
        code.append(bit.astype(np.int8))
    return codes
