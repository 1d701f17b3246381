"""Tables as plain text, for pipes and files: what rich draws on a terminal, without loading it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from workbench.render.layout import GAP, aside, laid_out
from workbench.render.table import Table
from workbench.render.text import display_name

MOST_WRAPPED = 20_000
"""Characters of one text: a name in it can be megabytes long."""


def lines(table: Table, room: int) -> Iterator[str]:
    """The table in lines of at most `room` cells, as far as its columns can give way."""
    if table.title:
        yield from _wrapped(display_name(table.title), room)
    if table.columns:
        layout = laid_out(table, room)
        if any(c.title for c in layout.columns):
            yield _joined([_cut(c.title, w) for c, w in layout.pairs], layout.widths, [c.right for c in layout.columns])
        for row in layout.cells:
            cells = [
                _wrapped(text, width) if column.wrap else [_cut(text, width)]
                for text, (column, width) in zip(row, layout.pairs, strict=True)
            ]
            for k in range(max(map(len, cells))):
                line = [cell[k] if k < len(cell) else "" for cell in cells]
                yield _joined(line, layout.widths, [c.right for c in layout.columns])
    for text in (*table.notes, table.caption, aside(table, room)):
        if text:
            yield from _wrapped(display_name(text), room)


def _joined(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = [
        " " * (width - cell_len(text)) + text if side else text + " " * (width - cell_len(text))
        for text, width, side in zip(cells, widths, right, strict=True)
    ]
    return (" " * GAP).join(padded).rstrip()


def _cut(text: str, width: int) -> str:
    """At most `width` cells of a text, the last one an ellipsis where it is cut."""
    if cell_len(text) <= width:
        return text
    return _start(text, width - 1) + "…" if width > 0 else ""


def _start(text: str, width: int) -> str:
    """The longest start of a text that takes at most `width` cells."""
    used = 0
    for place, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:place]
    return text


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words; a word longer than a line is folded, a text longer than pages is cut."""
    text = display_name(text, MOST_WRAPPED)
    out = [""]
    for word in text.split(" "):
        joined = f"{out[-1]} {word}" if out[-1] else word
        if cell_len(joined) <= width:
            out[-1] = joined
            continue
        if out[-1]:
            out.append("")
        while len(head := _start(word, width) or word[:1]) < len(word):
            out[-1], word = head, word[len(head) :]
            out.append("")
        out[-1] = word
    return out
