"""2 Graph: how it is wired. Scopes, a list of nodes with a live filter, and one node in full."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.widget import Widget

from tui import columns
from tui.columns import Column
from tui.glyphs import bar
from tui.line import Line, Span, fit
from tui.theme import HEAT_GLYPHS, heat_of_share, operator_token
from tui.views.inspector import Inspector
from tui.views.view import Pane, View
from tui.widgets.dag import DagView
from tui.widgets.filterbar import FilterBar
from tui.widgets.frame import Heads, Seam
from tui.widgets.rows import Rows
from workbench.drawing.dag import Drawing
from workbench.lookup import Lookup
from workbench.neighbourhood import MOST_DRAWN, picture_of
from workbench.nodes import NodeId
from workbench.render import units
from workbench.render.text import display_name
from workbench.scopes import Scope

_SORTS = ("order", "time", "MACs", "params", "operator")


class GraphView(View):
    """Every node: filter it, follow its wires, read its attributes.

    Shows    `Lookup` (nodes, scopes, one `NodeDetail`)
    Sends    nothing: cursor, filter, sort and folds are its own
    Empty    says that the model has no node
    """

    TITLE = "Graph"
    KEYS = (
        "open.row",
        "jump.producer",
        "jump.reader",
        "find.filter",
        "sort.next",
        "fold.chain",
        "copy.name",
        "jump.back",
    )
    FACES = ("list", "DAG")
    DEFAULT_CSS = """
    GraphView #scopes { width: 28; }
    GraphView #inspector { width: 46; }
    GraphView #dag { display: none; }
    GraphView.dag #dag { display: block; }
    GraphView.dag #node-rows, GraphView.dag #node-heads { display: none; }
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lookup: Lookup | None = None
        self.rows: list[int] = []
        self.query_text = ""
        self.scope = ""
        self.sort, self.reverse = 0, False
        self.open_scopes: set[str] = {""}
        self.scope_rows: list[Scope] = []
        self.dag_rows: list[int] = []

    def compose(self) -> ComposeResult:
        yield Pane("Scopes", Rows(id="scope-rows"), id="scopes").add_class("side")
        yield Seam("scopes").add_class("side")
        yield Pane("Nodes", Heads(self._columns, id="node-heads"), Rows(id="node-rows"), DagView(id="dag"), id="nodes")
        yield Seam("nodes").add_class("side")
        yield Pane("Inspector", Inspector(id="inspector-rows"), id="inspector").add_class("side")

    def main_pane(self) -> Widget:
        return self.query_one(DagView) if self.face else self.node_list

    @property
    def node_list(self) -> Rows:
        """The flat list of nodes."""
        return self.query_one("#node-rows", Rows)

    @property
    def inspector(self) -> Inspector:
        return self.query_one(Inspector)

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        profile = bench.last_profile("A" if bench.shown == "A" else "B")
        self.lookup = Lookup(bench.current(), profile)
        self._fill_scopes()
        self._fill_nodes(self.owb.cursor)

    def arrived(self) -> None:
        super().arrived()
        if self.owb.cursor is not None:
            self.select(self.owb.cursor)

    # ── the list ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _columns(self) -> tuple[Column, ...]:
        timed = self.lookup is not None and self.lookup.timed
        return (
            Column("operator", 12),
            Column("name", 0, keep="end"),
            Column("output", 16, right=True, rank=2),
            Column("params", 8, right=True, rank=4) if not timed else Column("MACs", 8, right=True, rank=4),
            Column("ms", 8, right=True, rank=1) if timed else Column("MACs", 8, right=True, rank=3),
            Column("", 1),
        )

    def _fill_nodes(self, node: NodeId | None = None) -> None:
        assert self.lookup is not None
        self.rows = self.lookup.find(self.query_text, self.scope)
        self._sort()
        cursor = self._row_of(node)
        self.node_list.show(len(self.rows), self._node_row, cursor)
        self._title()
        if self.face:
            self._fill_dag()
        self._show_detail()

    def _fill_dag(self) -> None:
        assert self.lookup is not None
        rows = (
            sorted(self.rows)
            if self.query_text or self.scope
            else [r for r in self.rows if not self.lookup.table.id[r].graph]
        )
        rows = [r for r in rows if self.lookup.table.op[r] != "Constant"]
        self.dag_rows = rows
        self.query_one("#nodes", Pane).rule.name_pane("Graph", f"{len(rows):,} nodes · hjkl moves · t list")
        if len(rows) > MOST_DRAWN:
            self.owb.say(f"{len(rows):,} nodes are too many to draw: choose a scope, or filter with /", "warn")
            return
        lookup = self.lookup
        key = tuple(rows)
        self.owb.bridge.run(
            "drawing", "drawing the graph", lambda progress, cancel: picture_of(lookup, key), self._drawn, quiet=True
        )

    def _drawn(self, result: tuple[tuple[int, ...], Drawing]) -> None:
        rows, drawing = result
        if self.lookup is None or list(rows) != self.dag_rows:
            return
        table = self.lookup.table
        at = self.lookup.row_of.get(self.owb.cursor) if self.owb.cursor is not None else None
        cursor = self.dag_rows.index(at) if at in self.dag_rows else 0
        self.query_one(DagView).show(drawing, [operator_token(table.op[r], table.domain[r]) for r in rows], cursor)

    def do_face_next(self) -> None:
        self.face = 1 - self.face
        self.set_class(bool(self.face), "dag")
        self._fill_nodes(self.owb.cursor)
        self.main_pane().focus()

    def on_dag_view_moved(self, message: DagView.Moved) -> None:
        if self.lookup is not None and message.box < len(self.dag_rows):
            self.owb.cursor = self.lookup.table.id[self.dag_rows[message.box]]
            self._show_detail()

    def _move(self, step: int) -> None:
        if self.app.focused is self.query_one(DagView):
            self.query_one(DagView).step(step, 0)
        else:
            super()._move(step)

    def _sort(self) -> None:
        assert self.lookup is not None
        table, key = self.lookup.table, _SORTS[self.sort]
        if key == "operator":
            self.rows.sort(key=lambda r: table.op[r])
        elif key != "order":
            column = {"time": table.time_ns, "MACs": table.macs, "params": table.params}[key]
            self.rows.sort(key=lambda r: -(column[r] or 0))
        if self.reverse:
            self.rows.reverse()

    def _title(self) -> None:
        assert self.lookup is not None
        total = len(self.lookup.table)
        self.query_one("#node-heads", Heads).refresh()
        detail = f"{len(self.rows):,} of {total:,} · {_SORTS[self.sort]}{' ↑' if self.reverse else ''}"
        self.query_one("#nodes", Pane).rule.name_pane(
            f"Nodes in {display_name(self.scope, 30)}" if self.scope else "Nodes", detail
        )

    def _row_of(self, node: NodeId | None) -> int | None:
        if node is None or self.lookup is None:
            return None
        place = self.lookup.row_of.get(node)
        return self.rows.index(place) if place is not None and place in self.rows else None

    def _node_row(self, row: int, width: int) -> Line:
        assert self.lookup is not None
        table, r = self.lookup.table, self.rows[row]
        name = display_name(table.label(r))
        if self.scope and name.startswith(self.scope):
            name = name[len(self.scope) :].lstrip("/.")
        measured: list[Span] = (
            [
                (units.count(table.macs[r]), "dim"),
                (f"{(table.time_ns[r] or 0) / 1e6:.3f}" if table.time_ns[r] is not None else "–", "fg"),
            ]
            if self.lookup.timed
            else [
                (units.count(table.params[r]) if table.params[r] else "–", "dim"),
                (units.count(table.macs[r]), "dim"),
            ]
        )
        heat = heat_of_share(self.lookup.share(r))
        mark: Span = ("·", "line") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}")
        cells: list[Span | Line] = [
            (display_name(table.op[r]), operator_token(table.op[r], table.domain[r])),
            (name, "fg"),
            (display_name(units.shape(table.shape[r])), "dim"),
            *measured,
            mark,
        ]
        return columns.row(self._columns(), cells, width)

    def select(self, node: NodeId) -> None:
        """Put the cursor on a node, leaving filter and scope if they hide it."""
        place = self.lookup.row_of.get(node) if self.lookup is not None else None
        if self.face and place in self.dag_rows:
            self.query_one(DagView).put(self.dag_rows.index(place))
            return
        row = self._row_of(node)
        if row is None:
            self.query_text, self.scope = "", ""
            self._fill_nodes(node)
        else:
            self.node_list.cursor = row

    def find_named(self, name: str) -> None:
        """Put the cursor on the node of a name; a name that is not here is said."""
        if self.lookup is None:
            return
        row = next((r for r in range(len(self.lookup.table)) if self.lookup.table.label(r) == name), None)
        if row is None:
            self.owb.say(f"{name or 'this node'} is not in the model shown: b shows the other", "warn")
        else:
            self.select(self.lookup.table.id[row])

    def current(self) -> int | None:
        """The table row under the cursor."""
        if self.face:
            return self.dag_rows[self.query_one(DagView).cursor] if self.dag_rows else None
        return self.rows[self.node_list.cursor] if self.rows else None

    def on_rows_moved(self, message: Rows.Moved) -> None:
        if message.rows.id == "node-rows":
            self._show_detail()
        elif message.rows.id == "scope-rows":
            return

    def on_rows_opened(self, message: Rows.Opened) -> None:
        if message.rows.id == "scope-rows":
            self.scope = self.scope_rows[message.row].path
            self._fill_nodes()
            self.main_pane().focus()
        elif message.rows.id == "node-rows":
            self.inspector.focus()
        else:
            peer = self.inspector.peer(message.row)
            if peer is not None:
                self.owb.go("graph", peer)

    def _show_detail(self) -> None:
        row = self.current()
        if row is None or self.lookup is None:
            self.inspector.clear()
            return
        self.owb.cursor = self.lookup.table.id[row]
        self.inspector.show_detail(self.lookup.detail(row), self.lookup, row)

    # ── scopes ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _fill_scopes(self) -> None:
        assert self.lookup is not None
        self.scope_rows = [s for s in self.lookup.scopes if self._visible(s)]
        rows = self.query_one("#scope-rows", Rows)
        rows.show(len(self.scope_rows), self._scope_row)
        self.query_one("#scopes", Pane).rule.name_pane("Scopes", "nodes")

    def _visible(self, scope: Scope) -> bool:
        from workbench.scopes import parts

        return all(above in self.open_scopes for above in ("", *parts(scope.path)[:-1])) or scope.path == ""

    def _scope_row(self, row: int, width: int) -> Line:
        assert self.lookup is not None
        scope = self.scope_rows[row]
        sign = " " if scope.nodes == scope.own else "▾" if scope.path in self.open_scopes else "▸"
        label = f"{'  ' * scope.level}{sign} {display_name(scope.label)}"
        total = max(len(self.lookup.table), 1)
        share = self.lookup.scope_share(scope)
        end: list[Span] = [(fit(f"{scope.nodes:,}", 7, right=True), "dim")]
        if share is not None:
            end.append((fit(units.percent(share), 8, right=True), "fg"))
        else:
            end.append((" " + fit(bar(scope.nodes / total, 5), 5), "line"))
        room = width - sum(len(t) for t, _ in end)
        return [(fit(label, room), "strong" if scope.path == self.scope else "fg"), *end]

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def why_not(self, action_id: str) -> str:
        row = self.current()
        if row is None or self.lookup is None:
            return "no node here" if action_id in ("open.row", "jump.producer", "jump.reader") else ""
        detail = self.lookup.detail(row)
        if action_id == "jump.producer" and not any(link.peers for link in detail.inputs):
            return f"{detail.op} reads graph inputs and constants only: nothing makes them"
        if action_id == "jump.reader" and not any(link.peers for link in detail.outputs):
            return "its outputs are graph outputs: nothing reads them"
        return ""

    def do_jump_producer(self) -> None:
        self._follow(output=False)

    def do_jump_reader(self) -> None:
        self._follow(output=True)

    def _follow(self, *, output: bool) -> None:
        row = self.current()
        assert row is not None
        assert self.lookup is not None
        detail = self.lookup.detail(row)
        links = detail.outputs if output else detail.inputs
        peers = [peer for link in links for peer in link.peers]
        self.owb.go("graph", peers[0])
        if len(peers) > 1:
            self.owb.say(f"first of {len(peers)}: the inspector lists all, enter follows one")

    def do_find_filter(self) -> None:
        self.app.query_one(FilterBar).open(self.query_text)

    def on_filter(self, query: str) -> None:
        """The query as typed so far; an error in it is told and the list stays."""
        self.query_text = query
        self._fill_nodes()

    def do_sort_next(self) -> None:
        self.sort = (self.sort + 1) % len(_SORTS)
        if _SORTS[self.sort] == "time" and self.lookup is not None and not self.lookup.timed:
            self.sort += 1
        self._fill_nodes(self.owb.cursor)

    def do_sort_reverse(self) -> None:
        self.reverse = not self.reverse
        self._fill_nodes(self.owb.cursor)

    def do_fold_chain(self) -> None:
        self._fold(None)

    def do_move_right(self) -> None:
        if self.app.focused is self.query_one(DagView):
            self.query_one(DagView).step(0, 1)
        else:
            self._fold(True)

    def do_move_left(self) -> None:
        if self.app.focused is self.query_one(DagView):
            self.query_one(DagView).step(0, -1)
        else:
            self._fold(False)

    def do_fold_all(self) -> None:
        assert self.lookup is not None
        self.open_scopes = {""} if len(self.open_scopes) > 1 else {s.path for s in self.lookup.scopes}
        self._fill_scopes()

    def _fold(self, opened: bool | None) -> None:
        rows = self.query_one("#scope-rows", Rows)
        if not rows.has_focus or not self.scope_rows:
            return
        path = self.scope_rows[rows.cursor].path
        if opened is None:
            opened = path not in self.open_scopes
        (self.open_scopes.add if opened else self.open_scopes.discard)(path)
        self._fill_scopes()

    def copy_text(self) -> str:
        row = self.current()
        return "" if row is None or self.lookup is None else self.lookup.table.label(row)

    def copy_command(self) -> str:
        bench = self.owb.bench
        return f"owb show {bench.path} {self.copy_text()!r}" if bench is not None else ""
