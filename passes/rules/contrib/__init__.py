"""Ops of com.microsoft: for onnxruntime only, by preset "contrib"."""
