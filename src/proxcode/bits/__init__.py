"""Bits learned one after another: the `loop` of the paper and the `rules` that it follows."""

from proxcode.bits.loop import BitLoop
from proxcode.bits.rules import MAX_BITS, CutSearch, Rules, is_done

__all__ = ["MAX_BITS", "BitLoop", "CutSearch", "Rules", "is_done"]
