from __future__ import annotations

from passes.rules.fuse.after_linear import FuseIntoLinear


class FuseGemmAffine(FuseIntoLinear):
    """Fold a BatchNormalization, or arithmetic with a constant per column, into the Gemm before it.

    What    Gemm(A, B, C)·k + t  becomes  Gemm(A, B·k, C·k + t); a BatchNormalization gives k = γ/√(σ²+ε), t = β − μ·k.
    Why     Removes one read and write of the activation.
    When    B, C and the parameters are constant, per column; nothing else reads the Gemm's output. `alpha` stays, `beta` is multiplied into C.
    Not     Training mode; a C that is computed.
    Safety  ROUNDING: the same reals in another order.
    Source  Algebra.
    """

    id = "fuse-gemm-affine"
    roots = ("BatchNormalization", "Mul", "Div", "Add", "Sub")
    layers = ("Gemm",)
    BEFORE = """ g (float[2,3] x) => (float[2,4] y) <float[3,4] w, float[4] c, float[4] scale, float[4] b, float[4] mean, float[4] var> {
        a = Gemm <alpha = 0.5, beta = 2.0> (x, w, c)  y = BatchNormalization (a, scale, b, mean, var) } """
    AFTER = """ g (float[2,3] x) => (float[2,4] y) <float[3,4] w, float[4] c> { y = Gemm <alpha = 0.5> (x, w, c) } """
