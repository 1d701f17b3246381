from __future__ import annotations

from passes.rules.fuse.after_linear import FuseIntoLinear


class FuseConvBatchNorm(FuseIntoLinear):
    """Fold an inference BatchNormalization into the Conv or ConvTranspose before it.

    What    W' = W·γ/√(σ²+ε) per output channel;  b' = (b − μ)·γ/√(σ²+ε) + β.
    Why     Removes one full read and write of the activation; the weights are constant anyway.
    When    All parameters and the weight are constants; nothing else reads the Conv's output.
    Not     Training mode; a Conv output that is also a graph output. A shared weight is copied, not scaled in place.
    Safety  ROUNDING: the same reals, multiplied in another order.
    Source  Jacob et al. 2018, §3.2 (arXiv 1712.05877).
    """

    id = "fuse-conv-bn"
    roots = ("BatchNormalization",)
    layers = ("Conv", "ConvTranspose")
    BEFORE = """ g (float[1,2,4,4] x) => (float[1,2,2,2] y) <float[2,2,3,3] w, float[2] scale, float[2] b, float[2] mean, float[2] var> {
        c = Conv (x, w)  y = BatchNormalization (c, scale, b, mean, var) } """
    AFTER = """ g (float[1,2,4,4] x) => (float[1,2,2,2] y) <float[2,2,3,3] w, float[2] b> { y = Conv (x, w, b) } """
