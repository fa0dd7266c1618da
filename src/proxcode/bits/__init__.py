"""Bits learned one after another: the `loop`, its `rules`, codes of `new_classes`, and codes `in_sample`."""

from proxcode.bits.in_sample import InSampleCode, in_sample_code
from proxcode.bits.loop import BitLoop
from proxcode.bits.new_classes import new_class_codes
from proxcode.bits.rules import MAX_BITS, CutSearch, Rules, is_done

__all__ = ["MAX_BITS", "BitLoop", "CutSearch", "InSampleCode", "Rules", "in_sample_code", "is_done", "new_class_codes"]
