from __future__ import annotations

from exec.ir import Graph, Node
from passes.base import EVERY, Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.shapes import known_elements


class FoldShapes(Rewrite):
    """Replace shape arithmetic by the numbers it comes to.

    What    Shape, Gather, Mul, Concat, … whose result is the same for every input of the declared sizes become a constant.
    Why     Exporters write shapes as little programs; each node costs a launch and hides the structure from every other rule.
    When    Every element is a number, after following sizes as expressions: `Gather(Shape(x), 1)` of x[N, 3] is 3.
    Not     Sizes that depend on an open dimension, or on a declaration nobody checks.
    Safety  EXACT: integer arithmetic.
    Source  Symbolic shape inference.
    """

    id = "fold-shapes"
    roots = (EVERY,)
    BEFORE = """ g (float[N,3,4] x) => (float[N,12] y) <int64 one = {1}, int64 two = {2}, int64[1] zero = {0}, int64[1] n = {-1}> {
        s = Shape (x)  a = Gather (s, one)  b = Gather (s, two)  c = Mul (a, b)  d = Unsqueeze (c, zero)
        e = Concat <axis = 0> (n, d)  y = Reshape (x, e) } """
    AFTER = """ g (float[N,3,4] x) => (float[N,12] y) <int64[2] e = {-1, 12}> { y = Reshape (x, e) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if node.op in ("Constant", "If", "Loop", "Scan"):
            return None
        patch: Patch | None = None
        for out in node.outputs:
            if not out.name or region.is_unread(out):
                continue
            fact = region.fact(out)
            if fact.value is None:
                return None
            elements = known_elements(fact)
            if elements is None or any(isinstance(v, Graph) for v in node.attrs.values()):
                return None
            patch = patch or self.patch(region, node)
            if not region.is_output(out):
                patch.redirects.append((out, patch.named(elements, out.name)))
            elif len(node.outputs) == 1 and node.op != "Identity":
                patch.add("Constant", [], {"value": patch.constant(elements, out.name + "_value")}, out=out)
            else:
                return None
        return patch
