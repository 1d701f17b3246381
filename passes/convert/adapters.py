"""Which ops change their meaning from one opset to the next, and how to write the old meaning in the new form.

    @upward("Squeeze", 13)
    def squeeze(node, region) -> Patch | str | None: ...

An adapter gets a node of the older form, returns the patch that writes it in the newer one, None where the node is right as it is, or a
sentence that says why it cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable

from exec.ir import Node
from passes.patch import Patch
from passes.region import Region

Adapter = Callable[[Node, Region], Patch | str | None]

up: dict[tuple[str, int], Adapter] = {}
down: dict[tuple[str, int], Adapter] = {}


def upward(*ops: str, to: int) -> Callable[[Adapter], Adapter]:
    """Register how `ops` are written in opset `to` when they come from the one before."""

    def register(adapter: Adapter) -> Adapter:
        for op in ops:
            up[op, to] = adapter
        return adapter

    return register


def downward(*ops: str, below: int) -> Callable[[Adapter], Adapter]:
    """Register how `ops` are written in the opset before `below`."""

    def register(adapter: Adapter) -> Adapter:
        for op in ops:
            down[op, below] = adapter
        return adapter

    return register


def replacement(node: Node, region: Region) -> Patch:
    """An empty patch of the conversion at `node`."""
    return Patch("convert-opset", region, node)
