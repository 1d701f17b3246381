from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, any_, const, op
from passes.region import Region


class FuseRotaryEmbedding(Rewrite):
    """Recognise a rotary position embedding.

    What    x·cos + Concat(−x₂, x₁)·sin, with x₁ and x₂ the halves of x,  becomes  RotaryEmbedding(x, cos, sin).
    Why     One pass instead of five.
    When    Opset 23; x is [batch, heads, length, size] of known batch; cos and sin are constants whose halves are equal.
    Not     Tables that are computed, or that differ between heads.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX RotaryEmbedding; Su et al. 2021 (arXiv 2104.09864).
    """

    id = "fuse-rotary-embedding"
    needs = 23
    safety = Safety.ROUNDING
    pattern = op(
        "Add",
        op("Mul", any_("x"), const("cos")),
        op("Mul", op("Concat", op("Neg", any_("second")), any_("first"), as_="turned"), const("sin")),
    )
    BEFORE = """ g (float[1,2,3,4] x) => (float[1,2,3,4] y) <int64[2] s = {2, 2}, float[1,1,3,4] cos = {1,2,1,2,3,4,3,4,5,6,5,6},
        float[1,1,3,4] sin = {1,2,1,2,3,4,3,4,5,6,5,6}> {
        a, b = Split <axis = 3> (x, s)  n = Neg (b)  t = Concat <axis = -1> (n, a)  c = Mul (x, cos)  d = Mul (t, sin)  y = Add (c, d) } """
    AFTER = """ g (float[1,2,3,4] x) => (float[1,2,3,4] y) <float[1,3,2] cos, float[1,3,2] sin> { y = RotaryEmbedding (x, cos, sin) } """

    def rewrite(self, match: Match, region: Region) -> Patch | Refusal | None:
        x, turned = match["x"], match["turned"]
        split = region.producer(match["first"], "Split")
        shape = region.shape(x)
        if split is None or split.inputs[0] is not x or len(split.outputs) != 2 or shape is None or len(shape) != 4:
            return None
        if split.outputs[0] is not match["first"] or split.outputs[1] is not match["second"]:
            return None
        if any(int(n.attrs.get("axis", 0)) % 4 != 3 for n in (split, turned)):
            return None
        batch, length, size = shape[0], shape[2], shape[3]
        if not isinstance(batch, int) or not isinstance(length, int) or not isinstance(size, int) or size % 2:
            return Refusal("batch, length or size are not known", match.root)
        if region.dim(match["first"], 3) != size // 2:
            return None
        tables = [_half(match.array(name), length, size) for name in ("cos", "sin")]
        if any(t is None for t in tables):
            return Refusal("the tables' halves differ, or they differ between heads", match.root)
        if not _only_here([split.outputs[0], split.outputs[1]], match.nodes, region):
            return None
        patch = self.patch(region, match.root, *match.nodes, split)
        named = {name: t for name, t in zip(("cos", "sin"), tables, strict=True) if t is not None}
        self.write(patch, match, named, batch)
        return patch

    def write(self, patch: Patch, match: Match, tables: dict[str, Array], batch: int) -> None:
        """Add the op; each table is [length, size / 2]."""
        inputs = [
            patch.constant(np.ascontiguousarray(np.broadcast_to(t, (batch, *t.shape))), match[name].name)
            for name, t in tables.items()
        ]
        patch.add("RotaryEmbedding", [match["x"], *inputs], out=match.root.outputs[0])


def _half(table: Array, length: int, size: int) -> Array | None:
    """The first half of a table [length, size] with leading axes of 1, if the second is the same."""
    if table.ndim < 2 or table.shape[-2:] != (length, size) or any(d != 1 for d in table.shape[:-2]):
        return None
    flat = table.reshape(length, size)
    first, second = flat[:, : size // 2], flat[:, size // 2 :]
    return first if bool((first == second).all()) else None


def _only_here(values: list[object], nodes: tuple[Node, ...], region: Region) -> bool:
    return all(region.only_read_by(v, *nodes) for v in values)
