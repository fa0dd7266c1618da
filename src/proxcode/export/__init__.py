"""Fitted models for other runtimes."""

from proxcode.export.onnx_model import export_onnx, onnx_model

__all__ = ["export_onnx", "onnx_model"]
