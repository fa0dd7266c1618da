"""Codes of many files, computed here or on a cluster."""

from proxcode.encoding.many import EncodedFiles, encode_files, plan_outputs

__all__ = ["EncodedFiles", "encode_files", "plan_outputs"]
