from __future__ import annotations

from exec.ir import Graph, Node
from exec.ir.opsets import schema_of
from passes.base import EVERY, Refusal, Rewrite
from passes.evaluate import evaluate
from passes.patch import Patch
from passes.region import Region

RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}
)
KEPT = frozenset({"Constant", "DequantizeLinear", "QuantizeLinear", "DynamicQuantizeLinear", "If", "Loop", "Scan"})
"""Constant nodes are lifted; quantized weights stay small; control flow has its own rules."""

SMALL = 256
"""Bytes of a repeated number that are written out at once."""


class FoldConstants(Rewrite):
    """Compute at once what has only constant inputs.

    What    k = f(constants)  becomes the constant k.
    Why     It is the same on every run.
    When    All inputs are constants of the file, the op is deterministic, and the file does not grow (`--grow` allows more).
    Not     Random ops; ops of foreign domains; DequantizeLinear of a weight (the small integers are the point); sequences.
    Safety  EXACT: the op's own kernel runs, on one thread.
    Source  Constant folding.
    """

    id = "fold-constants"
    roots = (EVERY,)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float[2,3] w> { a = Add(w, w)  b = Exp(a)  y = Mul(x, b) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) <float[2,3] k> { y = Mul(x, k) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if node.op in KEPT or not node.inputs or any(isinstance(v, Graph) for v in node.attrs.values()):
            return None
        if not all(not t.name or region.is_constant(t) for t in node.inputs):
            return None
        if node.op in RANDOM:
            return Refusal("random ops are not folded", node)
        if schema_of(node.op, region.opset) is None:
            return None
        if any(region.is_output(t) for t in node.outputs):
            return self._output(node, region)
        growth = _too_large(node, region)
        if growth is not None:
            return growth
        values = evaluate(node, region)
        if values is None:
            return _uncomputed(node)
        # A view of one number may stand for gigabytes where the shapes said nothing.
        growth = _grown(sum(v.nbytes for v in values if v is not None), node, region)
        if growth is not None:
            return growth
        patch = self.patch(region, node)
        for out, value in zip(node.outputs, values, strict=True):
            if out.name and value is not None:
                patch.redirects.append((out, patch.named(value, out.name)))
        return patch

    def _output(self, node: Node, region: Region) -> Patch | Refusal | None:
        """A graph output needs a node that makes it: a Constant."""
        if node.op == "Identity" or len(node.outputs) != 1:
            return None
        growth = _too_large(node, region)
        if growth is not None:
            return growth
        values = evaluate(node, region)
        if values is None or values[0] is None:
            return _uncomputed(node)
        growth = _grown(values[0].nbytes, node, region)
        if growth is not None:
            return growth
        patch = self.patch(region, node)
        patch.add(
            "Constant", [], {"value": patch.constant(values[0], node.outputs[0].name + "_value")}, out=node.outputs[0]
        )
        return patch


def _uncomputed(node: Node) -> Refusal:
    return Refusal(
        f"{node.op} of these constants has no dense tensor as its value, or takes more work than folding may", node
    )


def _too_large(node: Node, region: Region) -> Refusal | None:
    """Whether the shapes alone say that the result does not fit the budget; so nothing huge is ever computed."""
    total = 0
    for out in node.outputs:
        fact = region.fact(out)
        if fact.shape is None or fact.dtype is None:
            continue
        count = 1
        for d in fact.shape:
            count *= d if isinstance(d, int) else 1
        total += count * fact.dtype.itemsize
    if node.op == "ConstantOfShape" and total > SMALL and not region.workspace.ledger.last:
        region.workspace.ledger.wait()
        return Refusal("it repeats one number, of which other rules make more than of many", node)
    return _grown(total, node, region)


def _grown(total: int, node: Node, region: Region) -> Refusal | None:
    """Whether a value of `total` bytes is more than the file may grow by."""
    from passes.pipeline import NODE_BYTES, freed_bytes

    if total > NODE_BYTES and not region.workspace.ledger.affords(total, freed_bytes([node]) + NODE_BYTES):
        return Refusal(f"its value has {total} bytes: the file would grow (`--grow` allows it)", node)
    return None
