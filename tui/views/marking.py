"""What Graph does with marked nodes: mark one, a range, all alike; bookmark; take them out as a model of their own."""

from __future__ import annotations

from typing import Any

from tui.views.nodelist import NodeList
from tui.views.view import View
from workbench.lookup import Lookup
from workbench.nodes import NodeId
from workbench.render.text import display_name


class Marking(View):
    """Marks and bookmarks of a list of nodes; the list holds them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.list = NodeList(id="node-rows")
        self.lookup: Lookup | None = None

    def current(self) -> int | None:
        """The table row under the cursor; the view knows."""
        raise NotImplementedError

    def show_marks(self) -> None:
        """Say how many are marked and where they are; the view knows."""
        raise NotImplementedError

    def _at(self) -> NodeId | None:
        row = self.current()
        return self.lookup.table.id[row] if row is not None and row >= 0 and self.lookup is not None else None

    def do_mark_toggle(self) -> None:
        node = self._at()
        if node is not None:
            self.list.marks ^= {node}
            self.list.move(1)
            self.show_marks()

    def do_mark_range(self) -> None:
        """From the last mark to the cursor."""
        lookup, marks = self.lookup, self.list.marks
        assert lookup is not None
        marked = [k for k, r in enumerate(self.list.rows) if r >= 0 and lookup.table.id[r] in marks]
        before = [k for k in marked if k <= self.list.cursor]
        start = before[-1] if before else self.list.cursor
        marks.update(lookup.table.id[r] for r in self.list.rows[start : self.list.cursor + 1] if r >= 0)
        self.show_marks()

    def do_mark_alike(self) -> None:
        """All nodes shown with this operator; again takes the marks away."""
        row, lookup = self.current(), self.lookup
        assert row is not None
        assert lookup is not None
        alike = {lookup.table.id[r] for r in self.list.rows if r >= 0 and lookup.table.op[r] == lookup.table.op[row]}
        if alike <= self.list.marks:
            self.list.marks -= alike
        else:
            self.list.marks |= alike
        self.show_marks()
        self.owb.say(f"{len(self.list.marks)} marked: x extracts what lies between")

    def do_bookmark_toggle(self) -> None:
        node = self._at()
        if node is None:
            return
        if node in self.list.bookmarks:
            self.list.bookmarks.remove(node)
        else:
            self.list.bookmarks.append(node)
        self.list.refresh()
        self.owb.say(f"{len(self.list.bookmarks)} bookmarked: ' jumps to them by a capital letter")

    def bookmarks(self) -> list[tuple[str, NodeId]]:
        lookup = self.lookup
        if lookup is None:
            return []
        return [
            (display_name(lookup.table.label(lookup.row_of[n]), 24), n)
            for n in self.list.bookmarks
            if n in lookup.row_of
        ]

    def do_out_export(self) -> None:
        """The marked nodes, or the one under the cursor, as a model of their own."""
        from tui.dialogs.export import export_nodes

        assert self.lookup is not None
        rows = sorted(self.lookup.row_of[n] for n in self.list.marks if n in self.lookup.row_of)
        current = self.current()
        export_nodes(self.owb, self.lookup, rows or ([current] if current is not None else []))
