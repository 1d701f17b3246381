"""Kernels of the domain ai.onnx.ml."""
