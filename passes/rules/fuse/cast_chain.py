from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region

_FLOATS = ("float16", "float32", "float64")


class FuseCastChain(Rewrite):
    """Cast at once where the type in between loses nothing.

    What    Cast<double>(Cast<float>(x of float16))  becomes  Cast<double>(x).
    Why     One pass less.
    When    Every value of x's type is exact in the middle type, and of the same kind.
    Not     double → float → double, float → int → float, int64 → int32 → int64: the middle type loses digits on purpose.
    Safety  EXACT: the middle value is the value.
    Source  ONNX Cast.
    """

    id = "fuse-cast-chain"
    roots = ("Cast",)
    BEFORE = (
        """ g (float16[2,3] x) => (double[2,3] y) { a = Cast <to = 1> (x)  b = Cast <to = 11> (a)  y = Neg (b) } """
    )
    AFTER = """ g (float16[2,3] x) => (double[2,3] y) { b = Cast <to = 11> (x)  y = Neg (b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        inner = region.producer(node.inputs[0], "Cast")
        if inner is None:
            return None
        first, middle = region.dtype(inner.inputs[0]), region.dtype(inner.outputs[0])
        last = region.dtype(node.outputs[0])
        if first is None or middle is None or last is None or last.kind == "O":
            return None
        if not widens(first, middle):
            return Refusal(f"{first} to {middle} may lose digits", inner)
        patch = self.patch(region, node, inner)
        if last == first:
            patch.replace(node.outputs[0], inner.inputs[0])
        else:
            patch.add("Cast", [inner.inputs[0]], node.attrs, out=node.outputs[0])
        return patch


def widens(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Whether every value of type `a` is a value of type `b`, so that casting on from `b` is casting from `a`."""
    if a == b:
        return True
    if a.kind == "b":
        return b.kind in "iu" or b.name in _FLOATS
    if a.name in _FLOATS and b.name in _FLOATS:
        return a.itemsize < b.itemsize
    if a.kind in "iu" and b.kind in "iu":
        low, high = np.iinfo(a), np.iinfo(b)
        return int(high.min) <= int(low.min) and int(low.max) <= int(high.max)
    if a.kind in "iu" and b.name in _FLOATS:
        return np.iinfo(a).bits <= np.finfo(b).nmant + 1
    return False
