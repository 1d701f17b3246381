"""A part of a graph as a picture, as text for other tools, or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exec.errors import OptionError, nearest
from exec.ir import Model
from workbench.drawing.dag import Box, Drawing, draw
from workbench.nodes import NodeTable, neighbours, node_table
from workbench.render import units
from workbench.render.text import display_name
from workbench.shapes import inferred

MOST_DRAWN = 5000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Nodes and the wires between them.

    rows   of the node table
    edges  (from, to) as positions in `rows`
    """

    labels: tuple[str, ...]
    ops: tuple[str, ...]
    shapes: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]


def near(table: NodeTable, start: Sequence[int], hops: int) -> list[int]:
    """Rows within `hops` wires of the given ones, in order."""
    row_of = {id(node): r for r, node in enumerate(table.node)}
    seen, edge = set(start), set(start)
    for _ in range(hops):
        edge = {row_of[id(n)] for r in edge for n in neighbours(table.node[r]) if id(n) in row_of} - seen
        seen |= edge
    return sorted(seen)


def excerpt(model: Model, around: str | None = None, hops: int = 2) -> Excerpt:
    """The main graph, or what lies within `hops` wires of a node."""
    table = node_table(model, shapes=inferred(model))
    rows = [r for r in range(len(table)) if not table.id[r].graph]
    if around is not None:
        rows = _near(table, rows, around, hops)
    rows = [r for r in rows if table.op[r] != "Constant" or around is not None]
    return _excerpt(table, rows)


def _excerpt(table: NodeTable, rows: Sequence[int]) -> Excerpt:
    place = {id(table.node[r]): k for k, r in enumerate(rows)}
    edges: dict[tuple[int, int], None] = {}
    for k, r in enumerate(rows):
        for tensor in table.node[r].outputs:
            for reader in tensor.outputs:
                if id(reader) in place:
                    edges.setdefault((k, place[id(reader)]))
    labels = tuple(table.label(r) for r in rows)
    return Excerpt(
        labels, tuple(table.op[r] for r in rows), tuple(units.shape(table.shape[r]) for r in rows), tuple(edges)
    )


def _near(table: NodeTable, rows: list[int], around: str, hops: int) -> list[int]:
    start = [r for r in rows if table.label(r) == around]
    if not start:
        raise OptionError(f"no node {around!r}", hint=nearest(around, [table.label(r) for r in rows]))
    inside = set(rows)
    return [r for r in near(table, start, hops) if r in inside]


def picture(part: Excerpt) -> Drawing:
    """Boxes with operator, name and shape."""
    if len(part.labels) > MOST_DRAWN:
        raise OptionError(
            f"{len(part.labels):,} nodes are too many to draw",
            hint="--around NODE --hops 3 draws a part; --format dot writes all",
        )
    boxes = [
        Box((display_name(op, 30), display_name(label, 30), display_name(shape, 30)), display_name(label, 24))
        for op, label, shape in zip(part.ops, part.labels, part.shapes, strict=True)
    ]
    return draw(boxes, part.edges)


CELL = (7.8, 16)
"""Pixels of a character of 13 px monospace, and of a line."""


def to_svg(part: Excerpt) -> str:
    """The same picture as an SVG file: every character in its cell."""
    drawing = picture(part)
    wide, tall = CELL
    width, height = drawing.width * wide + 16, drawing.height * tall + 16
    rows = "\n".join(
        f'<text x="8" y="{8 + (k + 0.8) * tall:.1f}" textLength="{len(line) * wide:.1f}">{_escaped(line)}</text>'
        for k, line in enumerate(drawing.lines())
        if line
    )
    style = "text{font:13px ui-monospace,Menlo,Consolas,monospace;white-space:pre;fill:#1b1f24}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>\n{rows}\n</svg>'
    )


def _escaped(text: str) -> str:
    """Text as XML takes it; blanks stay as wide as they are."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(" ", "\u00a0")


def to_dot(part: Excerpt) -> str:
    """Graphviz."""
    lines = ["digraph model {", "  rankdir=TB; node [shape=box, style=rounded, fontname=monospace];"]
    lines += [f"  n{k} [label={_quoted(op, label, shape)}];" for k, (op, label, shape) in enumerate(_rows(part))]
    lines += [f"  n{a} -> n{b};" for a, b in part.edges]
    return "\n".join([*lines, "}"])


def to_mermaid(part: Excerpt) -> str:
    """A Mermaid flowchart."""
    lines = ["flowchart TD"]
    for k, (op, label, shape) in enumerate(_rows(part)):
        text = "<br>".join(display_name(t).replace('"', "#quot;").replace("<", "#lt;") for t in (op, label, shape))
        lines.append(f'  n{k}["{text}"]')
    return "\n".join([*lines, *(f"  n{a} --> n{b}" for a, b in part.edges)])


def _rows(part: Excerpt) -> zip[tuple[str, str, str]]:
    return zip(part.ops, part.labels, part.shapes, strict=True)


def _quoted(*parts: str) -> str:
    safe = "\n".join(map(display_name, parts))
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
