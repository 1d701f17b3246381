"""Which nodes to quantize: names, operators, wildcards and scopes in, nodes out; a selector that matches nothing is an error."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from exec.errors import OptionError, nearest
from exec.ir import Graph, Node


def name_nodes(graph: Graph) -> None:
    """Give nodes without a name a stable one, Operator_index; the graph is ours."""
    taken = {n.name for n in graph.nodes}
    for index, node in enumerate(graph.nodes):
        if not node.name:
            name = f"{node.op}_{index}"
            while name in taken:
                name += "_"
            node.name = name
            taken.add(name)


def matching(nodes: Sequence[Node], selectors: Sequence[str], option: str) -> set[int]:
    """ids of the nodes that any selector names.

    A selector is a node's name, an operator type, a pattern with * or ?, a scope (`/model/layers.3`), `name:~regex`, or `op:Type`.
    """
    found: set[int] = set()
    for selector in selectors:
        here = {id(n) for n in nodes if _is(n, selector)}
        if not here:
            known = [*(n.name for n in nodes), *{n.op for n in nodes}]
            raise OptionError(
                f"{option} {selector!r} matches no node",
                why=f"looked at {len(nodes)} nodes",
                hint=nearest(selector, known),
            )
        found |= here
    return found


def _is(node: Node, selector: str) -> bool:
    if selector.startswith("op:"):
        return node.op == selector[3:]
    if selector.startswith("name:~"):
        import re

        try:
            return re.search(selector[6:], node.name) is not None
        except re.error as error:
            raise OptionError(f"{selector!r} is no regular expression", why=str(error)) from None
    if any(c in selector for c in "*?["):
        return fnmatch.fnmatchcase(node.name, selector) or fnmatch.fnmatchcase(node.op, selector)
    return selector in (node.name, node.op) or node.name.startswith(
        (selector.rstrip("/") + "/", selector.rstrip(".") + ".")
    )
