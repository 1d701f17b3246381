"""Between depth and space."""

from __future__ import annotations

from exec.arrays import Array
from exec.kernels.registry import kernel


@kernel("DepthToSpace")
def depth_to_space(x: Array, /, *, blocksize: int, mode: str = "DCR") -> Array:
    """Channels become blocks of pixels.

    Shapes  x (n, c·b², h, w) → (n, c, h·b, w·b); DCR reads the channels as (b, b, c), CRD as (c, b, b).
    """
    n, channels, height, width = x.shape
    b = blocksize
    c = channels // (b * b)
    if mode == "DCR":
        y = x.reshape(n, b, b, c, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, c, b, b, height, width).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c, height * b, width * b)


@kernel("SpaceToDepth")
def space_to_depth(x: Array, /, *, blocksize: int, mode: str = "DCR") -> Array:
    """Blocks of pixels become channels.

    Shapes  x (n, c, h·b, w·b) → (n, c·b², h, w); DCR writes the channels as (b, b, c), CRD as (c, b, b).
    """
    n, c, height, width = x.shape
    b = blocksize
    y = x.reshape(n, c, height // b, b, width // b, b)
    y = y.transpose(0, 3, 5, 1, 2, 4) if mode == "DCR" else y.transpose(0, 1, 3, 5, 2, 4)
    return y.reshape(n, c * b * b, height // b, width // b)
