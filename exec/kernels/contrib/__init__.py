"""Kernels of the domain com.microsoft: what optimized and quantized files contain."""
