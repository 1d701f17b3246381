"""Why a node is as it is after a dry run: what would be done with it, what was refused at it or beside it, and which rules found nothing."""

from __future__ import annotations

from dataclasses import dataclass

from exec.errors import OptionError, nearest
from exec.ir import Model, Node
from exec.ir.editing import walk
from passes import catalog
from passes.report import Application, Refused, Report


@dataclass(frozen=True, slots=True)
class Why:
    """One node of the original.

    done     rewrites that it is part of
    refused  rewrites that nearly were, here first, then at the nodes it reads and those that read it
    silent   rules that start from such an operator and did not find their pattern
    """

    node: str
    op: str
    done: tuple[Application, ...]
    refused: tuple[Refused, ...]
    silent: tuple[str, ...]


def why(model: Model, report: Report, name: str) -> Why:
    """What `report` says of the node called `name`: its name, one of its outputs, or Op#3 for the fourth node of the main graph."""
    node = _node(model, name)
    own = source_name(node)
    beside = {source_name(n) for t in (*node.inputs, *node.outputs) for n in (*t.inputs, *t.outputs)} - {own}
    done = tuple(a for a in report.applied if own in a.sources)
    here = tuple(r for r in report.refused if own in r.sources)
    near = tuple(r for r in report.refused if beside.intersection(r.sources) and r not in here)
    spoke = {a.rule for a in done} | {r.rule for r in (*here, *near)}
    ran = set(report.passes)
    silent = tuple(
        line.id
        for line in catalog.LISTED.values()
        if node.op in line.on.split() and line.id in ran and line.id not in spoke
    )
    return Why(name, node.op, done, (*here, *near), silent)


def source_name(node: Node) -> str:
    """What provenance calls a node of the original."""
    return node.name or f"{node.op}:{node.outputs[0].name if node.outputs else ''}"


def _node(model: Model, name: str) -> Node:
    found: dict[str, Node] = {}
    for graph in (g for top in (model.graph, *model.functions) for g in walk(top)):
        for index, node in enumerate(graph.nodes):
            for alias in (node.name, *(t.name for t in node.outputs), f"{node.op}#{index}"):
                if alias:
                    found.setdefault(alias, node)
    if name not in found:
        raise OptionError(f"no node {name!r}", hint=nearest(name, found) or "`owb nodes MODEL` lists them")
    return found[name]
