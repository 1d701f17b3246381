from __future__ import annotations

from exec.arrays import Array
from exec.ir import Constant, Node, Weight, constant_value
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class LiftConstants(Rewrite):
    """Turn a Constant node into an initializer.

    What    k = Constant<value>()  becomes the initializer k.
    Why     One way to write a constant; weights can be mapped, shared and seen as weights.
    When    The value is dense.
    Not     A Constant that is a graph output, has a sparse value, or takes its value from a function's attribute.
    Safety  EXACT: the same bytes.
    Source  ONNX Constant.
    """

    id = "lift-constants"
    roots = ("Constant",)
    BEFORE = """ g (float[2] x) => (float[2] y) { k = Constant<value_float = 1.5>()  y = Mul(x, k) } """
    AFTER = """ g (float[2] x) => (float[2] y) <float k = {1.5}> { y = Mul(x, k) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        out = node.outputs[0]
        value = constant_value(out)
        if value is None or region.is_output(out) or region.is_function:
            return None
        patch = self.patch(region, node)
        patch.freed = value.nbytes
        # the value keeps its name: the old holder of it goes
        patch.redirects.append((out, Constant(out.name, _source(node, value))))
        return patch


def _source(node: Node, value: Array) -> Array | Weight:
    """The stored tensor where there is one: it is a view on the file."""
    given = node.attrs.get("value")
    return given._values if isinstance(given, Constant) else value
