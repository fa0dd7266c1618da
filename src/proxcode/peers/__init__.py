"""Other ways to make binary codes, under the same fit, transform and encode."""

from proxcode.peers._base import Peer
from proxcode.peers.hadamard import Hadamard
from proxcode.peers.itq import ITQ
from proxcode.peers.lsh import LSH
from proxcode.peers.one_hot import ClassifierCode
from proxcode.peers.spectral import SpectralHashing

PEERS: dict[str, type[Peer]] = {
    "LSH": LSH,
    "ITQ": ITQ,
    "SH": SpectralHashing,
    "Hadamard": Hadamard,
    "ClassifierCode": ClassifierCode,
}

__all__ = ["ITQ", "LSH", "PEERS", "ClassifierCode", "Hadamard", "Peer", "SpectralHashing"]
