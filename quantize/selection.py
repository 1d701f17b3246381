"""Which nodes to quantize: names, operators, wildcards and scopes in, nodes out; a selector that matches nothing is an error."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence

from exec.errors import OptionError, nearest
from exec.ir import Graph, Node
from exec.wording import counted
from passes.patch import SOURCE


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


Selector = str | frozenset[str]
"""A text as in `matching`, or the names a query found."""


def matching(nodes: Sequence[Node], selectors: Sequence[Selector], option: str) -> set[int]:
    """ids of the nodes that any selector names.

    A selector is a node's name, an operator type, a pattern with * or ?, a scope (`/model/layers.3`), `name:~regex`, or `op:Type`.
    A node that was made of several also goes by their names.
    """
    found: set[int] = set()
    for selector in selectors:
        here = {id(n) for n in nodes if _is(n, selector)}
        if not here:
            raise _nothing(nodes, selector, option)
        found |= here
    return found


def names_of(node: Node) -> tuple[str, ...]:
    """The node's name, and those of the original's nodes it was made of."""
    sources = node.metadata.get(SOURCE)
    return (node.name, *(json.loads(sources) if sources else ()))


def _nothing(nodes: Sequence[Node], selector: Selector, option: str) -> OptionError:
    why = f"looked at {counted(len(nodes), 'node')}"
    if isinstance(selector, frozenset):
        return OptionError(f"no node that the {option} query found is left", why=why)
    known = [*(name for n in nodes for name in names_of(n)), *{n.op for n in nodes}]
    return OptionError(f"{option} {selector!r} matches no node", why=why, hint=nearest(selector, known))


def _is(node: Node, selector: Selector) -> bool:
    names = names_of(node)
    if isinstance(selector, frozenset):
        return not selector.isdisjoint(names)
    return bool(selector) and any(_named(name, node.op, selector) for name in names)


def _named(name: str, op: str, selector: str) -> bool:
    if selector.startswith("op:"):
        return op == selector[3:]
    if selector.startswith("name:~"):
        # a recipe's selectors may come from a stranger
        from exec.regexes import for_names

        try:
            return for_names(selector[6:]).search(name) is not None
        except ValueError as error:
            raise OptionError(f"{selector!r} selects nothing", why=str(error)) from None
    if any(c in selector for c in "*?["):
        return fnmatch.fnmatchcase(name, selector) or fnmatch.fnmatchcase(op, selector)
    return selector in (name, op) or name.startswith((selector.rstrip("/") + "/", selector.rstrip(".") + "."))
