from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.pattern import ANY, Match, op
from passes.read import axis_of
from passes.region import Region


class FuseLogSoftmax(Rewrite):
    """Compute the logarithm of a softmax at once.

    What    Log(Softmax(x))  becomes  LogSoftmax(x).
    Why     One pass less, and no logarithm of a number that was rounded to 0.
    When    Nothing else reads the softmax.
    Not     -
    Safety  ROUNDING: more exact than before.
    Source  ONNX LogSoftmax.
    """

    id = "fuse-log-softmax"
    safety = Safety.ROUNDING
    finite_only = True
    pattern = op("Log", op("Softmax", ANY, as_="softmax"))
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Softmax <axis = -1> (x)  y = Log (a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = LogSoftmax <axis = -1> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        softmax = match["softmax"]
        patch = self.patch(region, match.root, softmax)
        patch.add("LogSoftmax", [softmax.inputs[0]], softmax.attrs, out=match.root.outputs[0])
        return patch


class EliminateMonotoneBeforeArg(Rewrite):
    """Take the ArgMax of the scores instead of their softmax.

    What    ArgMax(Softmax(x))  becomes  ArgMax(x).
    Why     Softmax keeps the order; the exponentials are for nothing.
    When    Both run along the same axis, and nothing else reads the softmax.
    Not     Another axis: there each line has its own divisor.
    Safety  ROUNDING: scores that differ in the last bit may have had equal softmax.
    Source  Monotony of the exponential.
    """

    id = "eliminate-softmax-before-argmax"
    safety = Safety.ROUNDING
    finite_only = True
    roots = ("ArgMax", "ArgMin")
    BEFORE = """ g (float[2,3] x) => (int64[2] y) { a = Softmax <axis = -1> (x)  y = ArgMax <axis = -1, keepdims = 0> (a) } """
    AFTER = """ g (float[2,3] x) => (int64[2] y) { y = ArgMax <axis = -1, keepdims = 0> (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        softmax = region.producer(node.inputs[0], "Softmax", "LogSoftmax")
        if softmax is None or not region.only_read_by(softmax.outputs[0], node):
            return None
        own = axis_of(node, region, 0)
        axis = axis_of(softmax, region, 1 if region.opset < 13 else -1)
        if own is None or axis is None or (own != axis if region.opset >= 13 else own < axis):
            return None
        patch = self.patch(region, node, softmax)
        patch.add(node.op, [softmax.inputs[0]], node.attrs, out=node.outputs[0])
        return patch
