"""Kernels of ONNX family rnn."""
