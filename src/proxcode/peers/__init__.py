"""Other hashing methods under one contract: fit, transform and encode.

`PEERS` maps the names of the methods to their classes; `QUANTISERS` are those that need FAISS.
"""

from proxcode.peers._base import OptionallySupervisedPeer, Peer, SupervisedPeer
from proxcode.peers.agh import AGH, TwoLayerAGH
from proxcode.peers.bre import BRE
from proxcode.peers.cca_itq import CCAITQ
from proxcode.peers.classifier_code import ClassifierCode
from proxcode.peers.cosdish import COSDISH
from proxcode.peers.dgh import DGH
from proxcode.peers.fasthash import FastHash
from proxcode.peers.hadamard import Hadamard
from proxcode.peers.imh import IMHTSNE, IMHLaplacian
from proxcode.peers.itq import ITQ
from proxcode.peers.kmh import KMH
from proxcode.peers.ksh import KSH
from proxcode.peers.lda_itq import LDAITQ
from proxcode.peers.lghsr import LGHSR
from proxcode.peers.lsh import LSH
from proxcode.peers.mlh import MLH
from proxcode.peers.quantisers import QUANTISERS, FaissITQ, FaissPQ, FaissRaBitQ
from proxcode.peers.sdh import SDH
from proxcode.peers.sgh import SGH
from proxcode.peers.sign import Sign
from proxcode.peers.spectral import SpectralHashing
from proxcode.peers.tsh import TSH
from proxcode.peers.wcw_itq import WCWITQ

PEERS: dict[str, type[Peer]] = {
    "LSH": LSH,
    "ITQ": ITQ,
    "SH": SpectralHashing,
    "AGH": AGH,
    "AGH-2": TwoLayerAGH,
    "IMH-LE": IMHLaplacian,
    "IMH-tSNE": IMHTSNE,
    "DGH": DGH,
    "LGHSR": LGHSR,
    "SGH": SGH,
    "Sign": Sign,
    "KMH": KMH,
    "BRE": BRE,
    "MLH": MLH,
    "SDH": SDH,
    "KSH": KSH,
    "COSDISH": COSDISH,
    "TSH": TSH,
    "Hadamard": Hadamard,
    "ClassifierCode": ClassifierCode,
    "WCW-ITQ": WCWITQ,
    "LDA-ITQ": LDAITQ,
    "CCA-ITQ": CCAITQ,
    "FastHash": FastHash,
}

__all__ = [
    "AGH", "BRE", "CCAITQ", "COSDISH", "DGH", "IMHTSNE", "ITQ", "KMH", "KSH", "LDAITQ", "LGHSR", "LSH", "MLH", "PEERS",
    "QUANTISERS", "SDH", "SGH", "TSH", "WCWITQ", "ClassifierCode", "FaissITQ", "FaissPQ", "FaissRaBitQ", "FastHash",
    "Hadamard", "IMHLaplacian", "OptionallySupervisedPeer", "Peer", "Sign", "SpectralHashing", "SupervisedPeer",
    "TwoLayerAGH",
]  # fmt: skip
