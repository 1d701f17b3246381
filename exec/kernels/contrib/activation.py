"""GELU and its variants."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.math.activation import gelu, swish
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

DOMAIN = "com.microsoft"


@kernel("Gelu", domain=DOMAIN)
@widened
def gelu_exact(x: Array, /) -> Array:
    """x · Φ(x), Φ the normal distribution."""
    return gelu(x)


@kernel("BiasGelu", domain=DOMAIN)
@widened
def bias_gelu(x: Array, bias: Array, /) -> Array:
    """GELU of x + bias."""
    return gelu(np.asarray(x + bias))


@kernel("FastGelu", domain=DOMAIN)
@widened
def fast_gelu(x: Array, bias: Array | None = None, /) -> Array:
    """GELU of x + bias by its tanh form."""
    return gelu(x if bias is None else np.asarray(x + bias), approximate="tanh")


@kernel("QuickGelu", domain=DOMAIN)
@widened
def quick_gelu(x: Array, /, *, alpha: float = 1.702) -> Array:
    """x · sigmoid(alpha · x)."""
    return swish(x, alpha=alpha)
