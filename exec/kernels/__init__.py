"""Kernels: one plain typed function per ONNX op, in a file of its ONNX family."""
