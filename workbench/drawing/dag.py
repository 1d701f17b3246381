"""`draw(boxes, edges) -> Drawing`: the whole picture, rows made on demand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.drawing.canvas import Canvas
from workbench.drawing.columns import centres
from workbench.drawing.layers import Edge, Layered, layered


@dataclass(frozen=True, slots=True)
class Box:
    """What stands in a box: a few short lines, already safe for a terminal. `name` labels stubs of edges that lead to it."""

    lines: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box was drawn, frame included."""

    left: int
    top: int
    width: int
    height: int
    layer: int


@dataclass(frozen=True)
class Drawing:
    """The picture.

    places  one a box
    order   the boxes of each layer from left to right, to move by
    """

    canvas: Canvas
    places: tuple[Place, ...]
    order: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return self.canvas.height

    @property
    def width(self) -> int:
        return self.canvas.width

    def lines(self) -> list[str]:
        """Every row as text."""
        return [self.canvas.text(row) for row in range(self.height)]


def draw(boxes: Sequence[Box], edges: Sequence[Edge], heavy: Collection[int] = ()) -> Drawing:
    """Lay boxes out in layers and route the edges between them.

    heavy  boxes in heavy lines, and the edges between two of them
    """
    plan = layered(len(boxes), edges)
    bold = _bold(plan, heavy)
    widths = [max(map(len, b.lines), default=0) + 4 for b in boxes]
    middle = centres(plan, widths)
    stubs_in, stubs_out = _stubs(boxes, plan.cut)
    canvas, places = Canvas(), [Place(0, 0, 0, 0, 0)] * len(boxes)
    by_layer = _links_by_layer(plan)
    top = 0
    for number, layer in enumerate(plan.order):
        real = [i for i in layer if i < plan.boxes]
        height = max((len(boxes[i].lines) + 2 for i in real), default=1)
        top += any(stubs_in[i] for i in real)
        for item in layer:
            if item >= plan.boxes:
                canvas.vertical(middle[item], top - 1 if number else top, top + height, heavy=item in bold)
                continue
            left = middle[item] - widths[item] // 2
            tall = len(boxes[item].lines) + 2
            places[item] = Place(left, top, widths[item], tall, number)
            canvas.frame(left, top, widths[item], tall, heavy=item in bold)
            _text(canvas, boxes[item], item, left, top, widths[item])
            if stubs_in[item]:
                canvas.write(top - 1, left, f"▲ {stubs_in[item]}", item)
            if stubs_out[item]:
                canvas.write(top + tall, left, f"▸ {stubs_out[item]}", item)
        top = _route(canvas, plan, by_layer[number], middle, places, top, height, any(stubs_out[i] for i in real), bold)
    return Drawing(canvas, tuple(places), tuple(tuple(i for i in layer if i < plan.boxes) for layer in plan.order))


def _stubs(boxes: Sequence[Box], cut: Sequence[Edge]) -> tuple[list[str], list[str]]:
    """For each box the names at the other ends of its cut edges."""
    into: list[list[str]] = [[] for _ in boxes]
    out: list[list[str]] = [[] for _ in boxes]
    for start, end in cut:
        into[end].append(boxes[start].name)
        out[start].append(boxes[end].name)

    def short(names: list[str]) -> str:
        return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")

    return list(map(short, into)), list(map(short, out))


def _bold(plan: Layered, heavy: Collection[int]) -> set[int]:
    """The heavy boxes, and the dummies on an edge from one of them to another."""
    bold = set(heavy)
    if not bold:
        return bold
    after: dict[int, int] = {start: end for start, end in plan.links if start >= plan.boxes}
    for start, end in plan.links:
        if start in heavy and end >= plan.boxes:
            line = [end]
            while line[-1] >= plan.boxes:
                line.append(after[line[-1]])
            if line[-1] in heavy:
                bold.update(line)
    return bold


def _text(canvas: Canvas, box: Box, item: int, left: int, top: int, width: int) -> None:
    for k, line in enumerate(box.lines):
        canvas.write(top + 1 + k, left + 1, f" {line.ljust(width - 4)} ", item)


def _links_by_layer(plan: Layered) -> list[list[Edge]]:
    layer_of = {item: number for number, layer in enumerate(plan.order) for item in layer}
    out: list[list[Edge]] = [[] for _ in plan.order]
    for link in plan.links:
        out[layer_of[link[0]]].append(link)
    return out


def _route(
    canvas: Canvas, plan: Layered, links: list[Edge], middle: list[int], places: list[Place], top: int, height: int, stubbed: bool, bold: set[int]
) -> int:  # fmt: skip
    """Draw the links below a layer; returns the first row of the next one.

    Links that must move sideways get a track of their own where others would touch them.
    """
    start_row = top + height + (1 if stubbed else 0)
    bent = sorted(
        (e for e in links if middle[e[0]] != middle[e[1]]),
        key=lambda e: (min(middle[e[0]], middle[e[1]]), max(middle[e[0]], middle[e[1]])),
    )
    tracks: list[list[Edge]] = []
    track_of: dict[Edge, int] = {}
    for edge in bent:
        for k, used in enumerate(tracks):
            if _shares(edge, used, middle):
                used.append(edge)
                track_of[edge] = k
                break
        else:
            track_of[edge] = len(tracks)
            tracks.append([edge])
    end_row = start_row + max(len(tracks), 1)
    for start, end in links:
        bottom = places[start].top + places[start].height - 1 if start < plan.boxes else top + height
        a, b, heavy = middle[start], middle[end], start in bold and end in bold
        if a == b:
            canvas.vertical(a, bottom, end_row, heavy=heavy)
            continue
        row = start_row + track_of[start, end]
        canvas.vertical(a, bottom, row, heavy=heavy)
        canvas.horizontal(row, min(a, b), max(a, b), heavy=heavy)
        canvas.vertical(b, row, end_row, heavy=heavy)
    return end_row


def _shares(edge: Edge, used: Sequence[Edge], middle: Sequence[int]) -> bool:
    """Whether an edge may lie in a track: it touches nothing there, or only edges of the same start, or only of the same end."""
    low, high = sorted((middle[edge[0]], middle[edge[1]]))
    touched = [u for u in used if not (high < min(middle[u[0]], middle[u[1]]) or low > max(middle[u[0]], middle[u[1]]))]
    return all(u[0] == edge[0] for u in touched) or all(u[1] == edge[1] for u in touched)
