from __future__ import annotations

import math
from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.pattern import any_, op
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape
from passes.rules.fuse.factors import product_of


class FuseGelu(Rewrite):
    """Recognise GELU, by the error function or by its tanh approximation.

    What    ½·x·(1 + erf(x/√2))  becomes  Gelu(x);  ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) becomes Gelu<approximate = "tanh">(x).
    Why     One pass instead of five or eight.
    When    Opset 20; the factors may stand in any order.
    Not     Other constants.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX Gelu; Hendrycks and Gimpel 2016 (arXiv 1606.08415).
    """

    id = "fuse-gelu"
    needs = 20
    safety = Safety.ROUNDING
    roots = ("Mul", "Div")
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float q = {1.4142135}, float one = {1}, float h = {0.5}> {
        a = Div (x, q)  b = Erf (a)  c = Add (b, one)  d = Mul (x, c)  y = Mul (d, h) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Gelu (x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        product = product_of(node, region)
        if len(product.factors) != 2 or not math.isclose(product.number, 0.5, rel_tol=1e-4):
            return None
        for k in (0, 1):
            x, gate = product.factors[1 - k], product.factors[k]
            found = self._gate(gate, x, region)
            if found is not None:
                approximate, inner = found
                return self._write(node, [*product.nodes, *inner], x, approximate, region)
        return None

    def _write(self, node: Node, nodes: list[Node], x: Any, approximate: str, region: Region) -> Patch | Refusal | None:
        dtype = region.dtype(x)
        if dtype is None or dtype.kind != "f" or not same_shape(region.shape(x), region.shape(node.outputs[0])):
            return None
        for n in nodes:
            if n is not node and not region.only_read_by(n.outputs[0], *nodes):
                return Refusal(f"the output of {n.name or n.op} is also read elsewhere", n)
        return self.emit(self.patch(region, node, *nodes), node, nodes, x, approximate, region)

    def emit(
        self, patch: Patch, node: Node, nodes: list[Node], x: Any, approximate: str, region: Region
    ) -> Patch | Refusal:
        """Write the op; a runtime's own variant overrides this."""
        attrs = {"approximate": "tanh"} if approximate == "tanh" else {}
        patch.add("Gelu", [x], attrs, out=node.outputs[0])
        return patch

    def _gate(self, gate: Any, x: Any, region: Region) -> tuple[str, list[Node]] | None:
        """1 + erf(x/√2) or 1 + tanh(…), as the kind and its nodes."""
        added = region.producer(gate, "Add")
        if added is None:
            return None
        one = next(
            (k for k in (0, 1) if region.is_constant(added.inputs[k]) and region.scalar(added.inputs[k]) == 1.0), None
        )
        if one is None:
            return None
        inner = region.producer(added.inputs[1 - one], "Erf", "Tanh")
        if inner is None:
            return None
        argument = region.producer(inner.inputs[0], "Mul", "Div")
        if argument is None:
            return None
        product = product_of(argument, region)
        if inner.op == "Erf":
            plain = product.factors == [x] and math.isclose(product.number, math.sqrt(0.5), rel_tol=1e-4)
            return ("none", [added, inner, *product.nodes]) if plain else None
        cubic = self._cubic(product.factors, product.number, x, region)
        return None if cubic is None else ("tanh", [added, inner, *product.nodes, *cubic])

    def _cubic(self, factors: list[Any], scale: float, x: Any, region: Region) -> list[Node] | None:
        """√(2/π)·(x + 0.044715·x³), also as √(2/π)·x·(1 + 0.044715·x²): the nodes below the product."""
        if not math.isclose(scale, math.sqrt(2 / math.pi), rel_tol=1e-4):
            return None
        if len(factors) == 1:
            added = region.producer(factors[0], "Add")
            if added is None or not any(t is x for t in added.inputs):
                return None
            power = region.producer(added.inputs[1] if added.inputs[0] is x else added.inputs[0], "Mul")
            nodes = None if power is None else _scaled_power(power, x, 3, region)
            return None if nodes is None else [added, *nodes]
        if len(factors) == 2 and any(t is x for t in factors):
            added = region.producer(factors[1] if factors[0] is x else factors[0], "Add")
            for k in (0, 1) if added is not None else ():
                assert added is not None
                if region.is_constant(added.inputs[k]) and region.scalar(added.inputs[k]) == 1.0:
                    power = region.producer(added.inputs[1 - k], "Mul")
                    nodes = None if power is None else _scaled_power(power, x, 2, region)
                    return None if nodes is None else [added, *nodes]
        return None


def _scaled_power(root: Node, x: Any, exponent: int, region: Region) -> list[Node] | None:
    """0.044715·x^exponent, with the power as Pow or as a product: its nodes."""
    product = product_of(root, region)
    if not math.isclose(product.number, 0.044715, rel_tol=1e-3):
        return None
    degree, nodes = 0, list(product.nodes)
    for factor in product.factors:
        if factor is x:
            degree += 1
            continue
        match_node = region.producer(factor, "Pow", "Mul")
        if match_node is None:
            return None
        match, square = POWER.match(match_node, region), SQUARE.match(match_node, region)
        if match is not None and match["x"] is x and region.scalar(match_node.inputs[1]) is not None:
            degree += int(region.scalar(match_node.inputs[1]) or 0)
        elif square is not None and square["x"] is x:
            degree += 2
        else:
            return None
        nodes.append(match_node)
    return nodes if degree == exponent else None


POWER = op("Pow", any_("x"), any_("k"))
SQUARE = op("Mul", any_("x"), any_("x"))
