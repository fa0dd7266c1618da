"""Other ways to make binary codes, under the same fit, transform and encode."""

from proxcode.peers._base import Peer
from proxcode.peers.lsh import LSH

PEERS: dict[str, type[Peer]] = {"LSH": LSH}

__all__ = ["LSH", "PEERS", "Peer"]
