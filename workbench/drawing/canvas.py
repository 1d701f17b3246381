"""A sheet of cells. Lines are bits (up, down, left, right) that join by themselves; text lies over them."""

from __future__ import annotations

from bisect import bisect

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_GLYPHS = {
    0: " ", UP: "│", DOWN: "│", LEFT: "─", RIGHT: "─", UP | DOWN: "│", LEFT | RIGHT: "─",
    DOWN | RIGHT: "╭", DOWN | LEFT: "╮", UP | RIGHT: "╰", UP | LEFT: "╯",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", DOWN | LEFT | RIGHT: "┬", UP | LEFT | RIGHT: "┴", 15: "┼",
}  # fmt: skip
_HEAVY = str.maketrans("│─╭╮╰╯├┤┬┴┼", "┃━┏┓┗┛┣┫┳┻╋")


class Canvas:
    """Rows of line bits and texts; a row is drawn when it is asked for."""

    def __init__(self) -> None:
        self.bits: dict[int, dict[int, int]] = {}
        self.heavy: dict[int, set[int]] = {}
        self.texts: dict[int, list[tuple[int, str, int]]] = {}
        self._ordered: dict[int, list[tuple[int, str, int]]] = {}
        self.width = self.height = 0

    def vertical(self, column: int, top: int, bottom: int, *, heavy: bool = False) -> None:
        """A line through the middles of rows `top` … `bottom`."""
        for row in range(top, bottom + 1):
            self._add(row, column, (UP if row > top else 0) | (DOWN if row < bottom else 0), heavy)

    def horizontal(self, row: int, left: int, right: int, *, heavy: bool = False) -> None:
        """A line through the middles of columns `left` … `right`."""
        for column in range(left, right + 1):
            self._add(row, column, (LEFT if column > left else 0) | (RIGHT if column < right else 0), heavy)

    def frame(self, left: int, top: int, width: int, height: int, *, heavy: bool = False) -> None:
        """A box, with round corners or heavy lines."""
        right, bottom = left + width - 1, top + height - 1
        self.horizontal(top, left, right, heavy=heavy)
        self.horizontal(bottom, left, right, heavy=heavy)
        self.vertical(left, top, bottom, heavy=heavy)
        self.vertical(right, top, bottom, heavy=heavy)

    def write(self, row: int, column: int, text: str, tag: int = -1) -> None:
        """Text over whatever lies there; `tag` says which box it belongs to."""
        self.texts.setdefault(row, []).append((column, text, tag))
        self._ordered.pop(row, None)
        self.width, self.height = max(self.width, column + len(text)), max(self.height, row + 1)

    def _add(self, row: int, column: int, bits: int, heavy: bool) -> None:
        line = self.bits.setdefault(row, {})
        line[column] = line.get(column, 0) | bits
        if heavy:
            self.heavy.setdefault(row, set()).add(column)
        self.width, self.height = max(self.width, column + 1), max(self.height, row + 1)

    def row(self, row: int, start: int = 0, end: int | None = None) -> list[tuple[str, int]]:
        """Columns `start` … `end` of the row as (text, tag) runs; lines have tag −1. Texts of one row do not overlap."""
        texts = self._ordered.get(row)
        if texts is None:
            texts = self._ordered[row] = sorted(self.texts.get(row, ()))
        runs: list[tuple[str, int]] = []
        at = start
        for k in range(max(bisect(texts, (start, "", -2)) - 1, 0), len(texts)):
            column, text, tag = texts[k]
            if end is not None and column >= end:
                break
            if column + len(text) <= start:
                continue
            if column > at:
                runs.append((self._lines(row, at, column), -1))
            runs.append((text[max(start - column, 0) : None if end is None else end - column], tag))
            at = column + len(text)
        last = end if end is not None else max(self.bits.get(row, {}), default=-1) + 1
        if last > at:
            runs.append((self._lines(row, at, last), -1))
        return runs

    def _lines(self, row: int, start: int, end: int) -> str:
        cells, heavy = self.bits.get(row, {}), self.heavy.get(row, ())
        glyphs = (_GLYPHS[cells.get(c, 0)] for c in range(start, end))
        if not heavy:
            return "".join(glyphs)
        return "".join(g.translate(_HEAVY) if c in heavy else g for c, g in zip(range(start, end), glyphs, strict=True))

    def text(self, row: int) -> str:
        """The row as plain text."""
        return "".join(text for text, _ in self.row(row)).rstrip()
