from __future__ import annotations

from typing import Any

from exec.ir import Graph, Node
from passes.base import Refusal, Rewrite
from passes.inline import Inliner
from passes.patch import Patch
from passes.region import Region
from passes.rules.move.transpose_down import UNARY

DEPTH = 12


class InlineOnlyBranch(Rewrite):
    """Replace an If by the one branch whose result what follows can use.

    What    LSTM(Unsqueeze(If(c, Squeeze(x), x)))  becomes  LSTM(Unsqueeze(Squeeze(x)))  when only that gives the LSTM three axes.
    Why     Exporters turn `squeeze(dim)` into a question about sizes; the model works for one answer only.
    When    Something that always runs demands a number of axes, and exactly one branch can have it.
    Not     Demands inside other branches, or values whose possible ranks are not known.
    Safety  EXACT: on every run that reaches the end; the others stopped with an error, a few nodes later.
    Source  Backward shape inference.
    """

    id = "inline-only-branch"
    roots = ("If",)
    BEFORE = """ g (float[1,2,3] x) => (float[2,2] y) <bool c = {1}, float[3,2] w> {
        a = If (c) <then_branch = t () => (float[2,3] u) <int64[1] ax = {0}> { u = Squeeze (x, ax) }, else_branch = e () => (float[1,2,3] v) { v = Identity (x) }>
        b = Relu (a)  y = Gemm (b, w) } """
    AFTER = """ g (float[1,2,3] x) => (float[2,2] y) <int64[1] ax = {0}, float[3,2] w> { a = Squeeze (x, ax)  b = Relu (a)  y = Gemm (b, w) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        branches = [node.attrs.get("then_branch"), node.attrs.get("else_branch")]
        if not all(isinstance(b, Graph) for b in branches):
            return None
        for k, out in enumerate(node.outputs):
            wanted = _demanded(out, region, DEPTH)
            if wanted is None:
                continue
            fitting = [b for b in branches if isinstance(b, Graph) and _may_have(b.outputs[k], wanted, region, DEPTH)]
            if len(fitting) == 1:
                return self._inline(node, fitting[0], region)
        return None

    def _inline(self, node: Node, branch: Graph, region: Region) -> Patch:
        patch = self.patch(region, node)
        results = Inliner(patch, {}).add(branch, list(node.outputs))
        for out, result in zip(node.outputs, results, strict=True):
            if out is not result and out.name:
                patch.replace(out, result)
        return patch


def _demanded(tensor: Any, region: Region, depth: int) -> int | None:
    """The rank that a reader in this very graph needs `tensor` to have, on every run."""
    if depth == 0:
        return None
    for reader in tensor.outputs:
        if not region.is_plain(reader):
            continue
        found = _demanded_by(reader, tensor, region, depth)
        if found is not None:
            return found
    return None


def _demanded_by(reader: Node, tensor: Any, region: Region, depth: int) -> int | None:
    first = reader.inputs[0] is tensor
    if reader.op in ("LSTM", "GRU", "RNN"):
        return 3 if any(reader.inputs[i] is tensor for i in (0, 5, 6) if i < len(reader.inputs)) else None
    if reader.op == "Gemm":
        return 2 if first or reader.inputs[1] is tensor else None
    if reader.op in ("Conv", "ConvTranspose"):
        return region.rank(reader.inputs[1]) if first else None
    if reader.op in UNARY and first:
        return _demanded(reader.outputs[0], region, depth - 1)
    if reader.op in ("Unsqueeze", "Squeeze") and first:
        axes = region.ints(reader, 1, "axes")
        after = None if axes is None else _demanded(reader.outputs[0], region, depth - 1)
        if axes is None or after is None:
            return None
        return after - len(axes) if reader.op == "Unsqueeze" else after + len(axes)
    return None


def _may_have(tensor: Any, rank: int, region: Region, depth: int) -> bool:
    ranks = _ranks(tensor, region, depth)
    return ranks is None or rank in ranks


def _ranks(tensor: Any, region: Region, depth: int) -> set[int] | None:
    """Every rank `tensor` may have; None if that is not known."""
    known = region.rank(tensor)
    if known is not None:
        return {known}
    maker = tensor.inputs[0] if tensor.inputs and depth else None
    if maker is None or maker.domain:
        return None
    if maker.op == "If":
        k = next(i for i, t in enumerate(maker.outputs) if t is tensor)
        found: set[int] = set()
        for value in maker.attrs.values():
            inner = _ranks(value.outputs[k], region, depth - 1) if isinstance(value, Graph) else None
            if inner is None:
                return None
            found |= inner
        return found
    if maker.op in UNARY:
        return _ranks(maker.inputs[0], region, depth - 1)
    if maker.op in ("Unsqueeze", "Squeeze"):
        axes = region.ints(maker, 1, "axes")
        before = _ranks(maker.inputs[0], region, depth - 1) if axes is not None else None
        if axes is None or before is None:
            return None
        return {r + len(axes) if maker.op == "Unsqueeze" else r - len(axes) for r in before}
    return None
