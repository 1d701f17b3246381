"""8 Checks: what a person should know before shipping; what has a fix is fixed as a step."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from textual.app import ComposeResult

from tui import columns
from tui.columns import Column
from tui.line import Line, Span, section
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.findings import Findings, check
from workbench.history import Step
from workbench.lint.base import Finding
from workbench.lint.catalog import BY_CODE
from workbench.render.text import display_name

_COLUMNS = (Column("", 1), Column("code", 7), Column("what", 0), Column("where", 26, rank=1), Column("fix", 18, rank=2))
_MARKS: dict[str, Span] = {"error": ("✗", "bad"), "warning": ("▲", "warn"), "note": ("•", "dim")}


class ChecksView(View):
    """Findings grouped by check; the page of the one under the cursor.

    Shows    `Findings`
    Sends    Optimize(fix) on a
    Empty    says that no check found anything
    """

    TITLE = "Checks"
    KEYS = ("open.row", "change.apply", "run.now", "copy.name", "history.undo")
    DEFAULT_CSS = "ChecksView #explain { width: 52; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.result: Findings | None = None
        self.groups: list[list[Finding]] = []

    def compose(self) -> ComposeResult:
        yield Pane("Checks", Heads(lambda: _COLUMNS), Rows(id="finding-rows"), id="findings")
        yield Seam("findings").add_class("side")
        yield Pane("Explain", Text(id="explain-text"), id="explain").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        model = bench.current()
        self.owb.bridge.run(
            "checks",
            "checking the model",
            lambda progress, cancel: check(model, progress=progress, cancel=cancel),
            self._checked,
            quiet=True,
        )

    def _checked(self, result: Findings) -> None:
        self.result = result
        self.groups = [
            [f for f in result.findings if f.code == code] for code in dict.fromkeys(f.code for f in result.findings)
        ]
        self.query_one(Rows).show(len(self.groups), self._row)
        counts = result.counts
        detail = f"{counts['error']} ✗   {counts['warning']} ▲   {counts['note']} •   {len(result.clean)} ✓"
        self.query_one("#findings", Pane).rule.name_pane("Checks", detail)
        if not self.groups:
            self.owb.say("no check found anything")
        self._explain()
        self.owb.refresh_footer()

    def _row(self, row: int, width: int) -> Line:
        group = self.groups[row]
        first = group[0]
        where = first.where if len(group) == 1 else f"{len(group):,} places"
        cells: list[Any] = [
            _MARKS[first.level],
            (first.code, "fg"),
            (BY_CODE[first.code].title, "strong"),
            (display_name(where), "dim"),
            (first.fix, "focus"),
        ]
        return columns.row(_COLUMNS, cells, width)

    def current(self) -> list[Finding]:
        """The findings under the cursor."""
        return self.groups[self.query_one(Rows).cursor] if self.groups else []

    def on_rows_moved(self, message: Rows.Moved) -> None:
        self._explain()
        self.owb.refresh_footer()

    def _explain(self) -> None:
        self.query_one("#explain-text", Text).show(self._page_lines)

    def _page_lines(self, width: int) -> list[Line]:
        group = self.current()
        if not group:
            return [[(" checking …" if self.result is None else " nothing to explain", "dim")]]
        cls = BY_CODE[group[0].code]
        out: list[Line] = [[(f" {cls.code}  {cls.level}", "dim")], []]
        for text in inspect.cleandoc(cls.__doc__ or "").splitlines():
            out += [
                [(" " + part, "fg")]
                for part in textwrap.wrap(text, max(width - 2, 20), subsequent_indent="       ") or [""]
            ]
        out += [[], section(f" {len(group):,} {'place' if len(group) == 1 else 'places'}")]
        for f in group[:200]:
            out.append([(" " + display_name(f.where), "strong")])
            out += [[("   " + part, "dim")] for part in textwrap.wrap(display_name(f.message), max(width - 4, 20))]
        return out

    def on_rows_opened(self, message: Rows.Opened) -> None:
        group = self.current()
        node = next(
            (f.where.removeprefix("node ").partition(" in ")[0] for f in group if f.where.startswith("node ")), ""
        )
        if node:
            self.owb.show_node_named(node)
        else:
            self.owb.say("this finding is about no single node", "dim")

    def why_not(self, action_id: str) -> str:
        group = self.current()
        if action_id == "change.apply":
            if not group:
                return "nothing under the cursor"
            if not group[0].fix:
                return f"no rule repairs {group[0].code}"
        return ""

    def do_change_apply(self) -> None:
        bench, fix = self.owb.bench, self.current()[0].fix
        assert bench is not None

        def done(step: Step) -> None:
            self.owb.state_changed()
            self.owb.say(f"{fix}: step {step.info.number}; z undoes")

        self.owb.bridge.run(
            "optimize",
            f"applying {fix}",
            lambda progress, cancel: bench.optimize([fix], progress=progress, cancel=cancel),
            done,
        )

    def do_run_now(self) -> None:
        self.fill()

    def copy_text(self) -> str:
        group = self.current()
        return group[0].code if group else ""

    def copy_command(self) -> str:
        return f"owb check {self.owb.path} --select {self.copy_text()}"
