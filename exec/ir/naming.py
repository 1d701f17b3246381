"""Names nothing in a graph has yet."""

from __future__ import annotations

from exec.ir.editing import walk
from exec.ir.graph import Graph


class Names:
    """The names of a graph and of the graphs inside it, for giving out new ones: collected once, then every call is cheap."""

    def __init__(self, graph: Graph) -> None:
        self.taken = names_of(graph)

    def unique(self, base: str) -> str:
        """`base` if nothing has it, else the first free of `base_1`, `base_2`, …; taken from now on."""
        name, number = base, 0
        while not name or name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


def unique_name(graph: Graph, base: str) -> str:
    """A name no value and no node of the graph has. It looks at the whole graph: in a loop, keep a `Names`."""
    return Names(graph).unique(base)


def names_of(graph: Graph) -> set[str]:
    """Every value and node name in a graph and the graphs inside it."""
    found: set[str] = set()
    for part in walk(graph):
        found.update([tensor.name for tensor in part.inputs], [tensor.name for tensor in part.outputs])
        for node in part.nodes:
            found.add(node.name)
            found.update([tensor.name for tensor in node.inputs], [tensor.name for tensor in node.outputs])
    return found
