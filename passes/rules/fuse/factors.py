"""A product of several factors, however it is nested: Mul(Mul(x, y), 0.5) and Mul(x, Mul(y, 0.5)) are the same product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from exec.ir import Node
from passes.region import Region


@dataclass(slots=True)
class Product:
    """The factors that are computed, the product of the numbers, and the nodes that multiply."""

    factors: list[Any] = field(default_factory=list)
    number: float = 1.0
    nodes: list[Node] = field(default_factory=list)


def product_of(root: Node, region: Region) -> Product:
    """Flatten the multiplications (and divisions by a number) below `root` that only their product reads."""
    product = Product()
    stack = [root]
    while stack:
        node = stack.pop()
        product.nodes.append(node)
        for k, tensor in enumerate(node.inputs):
            value = region.scalar(tensor) if region.is_constant(tensor) else None
            if value is not None and (node.op == "Mul" or k == 1) and value != 0:
                product.number *= value if node.op == "Mul" else 1 / value
                continue
            inner = region.producer(tensor, "Mul", "Div") if node.op == "Mul" or k == 0 else None
            free = inner is not None and region.only_read_by(tensor, node) and node.inputs[0] is not node.inputs[-1]
            if inner is not None and free and (inner.op == "Mul" or _divides(inner, region)):
                stack.append(inner)
            else:
                product.factors.append(tensor)
    return product


def _divides(node: Node, region: Region) -> bool:
    return region.is_constant(node.inputs[1]) and bool(region.scalar(node.inputs[1]))
