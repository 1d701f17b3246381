from __future__ import annotations

from collections.abc import Iterator

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region


class RemoveDeadCode(Rewrite):
    """Remove nodes whose values nobody reads.

    What    A node none of whose outputs is read or handed out goes, and then what only it read.
    Why     It is computed for nothing.
    When    Always.
    Not     Nodes of foreign domains, which may do more than compute.
    Safety  EXACT: nothing that is read changes.
    Source  Dead code elimination.
    """

    id = "remove-dead-code"
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Exp (x)  b = Relu (a)  y = Neg (x) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Neg (x) } """

    def find(self, region: Region) -> Iterator[Patch | Refusal]:
        for node in reversed(list(region.nodes())):
            if region.alive(node) and all(region.is_unread(t) for t in node.outputs):
                if foreign(node, region):
                    yield Refusal("it is of a foreign domain, and may do more than compute", node, self.id)
                else:
                    yield self.patch(region, node)


def foreign(node: Node, region: Region) -> bool:
    """Whether a node is of a domain whose ops are not the specification's and not the model's own."""
    known = any(key[:2] == (node.domain, node.op) for key in region.workspace.functions)
    return bool(node.domain) and node.domain != "ai.onnx.ml" and not known
