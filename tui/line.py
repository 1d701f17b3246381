"""A line of styled text: spans of (text, token), laid out in cells, cut with an ellipsis. No markup anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip

from tui import glyphs
from tui.theme import Palette

Span = tuple[str, str]
Line = Sequence[Span]


def width_of(line: Line) -> int:
    """Cells the line takes."""
    return sum(cell_len(text) for text, _ in line)


def fit(text: str, cells: int, *, right: bool = False, keep: str = "start") -> str:
    """`text` in exactly `cells` cells; too long is cut with … at its end, or at its start with keep="end"."""
    if cells <= 0:
        return ""
    length = cell_len(text)
    if length > cells:
        if keep == "end":
            while cell_len(text) > cells - 1:
                text = text[1:]
            return "…" + set_cell_size(text, cells - 1)
        return set_cell_size(text, cells - 1) + "…"
    space = " " * (cells - length)
    return space + text if right else text + space


def strip(line: Line, cells: int, palette: Palette, *, ground: str = "bg", ascii_only: bool = False) -> Strip:
    """The line as a Textual strip of exactly `cells` cells."""
    if width_of(line) > cells:
        line = clip(line, cells)
    segments = [
        Segment(glyphs.plain(text) if ascii_only else text, palette.style(token, ground)) for text, token in _runs(line)
    ]
    return (
        Strip(segments).adjust_cell_length(cells, palette.style("fg", ground))
        if segments
        else Strip.blank(cells, palette.style("fg", ground))
    )


def _runs(line: Line) -> list[Span]:
    """The line in fewer spans: blanks show nothing but the ground, so they go with what is before them. Each span costs at every stage of a paint."""
    out: list[Span] = []
    for text, token in line:
        if out and (
            token == out[-1][1] or (text.isspace() and not token.endswith("!") and not out[-1][1].endswith("!"))
        ):
            out[-1] = (out[-1][0] + text, out[-1][1])
        elif text:
            out.append((text, token))
    return out


def spread(left: Line, right: Line, cells: int, filler: str = " ", token: str = "line") -> list[Span]:
    """`left` and `right` at the two edges; the left side gives way first."""
    room = cells - width_of(right)
    head = clip(left, room)
    gap = room - width_of(head)
    return [*head, (filler * max(gap, 0), token), *(right if room >= 0 else clip(right, cells))]


def clip(line: Line, cells: int) -> list[Span]:
    """The line's first `cells` cells; what is cut ends in …"""
    out: list[Span] = []
    left = cells
    for text, token in line:
        length = cell_len(text)
        if length <= left:
            out.append((text, token))
            left -= length
            continue
        if left > 0:
            ruled = text == text[0] * len(text) or not text[left:].strip()  # a rule is cut, not shortened
            out.append((text[:left] if ruled else fit(text, left), token))
        break
    return out


def section(title: str) -> list[Span]:
    """The heading of a part: "inputs ╌╌╌╌"."""
    return [(f"{title} ", "dim"), ("╌" * 200, "line")]
