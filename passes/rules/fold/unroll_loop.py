from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Graph, Node
from passes.base import Refusal, Rewrite
from passes.inline import Inliner
from passes.patch import Patch
from passes.region import Region

MOST_ROUNDS = 1000
"""Rounds of a body without work are still walked through one by one."""


class UnrollLoop(Rewrite):
    """Write out a Loop that runs a fixed, small number of times.

    What    Loop(2, body)  becomes  the body's nodes, twice.
    Why     The body is hidden from every other rule, and each round costs the runtime a call.
    When    The trip count is constant, the condition stays true, there are no scan outputs, and the nodes do not become more.
    Not     Long loops: those are what Loop is for.
    Safety  EXACT: the same nodes run.
    Source  ONNX Loop.
    """

    id = "unroll-loop"
    roots = ("Loop",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <int64 n = {2}> {
        y = Loop (n, , x) <body = b (int64 i, bool c, float[2,3] a) => (bool d, float[2,3] e) { d = Identity (c)  e = Neg (a) }> } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { a = Neg (x)  y = Neg (a) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        body = node.attrs.get("body")
        if (
            not isinstance(body, Graph)
            or len(node.outputs) != len(node.inputs) - 2
            or len(body.outputs) != len(node.inputs) - 1
        ):
            return None
        trips = region.scalar(node.inputs[0]) if region.has(node, 0) else None
        if trips is None:
            return None
        if not self._endless(node, body, region):
            return Refusal("its condition may end it before the count is reached", node)
        work = [n for n in body.nodes if not (n.op == "Identity" and n.outputs[0] is body.outputs[0])]
        if trips > MOST_ROUNDS or trips * len(work) > 1 + len(work):
            return Refusal(f"{int(trips)} rounds of {len(work)} nodes would make the graph larger", node)
        return self._unroll(node, body, int(trips), region)

    def _endless(self, node: Node, body: Graph, region: Region) -> bool:
        """Whether the condition is true in every round."""
        if region.has(node, 1) and not (region.is_constant(node.inputs[1]) and region.scalar(node.inputs[1])):
            return False
        kept: Any = body.outputs[0]
        while kept.inputs and kept.inputs[0].op == "Identity":
            kept = kept.inputs[0].inputs[0]
        if kept is body.inputs[1]:
            return True
        value = region.constant(kept)
        return value is not None and bool(value.all())

    def _unroll(self, node: Node, body: Graph, trips: int, region: Region) -> Patch:

        patch = self.patch(region, node)
        state = list(node.inputs[2:])
        true = patch.constant(np.array(True), f"{node.name or 'loop'}_true")
        for k in range(trips):
            index = patch.constant(np.array(k, np.int64), f"{node.name or 'loop'}_round")
            values = {body.inputs[0]: index, body.inputs[1]: true, **dict(zip(body.inputs[2:], state, strict=True))}
            inliner = Inliner(patch, values, prefix=f"{node.name or 'loop'}/{k}/", once=False)
            last = k == trips - 1
            outs = [None, *(node.outputs if last else [None] * len(state))]
            state = inliner.add(body, outs)[1:]
        for out, value in zip(node.outputs, state, strict=True):
            if out is not value and out.name:
                patch.replace(out, value)
        return patch
