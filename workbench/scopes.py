"""The scopes that node names spell: a tree with counts, for views and queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

ROOT = ""


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
    label     its last part
    level     0 for the root
    first     position of its first node in the graph's order
    nodes     how many nodes lie in it and below
    own       how many lie directly in it
    """

    path: str
    label: str
    level: int
    first: int
    nodes: int
    own: int


def scope_tree(scopes: Sequence[str]) -> tuple[Scope, ...]:
    """The tree over the nodes' scopes, in depth-first order; children in the order of their first node."""
    total: dict[str, int] = {ROOT: 0}
    own: dict[str, int] = {}
    first: dict[str, int] = {ROOT: 0}
    children: dict[str, list[str]] = {ROOT: []}
    chains: dict[str, tuple[str, ...]] = {}
    for index, scope in enumerate(scopes):
        chain = chains.get(scope)
        if chain is None:
            chain = chains[scope] = (ROOT, *parts(scope))
            for above, below in pairwise(chain):
                if below not in children:
                    children[below] = []
                    children[above].append(below)
                    first[below], total[below] = index, 0
        for path in chain:
            total[path] += 1
        own[scope] = own.get(scope, 0) + 1
    rows: list[Scope] = []
    stack = [(ROOT, 0, "")]
    while stack:
        path, level, above = stack.pop()
        label = path[len(above) :].lstrip("/.") if above else path.lstrip("/")
        rows.append(Scope(path, label or "/", level, first[path], total[path], own.get(path, 0)))
        stack.extend((child, level + 1, path) for child in reversed(children[path]))
    return tuple(rows)
