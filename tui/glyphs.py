"""Box and block glyphs, and the ASCII twin of each: one cell for one cell."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Sequence

_TWINS = str.maketrans({
    "─": "-", "╌": "-", "━": "=", "│": "|", "┃": "|", "┊": ":", "╎": ":",
    "┬": "+", "┴": "+", "├": "+", "┤": "+", "┼": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "┏": "+", "┓": "+", "┗": "+", "┛": "+", "┷": "+", "┯": "+",
    "·": ".", "░": ":", "▒": "+", "▓": "#", "█": "@", "▏": "|", "▎": "|", "▍": "|", "▌": ">", "▋": "#", "▊": "#", "▉": "#", "▐": "[",
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "=", "▆": "*", "▇": "#",
    "▸": ">", "▾": "v", "◂": "<", "▶": ">", "◦": "o", "●": "*", "◐": "o", "≀": "~", "≈": "~", "▲": "!", "✓": "v", "✗": "x", "•": "*",
    "×": "x", "−": "-", "–": "-", "…": "~", "→": ">", "←": "<", "↓": "v", "↑": "^", "∞": "*", "┣": "+", "┫": "+", "┳": "+", "┻": "+", "╋": "+", "▪": "*", "⇄": "=", "≥": ">", "≤": "<", "±": "~", "σ": "s", "µ": "u",
})  # fmt: skip

BARS = " ▏▎▍▌▋▊▉█"
SPARKS = "▁▂▃▄▅▆▇█"


def wants_ascii() -> bool:
    """Asked for by OWB_GLYPHS=ascii, or the terminal's encoding has no box drawing."""
    choice = os.environ.get("OWB_GLYPHS", "").lower()
    if choice:
        return choice == "ascii"
    encoding = getattr(sys.__stdout__, "encoding", None) or locale.getpreferredencoding(False)
    try:
        "─█▌✓".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def plain(text: str) -> str:
    """The ASCII twin of a text of ours; what a file named stays escaped by `display_name`."""
    return text.translate(_TWINS)


def bar(share: float, cells: int) -> str:
    """A bar of eighths, at least one eighth for a share above zero."""
    eighths = max(round(share * cells * 8), 1 if share > 0 else 0)
    full, rest = divmod(min(eighths, cells * 8), 8)
    return "█" * full + (BARS[rest] if rest else "")


def upright(counts: Sequence[int], rows: int) -> list[str]:
    """Upright bars of eighths over several rows, one a count, at least one eighth for a count above zero."""
    top = max(counts, default=0) or 1
    eighths = [max(round(c / top * rows * 8), 1 if c else 0) for c in counts]
    return ["".join((" " + SPARKS)[min(max(e - 8 * below, 0), 8)] for e in eighths) for below in reversed(range(rows))]


def spark(values: list[float], cells: int) -> str:
    """One column a cell, scaled to the largest; several values share a cell by their maximum."""
    if not values or cells <= 0:
        return ""
    top = max(values) or 1.0
    groups = [
        values[len(values) * k // cells : max(len(values) * (k + 1) // cells, len(values) * k // cells + 1)]
        for k in range(min(cells, len(values)))
    ]
    return "".join(SPARKS[min(int(max(g) / top * 7.999), 7)] for g in groups)
