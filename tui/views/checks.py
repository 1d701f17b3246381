"""8 Checks: what a person should know before shipping; what has a fix is fixed as a step."""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from typing import Any

from textual.app import ComposeResult

from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.line import Line, Span, section
from tui.views.filtered import Filtered, shown_of
from tui.views.nodelist import SIGNS
from tui.views.view import Pane
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.findings import Findings
from workbench.history import Step
from workbench.lint.base import Finding
from workbench.lint.catalog import BY_CODE
from workbench.render.text import display_name

_COLUMNS = (Column("", 1), Column("code", 7), Column("what", 0), Column("where", 20, rank=1), Column("fix", 18, rank=2))
_MARKS: dict[str, Span] = {"error": ("✗", "bad"), "warning": ("▲", "warn"), "note": ("•", "dim")}


class ChecksView(Filtered):
    """Findings grouped by check; the page of the one under the cursor.

    Shows    `Findings`
    Sends    Optimize(fix) on a
    Empty    says that no check found anything
    """

    TITLE = "Checks"
    KEYS = ("open.row", "find.filter", "change.apply", "mark.toggle", "change.apply-all", "explain.open", "run.now", "copy.name", "copy.as", "slot.next")  # fmt: skip
    LABELS = {"open.row": "node", "change.apply": "fix", "explain.open": "page", "run.now": "again"}
    KEPT = ("query_text",)
    DEFAULT_CSS = "ChecksView #explain { width: 52; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.result: Findings | None = None
        self.found: list[list[Finding]] = []  # of every check that found something
        self.groups: list[list[Finding]] = []  # of those that the query lets through
        self.marks: set[str] = set()
        self.query_text = ""
        self.signs: dict[str, str] = {}
        self.counts: dict[str, tuple[int, int]] = {}

    def compose(self) -> ComposeResult:
        yield Pane("Checks", Heads(self._columns), Rows("explain-text", id="finding-rows"), id="findings")
        yield Seam("findings").add_class("side")
        yield Pane("Explain", Text(id="explain-text"), id="explain").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        both = bench.shown == "A→B" and not bench.same
        known = bench.results.findings.get(bench.key())
        if known is not None and (not both or bench.key("A") in bench.results.findings):
            self._checked((known, bench.results.findings.get(bench.key("A")) if both else None))
            return

        def work(progress: Any, cancel: Any) -> tuple[Findings, Findings | None]:
            return bench.findings(progress, cancel), bench.findings(progress, cancel, "A") if both else None

        self.owb.bridge.run("checks", "checking the model", work, self._checked, quiet=True)

    def learnt(self) -> None:
        bench = self.owb.bench
        if self.result is None and bench is not None and bench.key() in bench.results.findings:
            self.fill()

    def _checked(self, found: tuple[Findings, Findings | None]) -> None:
        self.result, before = found
        now, old = _by_code(self.result), _by_code(before) if before is not None else {}
        self.signs = {}
        if before is not None:
            self.signs = {c: "+" if c not in old else "~" if len(now[c]) != len(old[c]) else "=" for c in now}
            self.signs |= dict.fromkeys(old.keys() - now.keys(), "−")
            self.counts = {c: (len(old.get(c, ())), len(now.get(c, ()))) for c in now.keys() | old.keys()}
        self.found = [*now.values(), *(g for c, g in old.items() if c not in now)]
        if self.signs:  # what is new first, then what is gone, then what stays
            self.found.sort(key=lambda group: "+−~=".index(self.signs[group[0].code]))
        self.marks &= {group[0].code for group in self.found}
        self.query_one(Heads).refresh()
        if not self.found:
            self.owb.say("no check found anything")
        self.refill()

    def refill(self) -> None:
        self.groups = [g for g in self.found if self.lets_through(g[0].code, BY_CODE[g[0].code].title, g[0].fix, g[0].level, *(f.where for f in g))]  # fmt: skip
        self.query_one(Rows).show(len(self.groups), self._row)
        self._title()
        self._explain()
        self.owb.refresh_footer()

    def _title(self) -> None:
        if self.result is None:
            return
        counts = Counter(group[0].level for group in self.found)  # of checks, as the rows are: each says its own places
        detail = f"{counts['error']} ✗   {counts['warning']} ▲   {counts['note']} •   {len(self.result.clean)} ✓"
        if self.signs:
            tally = {s: sum(v == s for v in self.signs.values()) for s in "+−~="}
            detail = f"{tally['+']} new   {tally['−']} fixed   {tally['~']} changed   {tally['=']} same"
        if self.marks:
            detail = f"{len(self.marks)} marked · {detail}"
        if self.query_text:
            detail = f"{self.hits()} · {detail}"
        bench = self.owb.bench
        self.query_one("#findings", Pane).rule.name_pane(
            f"Checks of {bench.shown if bench is not None else 'A'}", detail
        )

    def hits(self) -> str:
        return shown_of(len(self.groups), len(self.found), "check")

    def _columns(self) -> tuple[Column, ...]:
        return (Column("", 1), *_COLUMNS) if self.signs else _COLUMNS

    def _row(self, row: int, width: int) -> Line:
        group = self.groups[row]
        first = group[0]
        where = first.where if len(group) == 1 else counted(len(group), "place")
        cells: list[Any] = [
            ("●", "focus") if first.code in self.marks else _MARKS[first.level],
            (first.code, "fg"),
            (BY_CODE[first.code].title, "strong"),
            (display_name(where), "dim"),
            (first.fix, "focus"),
        ]
        if self.signs:
            sign = self.signs[first.code]
            a, b = self.counts[first.code]
            cells = [(sign, SIGNS[sign]), *cells[:3], (f"{a:,} → {counted(b, 'place')}", "dim"), cells[4]]
        return columns.row(self._columns(), cells, width)

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
            nothing = "no check matches: esc clears the filter" if self.found else "no check found anything"
            return [[(" checking …" if self.result is None else f" {nothing}", "dim")]]
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
        if action_id in ("open.row", "mark.toggle", "mark.range") and not group:
            return "nothing under the cursor"
        if action_id == "change.apply-all" and not self._fixes():
            return "no rule repairs any of these" if not self.marks else "no rule repairs what is marked"
        if action_id in ("change.apply", "change.apply-all") and "optimize" in self.owb.bridge.jobs:
            return "rules are being applied: ctrl+c stops"
        return ""

    def _fixes(self) -> list[str]:
        """The rules that repair what is marked, or all that is shown when nothing is."""
        chosen = [g[0] for g in self.found if g[0].code in self.marks] if self.marks else [g[0] for g in self.groups]
        return list(dict.fromkeys(f.fix for f in chosen if f.fix))

    def footer(self) -> list[tuple[str, str, bool]]:
        fixing = f"fix {len(self.marks)} marked" if self.marks else "fix all"
        return [(a, fixing if a == "change.apply-all" else label, on) for a, label, on in super().footer()]

    def do_mark_toggle(self) -> None:
        """`A` then repairs the marked ones together."""
        self.marks ^= {self.current()[0].code}
        self.query_one(Rows).move(1)
        self._marked()

    def do_mark_range(self) -> None:
        """From the last mark above to the cursor."""
        end = self.query_one(Rows).cursor
        start = max((k for k, g in enumerate(self.groups[: end + 1]) if g[0].code in self.marks), default=end)
        self.marks.update(g[0].code for g in self.groups[start : end + 1])
        self._marked()

    def _marked(self) -> None:
        self._title()
        self.query_one(Rows).refresh()
        self.owb.refresh_footer()

    def do_change_apply(self) -> None:
        self._fix([self.current()[0].fix])

    def do_change_apply_all(self) -> None:
        self._fix(self._fixes())

    def _fix(self, fixes: list[str]) -> None:
        """Apply the rules that repair, as one step."""
        bench, fix = self.owb.bench, ", ".join(fixes)
        assert bench is not None

        def done(step: Step) -> None:
            self.marks.clear()
            self.owb.state_changed()
            self.say(f"{fix}: step {step.info.number}; z undoes")
            self.owb.toasts.done(f"{fix}: {counted(len(step.report.applied), 'place')}   z undoes")

        self.owb.bridge.run(
            "optimize",
            f"applying {fix}",
            lambda progress, cancel: bench.optimize(fixes, progress=progress, cancel=cancel),
            done,
        )

    def do_run_now(self) -> None:
        bench = self.owb.bench
        if bench is not None:
            bench.results.findings.pop(bench.key(), None)
            self.result = None
            self.fill()

    def do_explain_open(self) -> None:
        from tui.dialogs.page import PageDialog

        group = self.current()
        if group:
            cls = BY_CODE[group[0].code]
            places = "\n".join(f"{f.where}\n    {f.message}" for f in group[:500])
            self.app.push_screen(
                PageDialog(
                    f"{cls.code}  {cls.title}",
                    [
                        ("", inspect.cleandoc(cls.__doc__ or "")),
                        (f"{len(group):,} place{'s' if len(group) > 1 else ''}", places),
                    ],
                )
            )

    def sentence(self) -> str:
        if self.result is None:
            return "checking"
        return f"{len(self.found)} {'check' if len(self.found) == 1 else 'checks'} found something, {len(self.result.clean)} found nothing"

    def copy_text(self) -> str:
        group = self.current()
        return group[0].code if group else ""

    def copy_command(self) -> str:
        return f"owb check {self.shown_file()} --select {self.copy_text()}"

    def copy_python(self) -> str:
        return f"wb.check({self.shown_model()}, select={[self.copy_text()]!r})"

    def copy_data(self) -> tuple[Any, str] | None:
        group = self.current()
        return ({"findings": group}, "findings") if group else None


def _by_code(found: Findings) -> dict[str, list[Finding]]:
    out: dict[str, list[Finding]] = {}
    for f in found.findings:
        out.setdefault(f.code, []).append(f)
    return out
