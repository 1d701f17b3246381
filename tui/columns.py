"""Columns of a list: fixed widths, one flexible, the least important leave first when it gets narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tui.line import Line, Span, fit


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a list.

    cells   its width; 0 takes what is left
    rank    0 always stays; higher ranks leave first
    keep    which end of a text that is too long stays: "start" or "end"
    """

    title: str
    cells: int = 0
    right: bool = False
    rank: int = 0
    keep: str = "start"


@lru_cache(maxsize=64)
def shown(columns: tuple[Column, ...], width: int, least: int = 16) -> tuple[tuple[int, int], ...]:
    """(index, cells) of the columns that fit in `width`, one blank between them."""
    chosen = list(range(len(columns)))

    def need(picked: list[int]) -> int:
        return sum(columns[i].cells or least for i in picked) + len(picked) - 1

    while len(chosen) > 1 and need(chosen) > width:
        droppable = [i for i in chosen if columns[i].rank]
        if not droppable:
            break
        chosen.remove(max(droppable, key=lambda i: (columns[i].rank, i)))
    fixed = sum(columns[i].cells for i in chosen) + len(chosen) - 1
    flexible = [i for i in chosen if not columns[i].cells]
    share, rest = divmod(max(width - fixed, 0), len(flexible)) if flexible else (0, 0)
    return tuple((i, columns[i].cells or share + (rest if i == flexible[-1] else 0)) for i in chosen)


def heading(columns: tuple[Column, ...], width: int) -> list[Span]:
    """The row of titles."""
    out: list[Span] = []
    for k, (i, cells) in enumerate(shown(columns, width)):
        out.append(((" " if k else "") + fit(columns[i].title, cells, right=columns[i].right), "dim"))
    return out


def row(columns: tuple[Column, ...], cells: Sequence[Span | Line], width: int) -> list[Span]:
    """One row; a cell is a span, or a line of spans that already has its width."""
    out: list[Span] = []
    for k, (i, size) in enumerate(shown(columns, width)):
        if k:
            out.append((" ", "fg"))
        cell = cells[i]
        if cell and isinstance(cell[0], str):
            text, token = cell[0], str(cell[1])
            out.append((fit(text, size, right=columns[i].right, keep=columns[i].keep), token))
        else:
            out.extend(cell)  # type: ignore[arg-type]
    return out


def time_unit(total_ns: float) -> tuple[str, float, int]:
    """(unit, nanoseconds in it, decimals): one unit for a whole column, so that it can be compared down the list."""
    return ("µs", 1e3, 2) if total_ns < 1e6 else ("ms", 1e6, 3)
