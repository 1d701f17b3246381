"""Kernels of ONNX family tensor."""
