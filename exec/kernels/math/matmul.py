"""Matrix products."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.broadcast import lined_up
from exec.kernels.fixed import fixed_matmul
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

_EXACT_FLOAT32 = 1 << 24
_EXACT_FLOAT64 = 1 << 53


@kernel("MatMul")
@widened
def matmul(a: Array, b: Array, /) -> Array:
    """numpy's matmul: the last two axes are matrices, those before are broadcast, a vector is a row or a column."""
    if a.dtype.kind in "iu":
        return integer_matmul(a, b)
    return np.asarray(np.matmul(a, b))


@kernel("MatMul", variant="plain")
@widened
def plain_matmul(a: Array, b: Array, /) -> Array:
    """MatMul with one order of additions."""
    return integer_matmul(a, b) if a.dtype.kind in "iu" else fixed_matmul(a, b)


@kernel("Gemm", since=7)
@widened
def gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    /,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """alpha · A' B' + beta · C, where A' is A or its transpose; C is broadcast to the product."""
    return _finished(matmul(a.T if transA else a, b.T if transB else b), c, alpha, beta)


@kernel("Gemm", since=7, variant="plain")
@widened
def plain_gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    /,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """Gemm with one order of additions: the bits of MatMul, Mul and Add."""
    return _finished(plain_matmul(a.T if transA else a, b.T if transB else b), c, alpha, beta)


def _finished(y: Array, c: Array | None, alpha: float, beta: float) -> Array:
    """alpha · y + beta · c, into y."""
    if alpha != 1.0:
        y = np.multiply(y, alpha).astype(y.dtype, copy=False)
    if c is not None and beta != 0.0:
        np.add(y, c if beta == 1.0 else np.multiply(c, beta).astype(c.dtype, copy=False), out=y)
    return y


@kernel("Gemm")
def gemm_1(
    a: Array, b: Array, c: Array, /, *,
    alpha: float = 1.0, beta: float = 1.0, broadcast: int = 0, transA: int = 0, transB: int = 0,
) -> Array:  # fmt: skip
    """Gemm before opset 7: C is broadcast only with broadcast=1."""
    rows, columns = a.shape[1 if transA else 0], b.shape[0 if transB else 1]
    lined_up(np.broadcast_to(a.dtype.type(0), (rows, columns)), c, None, broadcast)
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


def integer_matmul(a: Array, b: Array) -> Array:
    """The exact product of integer matrices in their own type, wrapping like C.

    numpy has no fast integer product. Where no partial sum can leave the integers a float type holds exactly, BLAS
    computes it.
    """
    depth = a.shape[-1]
    bound = depth * _largest(a) * _largest(b)
    for limit, carrier in ((_EXACT_FLOAT32, np.float32), (_EXACT_FLOAT64, np.float64)):
        if bound < limit:
            return np.asarray(np.matmul(a.astype(carrier), b.astype(carrier))).astype(np.int64).astype(a.dtype)
    return np.asarray(np.matmul(a, b))


def _largest(x: Array) -> int:
    """max |x|, as a Python integer."""
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0
