"""The inspector: one node in full, its links can be followed with enter."""

from __future__ import annotations

from typing import Any

from tui.line import Line, Span, fit
from tui.theme import operator_token
from tui.widgets.rows import Rows
from workbench.detail import Link, NodeDetail
from workbench.lookup import Lookup
from workbench.nodes import NodeId
from workbench.render import units
from workbench.render.text import display_name

_Row = tuple[list[Span], NodeId | None]


class Inspector(Rows):
    """Rows of a `NodeDetail`; those that lead to another node can be opened."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lines: list[_Row] = []

    def clear(self) -> None:
        """No node under the cursor."""
        self.lines = [([("no node here", "dim")], None)]
        self.show(1, self._row)

    def peer(self, row: int) -> NodeId | None:
        """The node that a row leads to."""
        return self.lines[row][1] if row < len(self.lines) else None

    def show_detail(self, detail: NodeDetail, lookup: Lookup, row: int) -> None:
        """Lay the node out in sections."""
        table = lookup.table
        add = self.lines = []
        head = [
            (display_name(detail.op), operator_token(detail.op, detail.domain)),
            (f"   {display_name(detail.domain)}  {detail.since or 'no schema'}", "dim"),
        ]
        add.append((head, None))
        add.append(([(display_name(detail.name) or "no name", "strong")], None))
        add.append(
            (
                [
                    (
                        f"#{detail.id.index} of {len(table):,}"
                        + (f" in {display_name(detail.id.graph)}" if detail.id.graph else ""),
                        "dim",
                    )
                ],
                None,
            )
        )
        for title, links in (("inputs", detail.inputs), ("outputs", detail.outputs)):
            add.append((section(title), None))
            for link in links:
                add.extend(self._link(link, lookup))
        if detail.attributes:
            add.append((section("attributes"), None))
            add.extend(
                (
                    [
                        (fit(display_name(a.name), 18), "dim"),
                        (display_name(a.text, 200), "dim" if a.is_default else "fg"),
                        (" =" if a.is_default else "", "line"),
                    ],
                    None,
                )
                for a in detail.attributes
            )
        add.append((section("cost"), None))
        add.append(([("MACs        ", "dim"), (units.count(table.macs[row]), "fg")], None))
        add.append(([("parameters  ", "dim"), (units.count(table.params[row]), "fg")], None))
        time = table.time_ns[row]
        if time is not None:
            share = lookup.share(row)
            add.append(
                ([("median      ", "dim"), (units.duration(time), "fg"), (f"   {units.percent(share)}", "fg")], None)
            )
        add.append((section("origin"), None))
        if detail.origin:
            add.extend(([("from ", "dim"), (display_name(name), "fg")], None) for name in detail.origin)
        else:
            add.append(([("as in the file", "dim")], None))
        self.show(len(add), self._row, 0)

    def _link(self, link: Link, lookup: Lookup) -> list[_Row]:
        facts = f"{units.shape(link.shape)}  {link.dtype}"
        side: list[Span] = []
        if link.constant:
            side = [(f"  {units.size(link.bytes)} const", "dim")]
        elif link.output:
            side = [(f"  {len(link.peers)} {'reader' if len(link.peers) == 1 else 'readers'}", "dim")]
        out: list[_Row] = [
            (
                [(fit(display_name(link.role), 4), "focus"), (" " + display_name(facts), "fg"), *side],
                link.peers[0] if link.peers else None,
            )
        ]
        out.append(([("     " + display_name(link.value), "dim")], link.peers[0] if link.peers else None))
        for peer in link.peers[:12]:
            arrow = "▸" if link.output else "◂"
            place = lookup.row_of[peer]
            text = f"   {arrow} {display_name(lookup.table.op[place])}  {display_name(lookup.table.label(place))}"
            out.append(([(text, "fg")], peer))
        if len(link.peers) > 12:
            out.append(([(f"     {len(link.peers) - 12} more", "dim")], None))
        return out

    def _row(self, row: int, width: int) -> Line:
        return self.lines[row][0] if row < len(self.lines) else []


def section(title: str) -> list[Span]:
    """The heading of a part: "inputs ╌╌╌╌"."""
    return [(f"{title} ", "dim"), ("╌" * 60, "line")]
