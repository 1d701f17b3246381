from __future__ import annotations

from typing import Any

from exec.arrays import Array
from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region

BIAS, STATES = 3, (5, 6)
VIEWS = frozenset(
    {"Split", "Slice", "Transpose", "Reshape", "Expand", "Squeeze", "Unsqueeze", "Identity", "Tile", "Gather"}
)
"""What only moves or repeats the elements of its first input."""

FAR = 8
"""Views that are followed up to what fills a value."""


class RemoveZeroState(Rewrite):
    """Leave out the first state, and the bias, of a recurrent layer where they are 0 everywhere.

    What    GRU(x, W, R, B, , ConstantOfShape(n))  becomes  GRU(x, W, R, B);  LSTM and RNN likewise, each input by itself.
    Why     A layer starts at 0 if it is not told otherwise; exporters compute the shape of zeros at every run.
    When    The input is a constant of zeros, or a ConstantOfShape of 0, maybe split or reshaped, whatever its sizes.
    Not     A state that a caller gives.
    Safety  EXACT: 0 is what the specification puts there.
    Source  ONNX LSTM, GRU, RNN.
    """

    id = "remove-zero-state"
    roots = ("LSTM", "GRU", "RNN")
    BEFORE = """ g (float[5,N,3] x) => (float[5,1,N,2] y) <float[1,6,3] w, float[1,6,2] r, int64[1] one = {1}, int64[1] two = {2}> {
        s = Shape <start = 1, end = 2> (x)  d = Concat <axis = 0> (one, s, two)  z = ConstantOfShape (d)
        y = GRU <hidden_size = 2> (x, w, r, , , z) } """
    AFTER = """ g (float[5,N,3] x) => (float[5,1,N,2] y) <float[1,6,3] w, float[1,6,2] r> { y = GRU <hidden_size = 2> (x, w, r) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        zero = [k for k in (BIAS, *STATES) if region.has(node, k) and _is_zero(node.inputs[k], region)]
        if not zero:
            return None
        patch = self.patch(region, node)
        inputs: list[Any] = [None if k in zero else t for k, t in enumerate(node.inputs)]
        patch.add_many(node.op, inputs, node.attrs, outs=list(node.outputs), like=node)
        return patch


def _is_zero(tensor: Any, region: Region) -> bool:
    """Whether every element is 0, known from the value itself or from what fills it."""
    for _ in range(FAR):
        value: Array | None = region.constant(tensor)
        if value is not None:
            return value.dtype.kind == "f" and not value.any()
        maker = region.producer(tensor, "ConstantOfShape", *VIEWS)
        if maker is None:
            return False
        if maker.op == "ConstantOfShape":
            return region.filling(maker).dtype.kind == "f" and not region.filling(maker).any()
        tensor = maker.inputs[0]
    return False
