"""The scopes that node names spell: a tree with counts, for views and queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from exec.ir import Graph, Node
from exec.ir.names import text

ROOT = ""
RECORDED = "pkg.torch.onnx.name_scopes"
_QUOTED = re.compile("'([^']*)'")


def scope_of(name: str, op: str = "") -> str:
    """ "/model.22/cv3/conv/Conv" → "/model.22/cv3/conv"; dots part a name that has no slash; "" when there is no scope.

    op   the node's operator: "p2o.Conv.3" counts Conv nodes, it does not say that they lie together, so its scope is "p2o"
    """
    separator = "/" if "/" in name else "."
    scope = name.rpartition(separator)[0]
    above, _, label = scope.rpartition(separator)
    return above if separator == "." and label == op and op else scope


def parts(scope: str) -> tuple[str, ...]:
    """The steps from the root: "/model.22/cv3" → ("/model.22", "/model.22/cv3")."""
    separator = "/" if "/" in scope else "."
    found = []
    at = scope.find(separator, 1)
    while at != -1:
        found.append(scope[:at])
        at = scope.find(separator, at + 1)
    if scope:
        found.append(scope)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Scope:
    """One row of the tree.

    path      the whole scope name, "" for the root
    level     0 for the root
    first     position of its first node in the graph's order
    nodes     how many nodes lie in it and below
    own       how many lie directly in it
    """

    path: str
    level: int
    first: int
    nodes: int
    own: int

    @property
    def label(self) -> str:
        """Its last part, "/" for the root."""
        return self.path.rpartition("/" if "/" in self.path else ".")[2] or "/"


def scope_tree(scopes: Sequence[str]) -> tuple[Scope, ...]:
    """The tree over the nodes' scopes, in depth-first order; children in the order of their first node."""
    number, paths = {ROOT: 0}, [ROOT]
    above, first, total, own = [0], [0], [0], [0]
    children: dict[int, list[int]] = {}
    for index, scope in enumerate(scopes):
        at = number.get(scope)
        if at is None:
            at = 0
            for path in parts(scope):
                found = number.get(path)
                if found is None:
                    found = number[path] = len(paths)
                    paths.append(path)
                    above.append(at)
                    first.append(index)
                    total.append(0)
                    own.append(0)
                    children.setdefault(at, []).append(found)
                at = found
        own[at] += 1
        total[0] += 1
        while at:
            total[at] += 1
            at = above[at]
    rows: list[Scope] = []
    stack = [(0, 0)]
    while stack:
        at, level = stack.pop()
        rows.append(Scope(paths[at], level, first[at], total[at], own[at]))
        stack.extend((child, level + 1) for child in reversed(children.get(at, ())))
    return tuple(rows)


def modules(graph: Graph) -> dict[str, str]:
    """Node name → the module it was exported from, where PyTorch's exporter recorded one."""
    return {n.name: module for n in graph.nodes if n.name and (module := module_of(n))}


def module_of(node: Node) -> str:
    """The innermost module of a record such as "['', 'model', 'model.encoder', 'view_2']": "model.encoder"; "" without one.

    Read beside the node's metadata, which would be kept once it was asked for.
    """
    proto = node._proto()
    if proto is None or not proto.metadata_props:
        return ""
    modules = _QUOTED.findall(text(next((e.value for e in proto.metadata_props if e.key == RECORDED), "")))
    return modules[-2] if len(modules) > 1 else ""
