"""The drawing face of Graph: which part is drawn, how it is folded, and walking in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exec.wording import counted
from tui.theme import HEAT_GLYPHS, heat_of_share, operator_token
from tui.views.view import Pane
from tui.widgets.dag import DagView
from tui.widgets.minimap import MiniMap
from workbench.boxes import MOST_BOXES, Picture, groups_of, picture
from workbench.chains import title_of
from workbench.neighbourhood import near
from workbench.render import units
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.views.graph import GraphView

MOST_HOPS = 6


def _heat(share: float | None) -> str:
    return HEAT_GLYPHS[heat_of_share(share) or 0]


class DrawingPane:
    """What the view's drawing shows: a scope as boxes, or the neighbourhood of the cursor.

    hops    0 draws the whole scope, n what lies within n wires of the centre
    apart   rows whose chain is shown node by node
    opened  scopes shown opened in place
    """

    def __init__(self, view: GraphView) -> None:
        self.view = view
        self.picture: Picture | None = None
        self.hops = 0
        self.centre: int | None = None
        self.apart: set[int] = set()
        self.opened: set[str] = set()

    @property
    def dag(self) -> DagView:
        """The widget."""
        return self.view.query_one(DagView)

    def draw(self) -> None:
        """Choose the rows, group them, lay them out in the background."""
        view, lookup = self.view, self.view.lookup
        if lookup is None:
            return
        cursor = lookup.row_of.get(view.owb.cursor) if view.owb.cursor is not None else None
        if self.hops and (self.centre is not None or cursor is not None):
            self.centre = cursor if self.centre is None else self.centre
            assert self.centre is not None
            rows, whole = near(lookup.table, [self.centre], self.hops), False
        else:
            rows, whole = view.rows_shown(), not view.query_text
            if not (view.inside or view.query_text or view.scope):
                rows = [r for r in rows if not lookup.table.id[r].graph]
        groups = groups_of(lookup, rows, view.scope, apart=self.apart, opened=self.opened, whole=whole)
        pane = view.query_one("#nodes", Pane).rule
        if len(groups) > MOST_BOXES:
            pane.name_pane("Graph", counted(len(groups), "box"))
            view.owb.say(f"{counted(len(groups), 'box')} are too many to draw: enter a scope in the tree, filter with /, or + draws around the cursor", "warn")  # fmt: skip
            return
        measure = view.list.measure
        said = view.list.error_words if measure == "error" else None
        critical = view.owb.bench.results.paths.get(id(lookup.profile)) if lookup.timed and view.owb.bench else None

        def work(progress: Any, cancel: Any) -> tuple[Any, Picture]:
            return lookup, picture(lookup, groups, view.scope, measure, _heat, critical, said)

        view.owb.bridge.run("drawing", "drawing the graph", work, self._drawn, quiet=True)

    def _drawn(self, result: tuple[Any, Picture]) -> None:
        lookup, found = result
        view = self.view
        if view.lookup is not lookup and view.lookup is not None and view.lookup.model is not lookup.model:
            return
        self.picture = found
        table = lookup.table
        tokens = ["focus" if g.kind == "scope" else operator_token(table.op[g.rows[0]], table.domain[g.rows[0]]) for g in found.groups]  # fmt: skip
        at = lookup.row_of.get(view.owb.cursor) if view.owb.cursor is not None else None
        box = found.box_of(at) if at is not None else None
        self.dag.show(found.drawing, tokens, box or 0)
        self.show_map(found)
        self.title()
        view.show_detail()
        view.owb.refresh_footer()

    def show_map(self, found: Picture) -> None:
        """The column at the right: the heat of every box, and the boxes that hold marked nodes."""
        lookup, view = self.view.lookup, self.view
        assert lookup is not None
        heats = [view.list.heat(g.rows) for g in found.groups]
        marks = frozenset(self.marked())
        boxes = frozenset(k for k, g in enumerate(found.groups) if not marks.isdisjoint(g.rows))
        view.query_one(MiniMap).show(heats, boxes)

    def marked(self) -> list[int]:
        """Rows that are marked."""
        lookup = self.view.lookup
        return [lookup.row_of[n] for n in self.view.list.marks if n in lookup.row_of] if lookup is not None else []

    def title(self) -> None:
        """What is drawn, and which part of the whole it is."""
        view, found, lookup = self.view, self.picture, self.view.lookup
        if found is None or lookup is None:
            return
        nodes = sum(len(g.rows) for g in found.groups)
        name = display_name(view.scope or "Graph", 40)
        if self.hops and self.centre is not None:
            name = f"within {self.hops} of {display_name(lookup.table.label(self.centre), 30)}"
        detail = f"{counted(nodes, 'node')} in {counted(len(found.groups), 'box')}"
        measure = view.list.measure
        if measure not in ("none", "dtype", "error") and view.scope and lookup.total(measure):
            share = lookup.scope_totals(measure).get(view.scope, 0.0) / lookup.total(measure)
            detail += f" · {units.percent(share)} of {measure}"
        view.query_one("#nodes", Pane).rule.name_pane(name, detail)

    # ── the cursor ─────────────────────────────────────────────────────────────────────────────────────────────────

    def current(self) -> int | None:
        """The first row of the box under the cursor."""
        if self.picture is None or not self.picture.groups:
            return None
        return self.picture.groups[min(self.dag.cursor, len(self.picture.groups) - 1)].rows[0]

    def put(self, row: int) -> bool:
        """Move to the box that holds a row; False when none does."""
        box = self.picture.box_of(row) if self.picture is not None else None
        if box is not None:
            self.dag.put(box)
        return box is not None

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def why_not(self, action_id: str) -> str:
        """Reasons of the keys that only a drawing has."""
        if not self.view.drawn:
            return "the list has no boxes: t draws them" if action_id != "fold.chain" else ""
        if action_id == "amount.more" and self.hops >= MOST_HOPS:
            return f"at the most: {MOST_HOPS} hops"
        if action_id == "amount.less" and not self.hops:
            return "the whole scope is drawn: + draws around the cursor"
        group = self._group()
        if action_id == "fold.chain" and group is not None and group.kind == "node" and not self.apart:
            return "one node, nothing to unfold"
        return ""

    def _group(self) -> Any:
        if self.picture is None or not self.picture.groups:
            return None
        return self.picture.groups[min(self.dag.cursor, len(self.picture.groups) - 1)]

    def enter(self) -> bool:
        """Into a scope's box; a chain unfolds; False for a node."""
        group = self._group()
        if group is None or group.kind == "node":
            return False
        if group.kind == "scope":
            view = self.view
            view.scope = view.scopes.chosen = group.scope
            self.opened.clear()
            view.refill(view.owb.cursor)
            view.owb.say(f"in {display_name(group.scope)}: esc goes out")
        else:
            self.apart.add(group.rows[0])
            self.draw()
        return True

    def out(self) -> bool:
        """One step back to the larger picture; False when the scope is the next step out."""
        if self.hops:
            self.hops, self.centre = 0, None
            self.draw()
            return True
        return False

    def unfold(self) -> None:
        """Show the chain node by node, or the scope opened in place; again folds it."""
        group, lookup = self._group(), self.view.lookup
        if group is None or lookup is None:
            return
        if group.kind == "scope":
            self.opened.add(group.scope)
        elif group.kind == "chain":
            self.apart.add(group.rows[0])
            self.view.owb.say(f"{title_of(lookup.table, group)}: {counted(len(group.rows), 'node')}")
        else:
            self.apart.clear()
        self.draw()

    def fold_all(self) -> None:
        """Everything folded again."""
        self.apart.clear()
        self.opened.clear()
        self.draw()

    def hop(self, step: int) -> None:
        """More or fewer wires around the cursor."""
        self.hops = max(0, min(self.hops + step, MOST_HOPS))
        if not self.hops:
            self.centre = None
        self.draw()
