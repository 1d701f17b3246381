from __future__ import annotations

import numpy as np

from exec.arrays import Array
from passes.patch import Patch
from passes.pattern import Match
from passes.rules.fuse.rotary import FuseRotaryEmbedding

DOMAIN = "com.microsoft"


class FuseContribRotaryEmbedding(FuseRotaryEmbedding):
    """Let onnxruntime rotate positions before opset 23 has an op for it.

    What    x·cos + Concat(−x₂, x₁)·sin, with x₁ and x₂ the halves of x,  becomes  com.microsoft.RotaryEmbedding(x, 0, cos, sin).
    Why     One pass instead of five.
    When    Preset "contrib"; x is [batch, heads, length, size] of known length; cos and sin are constants whose halves are equal.
    Not     Tables that are computed, or that differ between heads. Other runtimes, which do not know the op.
    Safety  ROUNDING: other order of the same operations.
    Source  onnxruntime RotaryEmbedding.
    """

    id = "fuse-contrib-rotary-embedding"
    needs = 1
    BEFORE = FuseRotaryEmbedding.BEFORE
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[1,2,3,4] x) => (float[1,2,3,4] y)
        <int64[1] p, float[3,2] cos, float[3,2] sin> { y = com.microsoft.RotaryEmbedding (x, p, cos, sin) } """

    def write(self, patch: Patch, match: Match, tables: dict[str, Array], batch: int) -> None:
        first = patch.constant(np.zeros(1, np.int64), f"{match['x'].name}_position")
        inputs = [patch.constant(np.ascontiguousarray(t), match[name].name) for name, t in tables.items()]
        patch.add("RotaryEmbedding", [match["x"], first, *inputs], out=match.root.outputs[0], domain=DOMAIN)
