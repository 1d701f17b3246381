"""Which layer each box stands in, and in which order within it.

Long edges, not many boxes, make layered drawings slow and unreadable: an edge over more than `LONGEST` layers becomes a pair of
named stubs. The rest gets one dummy a layer it crosses, and barycentre sweeps order the layers (Sugiyama, Tagawa, Toda 1981).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 6
_SWEEPS = 4

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layered:
    """Boxes 0…n−1 and, above them, dummies that stand for edges passing a layer.

    order  the items of each layer from left to right
    links  edges between neighbouring layers, dummies included
    cut    edges that became stubs
    """

    order: tuple[tuple[int, ...], ...]
    links: tuple[Edge, ...]
    cut: tuple[Edge, ...]
    boxes: int


def layered(count: int, edges: Sequence[Edge]) -> Layered:
    """Assign and order layers. Edges must not form a cycle; one that does is cut."""
    level, back = _levels(count, edges)
    kept = [e for e in dict.fromkeys(edges) if e not in back]
    level = _lowered(level, kept)
    cut = [e for e in kept if level[e[1]] - level[e[0]] > LONGEST]
    short = [e for e in kept if level[e[1]] - level[e[0]] <= LONGEST]
    layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for box in range(count):
        layers[level[box]].append(box)
    links: list[Edge] = []
    item = count
    for start, end in short:
        here = start
        for passing in range(level[start] + 1, level[end]):
            layers[passing].append(item)
            links.append((here, item))
            here, item = item, item + 1
        links.append((here, end))
    return Layered(tuple(map(tuple, _ordered(layers, links, item))), tuple(links), (*cut, *back), count)


def _levels(count: int, edges: Sequence[Edge]) -> tuple[list[int], set[Edge]]:
    """Longest-path layers (Kahn); what remains on a cycle stands after what it waits for."""
    readers: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in edges:
        readers[start].append(end)
        waiting[end] += 1
    level = [0] * count
    ready = deque(box for box in range(count) if not waiting[box])
    done = [False] * count
    seen = 0
    while seen < count:
        if not ready:  # a cycle: break it at its first box
            ready.append(next(box for box in range(count) if not done[box]))
        box = ready.popleft()
        if done[box]:
            continue
        done[box] = True
        seen += 1
        for reader in readers[box]:
            if done[reader]:
                continue
            level[reader] = max(level[reader], level[box] + 1)
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return level, {(a, b) for a, b in edges if level[b] <= level[a]}


def _lowered(level: list[int], edges: Sequence[Edge]) -> list[int]:
    """What hangs on no beginning of a longest path, say a reshaped constant, stands just above its first reader, not in one row at the top."""
    readers: list[list[int]] = [[] for _ in level]
    for start, end in edges:
        readers[start].append(end)
    down = sorted(range(len(level)), key=lambda box: -level[box])
    latest = list(level)
    for box in down:
        if readers[box]:
            latest[box] = min(latest[r] for r in readers[box]) - 1
    fixed = [not level[box] and latest[box] == level[box] for box in range(len(level))]
    for box in reversed(down):
        if fixed[box]:
            for reader in readers[box]:
                fixed[reader] = True
    found = list(level)
    for box in down:
        if readers[box] and not fixed[box]:
            found[box] = min(found[r] for r in readers[box]) - 1
    return found


def _ordered(layers: list[list[int]], links: Sequence[Edge], items: int) -> list[list[int]]:
    above: list[list[int]] = [[] for _ in range(items)]
    below: list[list[int]] = [[] for _ in range(items)]
    for start, end in links:
        above[end].append(start)
        below[start].append(end)
    place = [0.0] * items
    for layer in layers:
        for k, item in enumerate(layer):
            place[item] = float(k)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbours = above if down else below
        for layer in layers if down else reversed(layers):
            if len(layer) < 2:
                continue
            centre = {
                i: sum(place[n] for n in neighbours[i]) / len(neighbours[i]) if neighbours[i] else place[i]
                for i in layer
            }
            layer.sort(key=lambda i: (centre[i], place[i]))
            for k, item in enumerate(layer):
                place[item] = float(k)
    return layers
