"""Fitted models for other runtimes."""

from proxcode.export.comparison import DifferingBits, differing_bits
from proxcode.export.onnx_file import export_onnx, onnx_model

__all__ = ["DifferingBits", "differing_bits", "export_onnx", "onnx_model"]
