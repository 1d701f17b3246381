from __future__ import annotations

from exec.ir import Graph, Node
from passes.base import Refusal, Rewrite
from passes.inline import Inliner
from passes.patch import Patch
from passes.region import Region


class InlineIf(Rewrite):
    """Replace an If whose condition is known by the branch that runs.

    What    If(true, then, else)  becomes  the nodes of `then`.
    Why     Exporters ask questions about shapes whose answers are fixed; a branch hides its nodes from every other rule.
    When    The condition is a constant, or known from shape arithmetic; branches inside branches follow by themselves.
    Not     Conditions that depend on the input.
    Safety  EXACT: the same nodes run.
    Source  ONNX If.
    """

    id = "inline-if"
    roots = ("If",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <bool c = {1}> {
        y = If (c) <then_branch = t () => (float[2,3] u) { u = Neg (x) }, else_branch = e () => (float[2,3] v) { v = Exp (x) }> } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Neg (x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        condition = region.constant(node.inputs[0])
        if condition is None or condition.size != 1:
            return None
        branch = node.attrs.get("then_branch" if condition.reshape(-1)[0] else "else_branch")
        if not isinstance(branch, Graph) or len(branch.outputs) != len(node.outputs):
            return None
        patch = self.patch(region, node)
        inliner = Inliner(patch, {})
        results = inliner.add(branch, list(node.outputs))
        for out, result in zip(node.outputs, results, strict=True):
            if out is not result and out.name:
                patch.replace(out, result)
        return patch
