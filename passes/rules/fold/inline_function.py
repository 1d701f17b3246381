from __future__ import annotations

from collections.abc import Iterator

from exec.expansion import expanded_nodes
from exec.ir import Function, Node
from exec.ir.opsets import schema_of
from exec.program import body_opsets, function_key
from passes.base import Refusal, Rewrite
from passes.inline import Inliner, resolved
from passes.patch import Patch
from passes.region import Region

MOST_NODES = 200_000
"""Calls are expanded only if the whole model then has no more nodes than this."""


class InlineFunction(Rewrite):
    """Replace a call of a model-local function by the function's nodes.

    What    y = f(x)  becomes  the body of f.
    Why     Exporters wrap layers into functions; their insides are hidden from every other rule.
    When    The body's ops mean the same in the opset of the caller; attributes it refers to are given or have defaults.
    Not     Functions of another opset in which an op it uses is another version; functions that call themselves.
    Safety  EXACT: the same nodes run.
    Source  ONNX FunctionProto.
    """

    id = "inline-function"
    BEFORE = """ <ir_version: 10, opset_import: ["": 17, "d": 1]> g (float[2,3] x) => (float[2,3] y) { y = d.f (x) }
        <domain: "d", opset_import: ["": 17]> f (a) => (b) { t = Relu (a)  b = Neg (t) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { t = Relu (x)  y = Neg (t) } """

    def find(self, region: Region) -> Iterator[Patch | Refusal]:
        if region.is_function:
            return
        functions = {function_key(f.domain, f.name, f.overload): f for f in region.workspace.model.graph.functions}
        if not functions:
            return
        size = expanded_nodes(region.workspace.model.graph, functions, function_key)
        if size > MOST_NODES:
            caller = next((n for n in region.nodes() if function_key(n.domain, n.op, n.overload) in functions), None)
            if caller is not None:
                yield Refusal(
                    f"expanding every call would make {size:,} nodes, {MOST_NODES:,} are allowed", caller, self.id
                )
            return
        pending = list(region.nodes())
        while pending:
            node = pending.pop(0)
            function = functions.get(function_key(node.domain, node.op, node.overload))
            if function is None or not region.alive(node):
                continue
            found = self._inline(node, function, region)
            yield found
            if isinstance(found, Patch):
                pending[:0] = [n for n, anchor in region.added.items() if anchor is node]

    def _inline(self, node: Node, function: Function, region: Region) -> Patch | Refusal:
        reason = _uncallable(node, function) or _unfit(function, region)
        if reason:
            return Refusal(reason, node, self.id)
        patch = self.patch(region, node)
        values = {t: node.inputs[k] if k < len(node.inputs) else None for k, t in enumerate(function.inputs)}
        values = {t: v for t, v in values.items() if v is not None}
        prefix = f"{node.name or node.op}/"
        inliner = Inliner(patch, values, attrs=resolved(node, function.attrs), prefix=prefix, once=False)
        outs = [
            node.outputs[k] if k < len(node.outputs) and node.outputs[k].name else None
            for k in range(len(function.outputs))
        ]
        results = inliner.add(function, outs)
        for out, result in zip(outs, results, strict=True):
            if out is not None and out is not result:
                patch.replace(out, result)
        return patch


def _uncallable(node: Node, function: Function) -> str:
    """How the call has more than the function takes or gives, or "": such a call would stay beside its own body."""
    for what, given, known in (
        ("inputs", node.inputs, function.inputs),
        ("outputs", node.outputs, function.outputs),
    ):
        if len(given) > len(known):
            return f"the call has {len(given)} {what}, {function.name} has {len(known)}"
    return ""


def _unfit(function: Function, region: Region) -> str:
    """Why the body may mean something else here, or ""."""
    opsets = body_opsets(function)
    outer = {**region.workspace.model.opsets, "": region.opset}
    for node in function.nodes:
        if (node.domain, node.op) == (function.domain, function.name):
            return f"{function.name} calls itself"
        inner, here = opsets.get(node.domain, 0), outer.get(node.domain, 0)
        if inner == here:
            continue
        a, b = (schema_of(node.op, v, node.domain) if v else None for v in (inner, here))
        if node.domain and a is None and not here:
            return f"the model does not import the domain {node.domain}"
        if a is None or b is None or a.since_version != b.since_version:
            return f"{node.op} is another version in opset {inner} of the function than in {here} of the model"
    return ""
