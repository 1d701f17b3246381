"""2 Graph: how it is wired. Scopes, a list of nodes with a live filter or a drawing, and one node in full."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget

from exec.errors import OptionError
from exec.wording import counted
from tui.views.drawing import DrawingPane
from tui.views.inspector import Inspector, Seen
from tui.views.marking import Marking
from tui.views.nodelist import MEASURES, SORTS
from tui.views.scopepane import ScopePane
from tui.views.view import Pane
from tui.widgets.dag import DagView
from tui.widgets.filterbar import FilterBar
from tui.widgets.frame import Heads, Seam
from tui.widgets.minimap import MiniMap
from tui.widgets.rows import Rows
from workbench.lookup import Lookup
from workbench.nodeerrors import node_errors
from workbench.nodes import NodeId
from workbench.query import parse
from workbench.render import units
from workbench.render.text import display_name
from workbench.why import Could, could_be

_MOST_FOLDS = 500


def readable(query: str) -> bool:
    """Whether a query can be read: one that was being typed may not be."""
    try:
        parse(query)
    except OptionError:
        return False
    return True


class GraphView(Marking):
    """Every node: filter it, follow its wires, read its attributes.

    Shows    `Lookup` (nodes, scopes, one `NodeDetail`), a `Lineup` where A and B are shown
    Sends    nothing: cursor, filter, sort, marks and folds are its own
    Empty    names come first, shapes fill in; a query without hits says so
    """

    TITLE = "Graph"
    FACES = ("list", "DAG", "rails")
    DEFAULT_CSS = """
    GraphView #scopes { width: 28; }
    GraphView #inspector { width: 46; }
    GraphView #drawing { display: none; height: 1fr; }
    GraphView.dag #drawing { display: block; }
    GraphView #dag { width: 1fr; scrollbar-size-vertical: 0; }
    GraphView.dag #node-rows, GraphView.dag #node-heads { display: none; }
    """
    LIST_KEYS = ("open.row", "jump.producer", "jump.reader", "find.filter", "face.next", "measure.next", "sort.next", "mark.toggle", "mark.alike", "copy.name")  # fmt: skip
    SCOPE_KEYS = ("open.row", "move.left", "move.right", "fold.all", "amount.more", "amount.less", "measure.next", "find.filter", "face.next")  # fmt: skip
    DAG_KEYS = ("open.row", "out.step", "fold.chain", "amount.more", "amount.less", "measure.next", "find.next", "face.next", "jump.producer", "jump.reader")  # fmt: skip
    KEYS = LIST_KEYS
    KEPT = ("face", "query_text", "scope")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.query_text = ""
        self.scope = ""
        self._sought = ""  # a node to go to once names are read
        self.inside = ""  # the subgraph that is entered: "12.then_branch", "" for the main graph and all

    def compose(self) -> ComposeResult:
        dag = DagView(id="dag")
        self.scopes = ScopePane(id="scope-rows")
        self.drawing = DrawingPane(self)
        yield Pane("Scopes", self.scopes, id="scopes").add_class("side")
        yield Seam("scopes").add_class("side")
        yield Pane("Nodes", Heads(lambda: self.list.columns(), id="node-heads"), self.list, Horizontal(dag, MiniMap(dag), id="drawing"), id="nodes")  # fmt: skip
        yield Seam("nodes").add_class("side")
        yield Pane("Inspector", Inspector(id="inspector-rows"), id="inspector").add_class("side")

    def main_pane(self) -> Widget:
        return self.query_one(DagView) if self.drawn else self.list

    @property
    def drawn(self) -> bool:
        """Whether the face is the drawing; list and rails are the same list."""
        return self.FACES[self.face] == "DAG"

    @property
    def inspector(self) -> Inspector:
        return self.query_one(Inspector)

    # ── filling ────────────────────────────────────────────────────────────────────────────────────────────────────

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        ready = bench.results.lookups.get(bench.key())
        if ready is None or ready.profile is not bench.results.profile(bench.key()):
            self.lookup = None
            self.list.lookup = None
            self.list.show(0, lambda row, width: [])
            self.inspector.clear("reading names …")
            self.query_one("#nodes", Pane).rule.name_pane("Nodes", "reading names …")
            self.owb.bridge.run("lookup", "reading names", lambda p, c: bench.lookup(), self._named, quiet=True)
        else:
            self._named(ready)

    def _named(self, lookup: Lookup) -> None:
        bench = self.owb.bench
        assert bench is not None
        if lookup.model is not bench.current():
            return
        self.lookup = self.list.lookup = lookup
        kept = self.owb.cursor or self._first()
        self.list.before = self.list.lineup = None
        slot, compared = (
            "A" if bench.shown == "A" else "B",
            bench.results.comparisons.get((bench.key("A"), bench.key("B"))),
        )
        self.list.errors = node_errors(lookup, compared, slot)
        if self.list.measure == "MACs" and lookup.timed:
            self.list.measure, self.list.sort = "time", self.list.sort
        self._fill_scopes()
        self.refill(kept)
        if self._sought:
            sought, self._sought = self._sought, ""
            self.find_named(sought)
        if bench.shown == "A→B" and not bench.same:
            self.owb.bridge.run("lineup", "lining A and B up", lambda p, c: (bench.lookup("A"), bench.lineup()), self._lined_up, quiet=True)  # fmt: skip
        if lookup.timed:
            self.owb.bridge.run("path", "finding the critical path", lambda p, c: bench.critical(), lambda _: self.show_detail(), quiet=True)  # fmt: skip

    def _first(self) -> NodeId | None:
        """Where one starts: at the first node that computes, not at the constants a file may begin with."""
        assert self.lookup is not None
        table = self.lookup.table
        return next((table.id[r] for r in range(len(table)) if table.op[r] != "Constant"), None)

    def _lined_up(self, result: Any) -> None:
        self.list.before, self.list.lineup = result
        self.refill(self.owb.cursor)

    def learnt(self) -> None:
        """Shapes, costs or counts have come: same rows, more cells."""
        bench = self.owb.bench
        ready = bench.results.lookups.get(bench.key()) if bench is not None else None
        if ready is None or bench is None or ready.model is not bench.current():
            return
        if self.lookup is None:
            self._named(ready)
        elif ready is not self.lookup:
            self.lookup = self.list.lookup = ready
            self._fill_scopes()
            if self.list.sort in ("MACs", "bytes") or self.query_text:
                self.refill(self.owb.cursor)
            self.list.refresh()
            if self.drawn:
                self.drawing.draw()
        self.show_detail()

    def arrived(self) -> None:
        super().arrived()
        if self.owb.cursor is not None and self.lookup is not None and self.owb.cursor != self._at():
            self.select(self.owb.cursor)

    def remembered(self) -> dict[str, object]:
        rows, folds = self.list, sorted(self.scopes.opened)
        query = self.query_text if readable(self.query_text) else ""
        return {**super().remembered(), "query_text": query, "sort": rows.sort, "reverse": rows.reverse, "measure": rows.measure, "opened": folds[:_MOST_FOLDS]}  # fmt: skip

    def take(self, kept: Mapping[str, object]) -> None:
        super().take(kept)
        rows, folds = self.list, kept.get("opened")
        if not readable(self.query_text):
            self.query_text = ""
        if kept.get("sort") in SORTS:
            rows.sort = str(kept["sort"])
        if kept.get("measure") in MEASURES:
            rows.measure = str(kept["measure"])
        rows.reverse = kept.get("reverse") is True
        if isinstance(folds, list):
            self.scopes.opened = {"", *(f for f in folds if isinstance(f, str))}
        self._faced()

    def rows_shown(self) -> list[int]:
        """Rows that query, scope and subgraph let through, in order."""
        assert self.lookup is not None
        rows = self.lookup.find(self.query_text, self.scope)
        if self.inside:
            ids = self.lookup.table.id
            rows = [r for r in rows if ids[r].graph == self.inside or ids[r].graph.startswith(self.inside)]
        return rows

    def refill(self, node: NodeId | None = None) -> None:
        """Query, scope, order or marks have changed."""
        if self.lookup is None:
            return
        self.list.scope = self.scope
        rows = self.rows_shown()
        gone: list[int] = []
        if self.list.lineup is not None and self.list.before is not None:
            try:
                gone = self.list.before.find(self.query_text, self.scope)
            except OptionError:
                gone = []
        self.list.fill(rows, gone, self.lookup.row_of.get(node) if node is not None else None)
        self.title()
        if self.drawn:
            self.drawing.draw()
        self.show_detail()

    def _fill_scopes(self) -> None:
        assert self.lookup is not None
        measure = self.list.measure if self.list.measure in ("time", "MACs", "bytes", "params") else ""
        self.scopes.show_scopes(self.lookup, measure, self.scope)
        self.query_one("#scopes", Pane).rule.name_pane("Scopes", self.scopes.title_detail())

    def show_marks(self) -> None:
        self.title()
        self.list.refresh()
        if self.drawn and self.drawing.picture is not None:
            self.drawing.show_map(self.drawing.picture)

    def title(self) -> None:
        """The rule above the list says how many, in which order, in which scope."""
        if self.lookup is None or self.drawn:
            return
        self.query_one("#node-heads", Heads).refresh()
        total = len(self.lookup.table)
        order = (
            "execution"
            if self.list.railed
            else f"{self.list.sort}{' ↑' if self.list.reverse else ' ↓' if self.list.sort != 'order' else ''}"
        )
        name = f"Nodes in {display_name(self.scope, 30)}" if self.scope else "Nodes"
        if self.inside:
            name = f"Nodes in subgraph {display_name(self.inside, 24)}"
        lineup = self.list.lineup
        if lineup is not None:
            detail = f"+{lineup.count('+')} −{lineup.count('−')} ~{lineup.count('~')} ={lineup.count('=')} · {order}"
            name = name.replace("Nodes", "Nodes A→B", 1)
        else:
            shown = sum(r >= 0 for r in self.list.rows)
            detail = f"{shown:,} of {total:,} · {order}"
        if self.list.marks:
            detail = f"{len(self.list.marks)} marked · {detail}"
        self.query_one("#nodes", Pane).rule.name_pane(name, detail)

    def sentence(self) -> str:
        if self.lookup is None:
            return ""
        rows = [r for r in self.list.rows if r >= 0]
        text = f"{len(rows):,} of {counted(len(self.lookup.table), 'node')}"
        for measure, name in (("time", "the time"), ("MACs", "the MACs")):
            total = self.lookup.total(measure) if measure != "time" or self.lookup.timed else 0.0
            if total:
                column = self.lookup.column(measure)
                amount = sum(column[r] or 0 for r in rows)
                return f"{text}   {units.percent(amount / total)} of {name}   {units.duration(amount) if measure == 'time' else units.count(amount)}"
        return text

    # ── the cursor ─────────────────────────────────────────────────────────────────────────────────────────────────

    def current(self) -> int | None:
        """The table row under the cursor; a row of A that is gone is −1−row."""
        if self.drawn:
            return self.drawing.current()
        return self.list.rows[self.list.cursor] if self.list.rows else None

    def select(self, node: NodeId) -> None:
        """Put the cursor on a node, leaving filter and scope if they hide it."""
        if self.lookup is None:
            self.owb.cursor = node
            return
        row = self.lookup.row_of.get(node)
        if self.drawn and row is not None and self.drawing.put(row):
            return
        place = self.list.row_of(row) if row is not None else None
        if place is None:
            self.query_text, self.scope, self.inside = "", "", ""
            self._fill_scopes()
            self.refill(node)
        else:
            self.list.cursor = place
        if self.drawn and row is not None:
            self.drawing.put(row)

    def find_named(self, name: str) -> None:
        if self.lookup is None:
            self._sought = name
            return
        table = self.lookup.table
        row = next((r for r in range(len(table)) if table.label(r) == name), None)
        if row is None:
            self.owb.say(f"{name or 'this node'} is not in the model shown: b shows the other", "warn")
        else:
            self.select(table.id[row])

    def show_detail(self) -> None:
        """The inspector follows the cursor."""
        row, lookup, bench = self.current(), self.lookup, self.owb.bench
        if lookup is None or bench is None:
            return
        if row is None:
            self.inspector.clear("no node matches: esc clears the filter" if self.query_text else "no node here")
            return
        lineup, before = self.list.lineup, self.list.before
        if row < 0 and before is not None:
            self.inspector.show_node(Seen(before.detail(-1 - row), before, -1 - row))
            return
        node = lookup.table.id[row]
        self.owb.cursor = node
        report = bench.results.dry_runs.get(bench.key())
        could = could_be(report, lookup.table.label(row)) if report is not None else None
        critical = bench.results.paths.get(id(lookup.profile)) if lookup.timed else None
        self.inspector.show_node(Seen(lookup.detail(row), lookup, row, critical, could, before, lineup, node in self.list.marks))  # fmt: skip

    def on_rows_moved(self, message: Rows.Moved) -> None:
        if message.rows is self.list:
            self.show_detail()
            self.owb.refresh_footer()

    def on_dag_view_moved(self, message: DagView.Moved) -> None:
        self.show_detail()
        self.owb.refresh_footer()

    def on_rows_opened(self, message: Rows.Opened) -> None:
        if message.rows is self.scopes:
            scope = self.scopes.current()
            self.scope = scope.path if scope is not None else ""
            self.scopes.chosen = self.scope
            self.refill()
            self.main_pane().focus()
        elif message.rows is self.list:
            self._enter()
        else:
            target = self.inspector.target(message.row)
            if isinstance(target, NodeId):
                self.owb.go("graph", target)
            elif isinstance(target, Could):
                self.owb.show_rule(target.rule, target.place)
            else:
                self.owb.say("this line leads nowhere: ◂ and ▸ do", "dim")

    def _enter(self) -> None:
        """Into the subgraphs a node holds, else to its links in the inspector."""
        row = self.current()
        if row is None or row < 0 or self.lookup is None:
            return
        node = self.lookup.table.id[row]
        prefix = f"{node.graph}{'.' if node.graph else ''}{node.index}."
        if any(i.graph.startswith(prefix) for i in self.lookup.table.id):
            self.query_text, self.scope, self.inside = "", "", prefix
            self.refill()
            self.owb.say(f"inside {display_name(self.lookup.table.label(row))}: esc goes out")
        else:
            side = self.query_one("#inspector", Pane)
            if not side.display:
                self.do_pane_full()
            self.inspector.focus()

    def do_out_step(self) -> None:
        """esc: filter, then neighbourhood, then subgraph, then scope."""
        if self.app.focused is self.inspector or self.app.focused is self.scopes:
            if self.has_class("full"):
                self.do_pane_full()
            self.main_pane().focus()
        elif self.query_text:
            self.query_text = ""
            self.refill(self.owb.cursor)
        elif self.drawn and self.drawing.out():
            return
        elif self.inside:
            outer = self.inside.rstrip(".").rpartition(".")
            holder = NodeId(outer[0], int(outer[2]))
            self.inside = ""
            self.refill(holder)
        elif self.scope:
            self.scope = self.scopes.chosen = ""
            self._fill_scopes()
            self.refill(self.owb.cursor)

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def footer(self) -> list[tuple[str, str, bool]]:
        keys: tuple[str, ...] = self.DAG_KEYS if self.drawn else self.LIST_KEYS
        labels = {"open.row": "into" if self.drawn else "follow", "face.next": self.FACES[(self.face + 1) % len(self.FACES)], "measure.next": "overlay", "sort.next": "sort", "fold.chain": "unfold", "amount.more": "hops", "out.step": "out", "mark.alike": f"all {self._op()}"}  # fmt: skip
        if self.app.focused is self.scopes:
            keys, labels = (
                self.SCOPE_KEYS,
                {
                    "open.row": "filter to it",
                    "move.left": "close",
                    "move.right": "open",
                    "amount.more": "deeper",
                    "amount.less": "flatter",
                },
            )
        if self.app.focused is self.inspector:
            keys, labels = ("open.row", "out.step", "jump.producer", "jump.reader", "copy.name", "explain.open", "jump.back"), {"open.row": "follow", "out.step": "to the list"}  # fmt: skip
        return [(a, labels.get(a, ""), not self.why_not(a)) for a in keys]

    def _op(self) -> str:
        row = self.current()
        return display_name(self.lookup.table.op[row], 14) if row is not None and row >= 0 and self.lookup is not None else "alike"  # fmt: skip

    def why_not(self, action_id: str) -> str:
        row = self.current()
        if self.lookup is None:
            return "names are still being read" if action_id in (*self.LIST_KEYS, *self.DAG_KEYS) and action_id != "copy.name" else ""  # fmt: skip
        if row is None:
            return "no node here" if action_id in ("open.row", "jump.producer", "jump.reader", "mark.toggle", "mark.alike", "bookmark.toggle", "out.export") else ""  # fmt: skip
        if row < 0:
            return "this node is gone from B: b shows A" if action_id in ("mark.toggle", "mark.alike", "bookmark.toggle", "out.export") else ""  # fmt: skip
        if action_id in ("jump.producer", "jump.reader"):
            detail = self.lookup.detail(row)
            if action_id == "jump.producer" and not any(link.peers for link in detail.inputs):
                return f"{display_name(detail.name or detail.op, 40)} reads graph inputs and constants only: nothing makes them"  # fmt: skip
            if action_id == "jump.reader" and not any(link.peers for link in detail.outputs):
                return f"{display_name(detail.name or detail.op, 40)} makes graph outputs: nothing reads them"
        if action_id in ("sort.next", "sort.reverse") and self.list.railed:
            return "rails run in the order of execution: t goes back to the list"
        if action_id in ("find.next", "find.previous") and not self.query_text:
            return "no filter and no hits here: / starts one"
        if action_id in ("amount.more", "amount.less", "fold.chain") and self.app.focused is not self.scopes:
            return self.drawing.why_not(action_id)
        return ""

    def do_jump_producer(self) -> None:
        self._follow(output=False)

    def do_jump_reader(self) -> None:
        self._follow(output=True)

    def _follow(self, *, output: bool) -> None:
        row, lookup = self.current(), self.lookup
        assert row is not None
        assert lookup is not None
        source = self.list.before if row < 0 and self.list.before is not None else lookup
        detail = source.detail(row if row >= 0 else -1 - row)
        links = detail.outputs if output else detail.inputs
        peers = list(dict.fromkeys(peer for link in links for peer in link.peers))
        if len(peers) == 1:
            self.owb.go("graph", peers[0])
            return
        from tui.dialogs.choose import ChooseDialog

        table = lookup.table
        lines = [f"{table.op[lookup.row_of[p]]:14s} {table.label(lookup.row_of[p])}" for p in peers if p in lookup.row_of]  # fmt: skip

        def chosen(index: int | None) -> None:
            if index is not None:
                self.owb.go("graph", peers[index])

        self.app.push_screen(ChooseDialog(f"{len(peers)} {'readers' if output else 'producers'}", lines), chosen)

    def do_find_filter(self) -> None:
        self.app.query_one(FilterBar).open(self.query_text)

    def on_filter(self, query: str) -> None:
        """The query as typed so far; an error in it is told and the list stays."""
        self.query_text = query
        self.refill(self.owb.cursor)
        if self.lookup is not None:
            self.owb.query_one(FilterBar).figure(f"{sum(r >= 0 for r in self.list.rows):,} of {counted(len(self.lookup.table), 'node')}")  # fmt: skip

    def do_find_next(self) -> None:
        self._hit(1)

    def do_find_previous(self) -> None:
        self._hit(-1)

    def _hit(self, step: int) -> None:
        rows = self.list
        if rows.count:
            rows.cursor = (rows.cursor + step) % rows.count
            if self.drawn and rows.rows[rows.cursor] >= 0:
                self.drawing.put(rows.rows[rows.cursor])

    def do_sort_next(self) -> None:
        at = SORTS.index(self.list.sort)
        for step in range(1, len(SORTS) + 1):
            self.list.sort = SORTS[(at + step) % len(SORTS)]
            if self.list.sort != "time" or (self.lookup is not None and self.lookup.timed):
                break
        self.refill(self.owb.cursor)

    def do_sort_reverse(self) -> None:
        self.list.reverse = not self.list.reverse
        self.refill(self.owb.cursor)

    def do_measure_next(self) -> None:
        at, left = MEASURES.index(self.list.measure), ""
        while why := self.list.lacks(MEASURES[(at := at + 1) % len(MEASURES)]):
            left += f"; {why}"
        self.list.measure = MEASURES[at % len(MEASURES)]
        self.owb.say(f"overlay {self.list.measure}{left}")
        self._fill_scopes()
        self.refill(self.owb.cursor)

    def do_measure_choose(self) -> None:
        from tui.dialogs.choose import ChooseDialog

        def chosen(index: int | None) -> None:
            if index is not None:
                self.list.measure = MEASURES[(index - 1) % len(MEASURES)]
                self.do_measure_next()

        self.app.push_screen(ChooseDialog("Overlay", MEASURES, MEASURES.index(self.list.measure)), chosen)

    def do_fold_chain(self) -> None:
        if self.app.focused is self.scopes:
            self.scopes.fold(None)
        else:
            self.drawing.unfold()

    def do_fold_all(self) -> None:
        if self.drawn and self.app.focused is not self.scopes:
            self.drawing.fold_all()
        else:
            self.scopes.fold_all()

    def do_move_right(self) -> None:
        if self.app.focused is self.query_one(DagView):
            self.query_one(DagView).step(0, 1)
        elif self.app.focused is self.scopes:
            self.scopes.fold(True)

    def do_move_left(self) -> None:
        if self.app.focused is self.query_one(DagView):
            self.query_one(DagView).step(0, -1)
        elif self.app.focused is self.scopes:
            self.scopes.fold(False)

    def _move(self, step: int) -> None:
        if self.app.focused is self.query_one(DagView):
            self.query_one(DagView).step(step, 0)
        else:
            super()._move(step)

    def do_open_row(self) -> None:
        if self.app.focused is self.query_one(DagView):
            if not self.drawing.enter():
                self._enter()
        else:
            super().do_open_row()

    def do_amount_more(self) -> None:
        self._amount(1)

    def do_amount_less(self) -> None:
        self._amount(-1)

    def _amount(self, step: int) -> None:
        if self.app.focused is self.scopes:
            self.scopes.deeper(step)
        else:
            self.drawing.hop(step)

    def do_face_next(self) -> None:
        self.face = (self.face + 1) % len(self.FACES)
        self._faced()
        self.refill(self.owb.cursor)
        self.main_pane().focus()
        self.owb.refresh_frame()

    def _faced(self) -> None:
        self.list.railed = self.FACES[self.face] == "rails"
        self.set_class(self.drawn, "dag")

    def do_explain_open(self) -> None:
        row, lookup = self.current(), self.lookup
        if row is not None and row >= 0 and lookup is not None:
            from tui.dialogs.page import operator_page

            self.app.push_screen(operator_page(lookup.detail(row), self.owb.bench, lookup.table.label(row)))

    def copy_text(self) -> str:
        row, lookup = self.current(), self.lookup
        if row is None or lookup is None:
            return ""
        return lookup.table.label(row) if row >= 0 else self.list.before.table.label(-1 - row) if self.list.before else ""  # fmt: skip

    def copy_command(self) -> str:
        return f"owb show {self.shown_file()} {shlex.quote(self.copy_text())}"

    def copy_python(self) -> str:
        node = self._at()
        return f"{self.shown_model()}.graph.nodes[{node.index}]" if node is not None and not node.graph else ""

    def copy_data(self) -> tuple[Any, str] | None:
        row, lookup = self.current(), self.lookup
        return (lookup.detail(row), "node") if row is not None and row >= 0 and lookup is not None else None
