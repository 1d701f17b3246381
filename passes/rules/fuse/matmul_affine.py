from __future__ import annotations

from passes.rules.fuse.after_linear import FuseIntoLinear


class FuseMatMulAffine(FuseIntoLinear):
    """Fold a BatchNormalization, or a multiplication by a constant per column, into the MatMul before it.

    What    MatMul(x, W)·k  becomes  MatMul(x, W·k); a BatchNormalization leaves its shift as an Add.
    Why     Removes one read and write of the activation.
    When    W and the parameters are constant, per column; nothing else reads the MatMul's output.
    Not     Training mode; a W that is computed.
    Safety  ROUNDING: the same reals in another order.
    Source  Algebra.
    """

    id = "fuse-matmul-affine"
    roots = ("BatchNormalization", "Mul", "Div")
    layers = ("MatMul",)
    BEFORE = """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w, float k = {0.25}> { a = MatMul (x, w)  y = Mul (a, k) } """
    AFTER = """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w> { y = MatMul (x, w) } """
