"""What a fit learns, an extension continues and an update changes."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from proxcode.hamming import Codes, unpack
from proxcode.hashing import HashFunction
from proxcode.metrics import BitRecord
from proxcode.proximity import Proximity
from proxcode.utils.validation import check_integer

# Training codes that enter the digest of a bit, whose cost does not grow with their number, and digits of the digest.
DIGEST_CODES, DIGEST_DIGITS = 1024, 16


class Update(NamedTuple):
    """What one call of `update` learned.

    Attributes
    ----------
    n_added : int
        Number of samples that the model did not know.
    n_relabelled : int
        Number of samples that the model knew with another label.
    n_repeated : int
        Number of samples that the model knew with the same label.
    n_unlabelled : int
        Number of samples without a label, which are ignored.
    new_classes : list
        Labels that the model did not know.
    """

    n_added: int
    n_relabelled: int
    n_repeated: int
    n_unlabelled: int
    new_classes: list[Any]

    @classmethod
    def from_values(cls, values: Any) -> Update:
        """Return the record of a file. Raises ValueError or TypeError for what is none."""
        if not isinstance(values, list) or len(values) != len(cls._fields) or not isinstance(values[-1], list):
            raise ValueError(f"its updates hold {values!r}: save the model again")
        added, relabelled, repeated, unlabelled = (check_integer("its updates", count, 0) for count in values[:-1])
        return cls(added, relabelled, repeated, unlabelled, values[-1])


@dataclass
class Learned:
    """What a fit learns, and an extension continues.

    Attributes
    ----------
    seed : int
    data : dict of str to str or None
        Fingerprints of X and y.
    proximity : Proximity
    hash_function : HashFunction
    history : list of BitRecord
    codes : ndarray of uint8
        Packed codes of the training samples; empty before the first bit.
    unit : float
        What samples are multiplied by before they are hashed.
    training_loss : float
        Share of misplaced pairs in `codes`; NaN where a file of an earlier version does not hold it.
    n_paired : int
        Number of samples whose pairs took part in learning; 0 where a file of an earlier version does not hold it.
    updates : list of Update
    bit_digests : list of str
        Digest of each bit at the training samples, of when it was learned.
    """

    seed: int
    data: dict[str, str | None]
    proximity: Proximity
    hash_function: HashFunction
    history: list[BitRecord] = field(default_factory=list)
    codes: Codes = field(default_factory=lambda: np.empty((0, 0), np.uint8))
    unit: float = 1.0
    training_loss: float = math.nan
    n_paired: int = 0
    updates: list[Update] = field(default_factory=list)
    bit_digests: list[str] = field(default_factory=list)

    def digest_bits(self) -> None:
        """Add the digests of bits that have none yet, from their figures and the codes of the first samples."""
        start = len(self.bit_digests)
        bits = unpack(self.codes[:DIGEST_CODES], len(self.history))
        for record, bit in zip(self.history[start:], bits.T[start:], strict=True):
            digest = hashlib.sha256(json.dumps(record.numbers()).encode() + np.packbits(bit).tobytes())
            self.bit_digests.append(digest.hexdigest()[:DIGEST_DIGITS])
