"""What a dry run says of one node: what would be done with it, what was refused at it or beside it, and which rules found nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from exec.errors import OptionError, nearest
from exec.ir import Model, Node
from exec.ir.editing import walk
from passes import catalog
from passes.patch import provenance
from passes.report import Application, Refused, Report


@dataclass(frozen=True, slots=True)
class Could:
    """One rule and this node.

    ready   it would be applied; place is which of the rule's applications
    reason  why not, where it was refused
    """

    rule: str
    ready: bool
    place: int
    reason: str


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


def could_be(report: Report, label: str) -> tuple[Could, ...]:
    """Rules that concern the node of a name, the ready ones first; each rule once."""
    found: dict[str, Could] = {}
    counts: dict[str, int] = {}
    for a in report.applied:
        place = counts[a.rule] = counts.get(a.rule, -1) + 1
        if _concerns(a, label):
            found.setdefault(a.rule, Could(a.rule, True, place, a.note))
    for r in report.refused:
        if _concerns(r, label):
            found.setdefault(r.rule, Could(r.rule, False, 0, r.reason))
    return tuple(sorted(found.values(), key=lambda c: not c.ready))


def why(model: Model, report: Report, name: str) -> Why:
    """What `report` says of the node called `name`: its name, one of its outputs, or Op#3 for the fourth node of the main graph."""
    node = _node(model, name)
    own = set(provenance((node,)))
    around = [n for t in (*node.inputs, *node.outputs) for n in (*t.inputs, *t.outputs)]
    beside = set(provenance(around)) - own
    done = tuple(a for a in report.applied if own.intersection(a.sources))
    here = tuple(r for r in report.refused if own.intersection(r.sources))
    near = tuple(r for r in report.refused if beside.intersection(r.sources) and r not in here)
    spoke = {a.rule for a in done} | {r.rule for r in (*here, *near)}
    ran = set(report.passes)
    silent = tuple(
        line.id
        for line in catalog.LISTED.values()
        if node.op in line.on.split() and line.id in ran and line.id not in spoke
    )
    return Why(name, node.op, done, (*here, *near), silent)


def _concerns(event: Application | Refused, label: str) -> bool:
    """Whether a node of the original, or one that is called so now, is part of it."""
    if label in event.sources:
        return True
    return label in event.node and re.search(rf"(?<![\w/.]){re.escape(label)}(?![\w/.])", event.node) is not None


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
