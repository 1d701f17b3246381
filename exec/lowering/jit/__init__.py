"""Lowerings to compiled kernels. Importing a module of this package imports numba: only where kernels may be compiled."""
