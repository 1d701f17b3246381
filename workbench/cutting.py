"""A chosen set of nodes as a model of its own: which values flow in and out, and the cut."""

from __future__ import annotations

from collections.abc import Sequence

from exec.errors import OptionError
from exec.ir import Constant, Model
from workbench.editing import extract
from workbench.lookup import Lookup


def borders(lookup: Lookup, rows: Sequence[int]) -> tuple[list[str], list[str]]:
    """Names of the values that the nodes read from outside, and of those that are read outside or are outputs."""
    nodes = [lookup.table.node[r] for r in rows]
    inside = {id(n) for n in nodes}
    ends = {id(t) for t in lookup.model.graph.outputs}
    ins: dict[str, None] = {}
    outs: dict[str, None] = {}
    for node in nodes:
        for t in node.inputs:
            if (
                t.name
                and not isinstance(t, Constant)
                and not any(id(n) in inside or n.op == "Constant" for n in t.inputs)
            ):
                ins.setdefault(t.name)
        for t in node.outputs:
            if t.name and (id(t) in ends or any(id(n) not in inside for n in t.outputs) or not t.outputs):
                outs.setdefault(t.name)
    return list(ins), list(outs)


def cut(lookup: Lookup, rows: Sequence[int]) -> Model:
    """The nodes between the borders of the chosen ones, as a model."""
    if any(lookup.table.id[r].graph for r in rows):
        raise OptionError("nodes of a subgraph cannot be cut out", hint="choose nodes of the main graph")
    ins, outs = borders(lookup, rows)
    return extract(lookup.model, ins, outs)
