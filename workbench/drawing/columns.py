"""Where each item stands horizontally: near the middle of its neighbours, in order, without touching."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.drawing.layers import Layered

_PASSES = 3
GAP = 2


def centres(drawing: Layered, widths: Sequence[int]) -> list[int]:
    """The column of every item's middle; the leftmost box starts at column 0.

    Each layer is placed by the pool-adjacent-violators method: least squared distance to where its neighbours pull it, subject to
    the room its items need.
    """
    items = sum(map(len, drawing.order))
    above: list[list[int]] = [[] for _ in range(items)]
    below: list[list[int]] = [[] for _ in range(items)]
    for start, end in drawing.links:
        above[end].append(start)
        below[start].append(end)
    middle = [0.0] * items
    width = [widths[i] if i < drawing.boxes else 1 for i in range(items)]
    for layer in drawing.order:
        at = 0.0
        for item in layer:
            middle[item] = at + width[item] / 2
            at += width[item] + GAP
    for sweep in range(_PASSES):
        down = sweep % 2 == 0
        neighbours = above if down else below
        for layer in drawing.order if down else reversed(drawing.order):
            wish = [
                sum(middle[n] for n in neighbours[i]) / len(neighbours[i]) if neighbours[i] else middle[i]
                for i in layer
            ]
            for item, value in zip(layer, _place(wish, [width[i] for i in layer]), strict=True):
                middle[item] = value
    left = min((middle[i] - width[i] / 2 for i in range(items)), default=0.0)
    columns = [round(m - left) for m in middle]
    for layer in drawing.order:  # rounding may push two together
        end = -GAP
        for item in layer:
            start = columns[item] - width[item] // 2
            if start < end + GAP:
                columns[item] += end + GAP - start
            end = columns[item] - width[item] // 2 + width[item]
    return columns


def _place(wish: list[float], width: list[int]) -> list[float]:
    """Positions nearest to `wish` that keep order and distance."""
    offsets, total = [], 0.0
    for k, w in enumerate(width):
        total += w / 2 + (width[k - 1] / 2 + GAP if k else 0.0)
        offsets.append(total)
    blocks: list[list[float]] = []  # [sum of (wish - offset), count]
    for k, value in enumerate(wish):
        blocks.append([value - offsets[k], 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            last = blocks.pop()
            blocks[-1][0] += last[0]
            blocks[-1][1] += last[1]
    out: list[float] = []
    for shift, count in blocks:
        start = len(out)
        out += [shift / count + offsets[start + k] for k in range(int(count))]
    return out
