from __future__ import annotations

from typing import Any, ClassVar

from exec.ir import Node
from passes.base import Refusal
from passes.patch import Patch
from passes.pattern import Match, any_, either, op, scalar
from passes.region import Region
from passes.rules.fuse.gelu import FuseGelu
from passes.rules.fuse.swish import FuseSwish

DOMAIN = "com.microsoft"


class FuseContribGelu(FuseGelu):
    """Recognise GELU for onnxruntime, in any opset and with the bias in front of it.

    What    ½·x·(1 + erf(x/√2))  becomes  Gelu(x), or BiasGelu(a, b) for x = a + b;  the tanh form becomes FastGelu.
    Why     One pass instead of five, six or eight.
    When    Preset "contrib"; a bias is a constant of one axis.
    Not     Other constants. Other runtimes, which do not know the ops.
    Safety  ROUNDING: other order of the same operations.
    Source  onnxruntime Gelu, BiasGelu, FastGelu.
    """

    id = "fuse-contrib-gelu"
    needs = 1
    BEFORE = """ g (float[2,3] a, float[3] unused) => (float[2,3] y) <float[3] b, float q = {1.4142135}, float one = {1}, float h = {0.5}> {
        x = Add (a, b)  c = Div (x, q)  d = Erf (c)  e = Add (d, one)  f = Mul (x, e)  y = Mul (f, h) } """
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[2,3] a, float[3] unused) => (float[2,3] y) <float[3] b> {
        y = com.microsoft.BiasGelu (a, b) } """

    def emit(
        self, patch: Patch, node: Node, nodes: list[Node], x: Any, approximate: str, region: Region
    ) -> Patch | Refusal:
        added = region.producer(x, "Add")
        bias = None
        if added is not None and region.only_read_by(x, *nodes):
            bias = next((t for t in added.inputs if region.is_constant(t) and region.rank(t) == 1), None)
        if added is not None and bias is not None:
            patch.sources = (added, *patch.sources)
            value = added.inputs[1] if added.inputs[0] is bias else added.inputs[0]
            name = "FastGelu" if approximate == "tanh" else "BiasGelu"
            patch.add(name, [value, bias], out=node.outputs[0], domain=DOMAIN)
        else:
            name = "FastGelu" if approximate == "tanh" else "Gelu"
            patch.add(name, [x], out=node.outputs[0], domain=DOMAIN)
        return patch


class FuseQuickGelu(FuseSwish):
    """Recognise x·Sigmoid(α·x) for onnxruntime.

    What    x·Sigmoid(1.702·x)  becomes  QuickGelu<alpha = 1.702>(x);  x·Sigmoid(x) becomes QuickGelu<alpha = 1>(x).
    Why     One pass instead of two or three.
    When    Preset "contrib"; α is one number.
    Not     Other runtimes, which do not know the op.
    Safety  EXACT: the definition.
    Source  onnxruntime QuickGelu.
    """

    id = "fuse-quick-gelu"
    needs = 1
    targets: ClassVar[tuple[str, ...]] = ()
    pattern = op(
        "Mul",
        any_("x"),
        op("Sigmoid", either(op("Mul", any_("x"), scalar("alpha"), as_="inner"), any_("x")), as_="gate"),
    )
    BEFORE = (
        """ g (float[2,3] x) => (float[2,3] y) <float k = {1.5}> { a = Mul (x, k)  b = Sigmoid (a)  y = Mul (x, b) } """
    )
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[2,3] x) => (float[2,3] y) {
        y = com.microsoft.QuickGelu <alpha = 1.5> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        if str(region.dtype(match["x"])) != "float32":
            return None
        patch = self.patch(region, match.root, *match.nodes)
        alpha = match.number("alpha") if match.get("alpha") is not None else 1.0
        patch.add("QuickGelu", [match["x"]], {"alpha": alpha}, out=match.root.outputs[0], domain=DOMAIN)
        return patch
