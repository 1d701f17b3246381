"""The ONNX family "nn": convolution, pooling, normalisation, attention."""
