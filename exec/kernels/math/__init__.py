"""Kernels of ONNX family math."""
