"""One line a node, with the wires as rails at its left: the compact drawing, as tall as the list and never wider than `most` rails.

A rail carries what one node makes, from that node down to its last reader; `├` taps it, `╯` ends it. Nodes come in order of execution.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST = 10
NODE, BEYOND = "●", "…"
_PITCH = 2


def rails(reads: Sequence[Sequence[int]], most: int = MOST) -> list[str]:
    """The rails beside each node; `reads` are the earlier nodes whose values it takes.

    most  rails beyond this many share one column, drawn as …
    """
    last: dict[int, int] = {}
    for node, makers in enumerate(reads):
        for maker in makers:
            if maker < node:
                last[maker] = node
    lanes: list[int | None] = []
    out = []
    for node, makers in enumerate(reads):
        taken = [k for k, maker in enumerate(lanes) if maker is not None and maker in makers]
        ending = [k for k in taken if last[lanes[k]] == node]  # type: ignore[index]
        free = next((k for k, maker in enumerate(lanes) if maker is None), len(lanes))
        at = ending[0] if ending else free
        if at == len(lanes):
            lanes.append(None)
        out.append(_line(lanes, at, taken, set(ending), most))
        for k in ending:
            lanes[k] = None
        lanes[at] = node if node in last else None
        while lanes and lanes[-1] is None:
            lanes.pop()
    return out


def _line(lanes: Sequence[int | None], at: int, taken: Sequence[int], ending: set[int], most: int) -> str:
    """The row of a node at lane `at`: wires run sideways from the rails it reads."""
    left, right = min([at, *taken]), max([at, *taken])
    cells: list[str] = []
    for k in range(min(len(lanes), most)):
        inside = left <= k <= right
        if k == at:
            glyph = NODE
        elif k in taken:
            end = k in ending
            glyph = ("╯" if k > at else "╰") if end else ("┤" if k > at else "├")
            if left < k < right:
                glyph = "┴" if end else "┼"
        elif lanes[k] is not None:
            glyph = "┼" if left < k < right else "│"
        else:
            glyph = "─" if left < k < right else " "
        cells.append(glyph + ("─" if inside and k < right else " ") * (_PITCH - 1))
    if len(lanes) > most:
        cells.append((NODE if at >= most else BEYOND) + " " * (_PITCH - 1))
    return "".join(cells).rstrip()
