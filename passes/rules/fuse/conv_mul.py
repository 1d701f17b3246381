from __future__ import annotations

from passes.rules.fuse.after_linear import FuseIntoLinear


class FuseConvMul(FuseIntoLinear):
    """Fold a multiplication per channel into the Conv or ConvTranspose before it.

    What    Conv(x, W, b)·k  becomes  Conv(x, W·k, b·k);  a division likewise.
    Why     Removes one full read and write of the activation.
    When    k is constant: one number, or one per output channel; nothing else reads the Conv's output.
    Not     A k that varies over positions, or that broadcasts along another axis ([4] against N×C×H×4).
    Safety  ROUNDING: the same reals, multiplied in another order.
    Source  Algebra.
    """

    id = "fuse-conv-mul"
    roots = ("Mul", "Div")
    layers = ("Conv", "ConvTranspose")
    BEFORE = """ g (float[1,3,8,8] x) => (float[1,4,6,6] y) <float[4,3,3,3] w, float[1,4,1,1] k> { a = Conv (x, w)  y = Mul (a, k) } """
    AFTER = """ g (float[1,3,8,8] x) => (float[1,4,6,6] y) <float[4,3,3,3] w> { y = Conv (x, w) } """
