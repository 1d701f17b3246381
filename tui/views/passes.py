"""4 Passes: what may be done, what it would give, why not elsewhere; and the history of what was done."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult

from exec.wording import counted
from passes.catalog import rules
from passes.report import Report
from passes.stepper import Stepper
from tui import columns
from tui.columns import Column
from tui.line import Line, Span
from tui.numbers import gained
from tui.views.filtered import Filtered, shown_of
from tui.views.rulepage import page
from tui.views.steps import COLUMNS, StepRows, checked, now
from tui.views.view import Pane
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.history import Step

if TYPE_CHECKING:
    from tui.dialogs.optimizing import Optimizing

_MOST_DRAWN = 20_000
_RULES = (Column("", 1), Column("rule", 0), Column("places", 7, right=True), Column("kind", 11, rank=2))


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule with what the dry run found for it; `group` is ready, later (only after other rules), refused or silent.

    places  when all ready rules are applied in their order
    alone   when only this one is
    """

    id: str
    group: str
    places: int
    refused: int
    alone: int


class PassesView(Filtered):
    """Dry-run counts first; then apply, look at the refusals, undo.

    Shows    a dry run's `Report`, one rule's page and places, the `History`
    Sends    Optimize(rule) on a, Optimize(all ready) on A, undo and redo
    Empty    counts appear when the dry run is done; a model with nothing to do says so
    """

    TITLE = "Passes"
    KEPT = ("all_rules",)
    KEYS = (
        "change.apply",
        "change.apply-all",
        "run.options",
        "mark.toggle",
        "find.next",
        "explain.open",
        "history.undo",
        "history.redo",
        "out.save",
        "fold.all",
    )
    LABELS = {
        "change.apply-all": "apply all",
        "run.options": "options",
        "explain.open": "why",
        "find.next": "next place",
        "fold.all": "all rules",
    }
    DEFAULT_CSS = (
        "PassesView #rules { width: 44; } PassesView #history { width: 38; } PassesView #step-now { height: 6; }"
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.report: Report | None = None
        self.alone: dict[str, int] = {}
        self.found: list[RuleRow] = []  # every rule
        self.rows: list[RuleRow] = []  # those that are shown
        self.query_text = ""
        self.all_rules = False
        self.marks: set[str] = set()
        self.place = 0
        self.options: Optimizing | None = None

    def compose(self) -> ComposeResult:
        yield Pane("Passes", Heads(lambda: _RULES), Rows(id="rule-rows"), id="rules")
        yield Seam("rules")
        yield Pane("Rule", Text(id="rule-page"), id="page")
        yield Seam("page").add_class("side")
        yield Pane(
            "History", Heads(lambda: COLUMNS), StepRows(id="step-rows"), Text(id="step-now"), id="history"
        ).add_class("side")

    def main_pane(self) -> Rows:
        return self.query_one("#rule-rows", Rows)

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.report, self.alone = bench.results.dry_runs.get(bench.key("B")), {}
        self._show_rules()
        if self.report is not None:
            self._count_alone(self.report)
        self._show_history()
        if self.report is None and not bench.why_not_change():
            self.owb.bridge.run("dry run", "counting what each rule would do", bench.dry_run, self._counted, quiet=True)

    def learnt(self) -> None:
        bench = self.owb.bench
        if bench is not None:
            self._show_history()
        found = bench.results.dry_runs.get(bench.key("B")) if bench is not None else None
        if found is not None and found is not self.report:
            self._counted(found)

    def find_rule(self, rule: str, place: int) -> None:
        row = next((k for k, r in enumerate(self.rows) if r.id == rule), None)
        if row is None and self.report is not None:
            self.all_rules = True
            self._show_rules()
            row = next((k for k, r in enumerate(self.rows) if r.id == rule), None)
        if row is not None:
            self.main_pane().cursor = row
            self.main_pane().focus()
            self.call_after_refresh(self._at_place, place)

    def _at_place(self, place: int) -> None:
        self.place = place
        self._show_page()

    def _counted(self, report: Report) -> None:
        self.report = report
        self._show_rules()
        self.owb.refresh_footer()
        self._count_alone(report)

    def _count_alone(self, report: Report) -> None:
        """What `a` would do now, beside what `A` would do: a rule may find its places only after others."""
        bench = self.owb.bench
        assert bench is not None
        model, names = bench.model("B"), [u.rule for u in report.rules if u.applied]

        def counted(found: dict[str, tuple[int, int]]) -> None:
            if report is self.report:
                self.alone = {name: places for name, (places, _) in found.items()}
                self._show_rules()
                self.owb.refresh_footer()

        self.owb.bridge.run("count", "counting places", lambda p, c: Stepper(model).counts(names, cancel=c), counted, quiet=True)  # fmt: skip

    # ── rules ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _show_rules(self) -> None:
        report, under = self.report, self.current()
        if report is None:
            self.rows = []
            self.query_one("#rules", Pane).rule.name_pane("Passes", "dry run …")
        else:
            found = []
            for u in report.rules:
                alone = self.alone.get(u.rule, u.applied)
                group = ("ready" if alone else "later") if u.applied else "refused" if u.refused else "silent"
                found.append(RuleRow(u.rule, group, u.applied, u.refused, alone))
            order = {"ready": 0, "later": 1, "refused": 2, "silent": 3}
            found.sort(key=lambda r: order[r.group])
            self.found = found
            self.rows = [r for r in found if (r.group != "silent" or self.all_rules) and self.lets_through(r.id, r.group)]  # fmt: skip
            silent = sum(r.group == "silent" for r in found)
            gone = report.before.nodes + report.before.constant_nodes - report.after.nodes - report.after.constant_nodes
            change = gained(-gone, "node")
            many = self.hits() if self.query_text else counted(len(found), "rule")
            detail = f"{many} · {change}"
            self.query_one("#rules", Pane).rule.name_pane("Passes", detail)
            bench = self.owb.bench
            if bench is not None and not bench.b and not any(r.places for r in found):
                self.say(
                    "no rule is ready: nothing to do here"
                    + (f"; {silent} found nothing, E shows them" if silent else "")
                )
        at = next((k for k, r in enumerate(self.rows) if under is not None and r.id == under.id), None)
        self.main_pane().show(len(self.rows), self._rule_row, at)
        self._show_page()

    def refill(self) -> None:
        self._show_rules()
        self.owb.refresh_footer()

    def hits(self) -> str:
        return shown_of(len(self.rows), len(self.found), "rule")

    def _rule_row(self, row: int, width: int) -> Line:
        rule = self.rows[row]
        mark: Span = (
            ("●", "strong")
            if rule.id in self.marks
            else {"ready": ("▶", "ok"), "later": ("▸", "dim"), "refused": ("◦", "warn"), "silent": (" ", "dim")}[
                rule.group
            ]
        )
        count = f"{rule.places}" if rule.places else f"{rule.refused} not" if rule.refused else "–"
        safety = rules()[rule.id].safety.value if rule.id in rules() else ""
        cells: list[Any] = [
            mark,
            (rule.id, "fg" if rule.places else "dim"),
            (count, "strong" if rule.places else "dim"),
            (safety, "dim"),
        ]
        return columns.row(_RULES, cells, width)

    def current(self) -> RuleRow | None:
        """The rule under the cursor."""
        return self.rows[min(self.main_pane().cursor, len(self.rows) - 1)] if self.rows else None

    def on_rows_moved(self, message: Rows.Moved) -> None:
        if message.rows.id == "rule-rows":
            self.place = 0
            self._show_page()
            self.owb.refresh_footer()

    # ── the page of a rule ─────────────────────────────────────────────────────────────────────────────────────────

    def _show_page(self) -> None:
        rule = self.current()
        pane = self.query_one("#page", Pane)
        pane.rule.name_pane(rule.id if rule else "Rule", counted(rule.places, "place") if rule else "")
        self.query_one("#rule-page", Text).show(self._page_lines)
        self._draw_place()

    def _draw_place(self) -> None:
        """Have this place drawn before and after, once a rule, off the screen's thread."""
        rule, bench = self.current(), self.owb.bench
        if rule is None or bench is None or not rule.places or bench.info("B").nodes > _MOST_DRAWN:
            return
        name = rule.id
        if (bench.key("B"), name) not in bench.results.previews:
            self.owb.bridge.run("preview", f"drawing {name}", lambda p, c: bench.preview(name), lambda _: self._drawn(name), quiet=True)  # fmt: skip

    def _drawn(self, name: str) -> None:
        rule = self.current()
        if rule is not None and rule.id == name:
            self.query_one("#rule-page", Text).show(self._page_lines)

    def _page_lines(self, width: int) -> list[Line]:
        rule, bench = self.current(), self.owb.bench
        if rule is None or self.report is None or bench is None:
            if self.report is None:
                return [[], [(" counting what each rule would do …", "dim")]]
            if self.query_text:
                return [[], [(" No rule matches.", "strong")], [], [(" esc ", "focus"), ("clears the filter", "fg")]]
            return [[], [(" No rule finds anything in B.", "strong")], [], [(" E ", "focus"), ("shows all rules", "fg")], [(" R ", "focus"), ("another opset or preset", "fg")], [(" 7 ", "focus"), ("compares A and B", "fg")]]  # fmt: skip
        alone = bench.results.previews.get((bench.key("B"), rule.id))
        return page(rule.id, rules().get(rule.id), self.report, alone, self.place, width)

    # ── history ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _show_history(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.query_one(StepRows).fill(bench, "verifying" if "optimize" in self.owb.bridge.jobs else "")
        self.query_one("#history", Pane).rule.name_pane("History", f"B = step {bench.b}" if bench.b >= 0 else "")
        self.query_one("#step-now", Text).show(lambda width: now(bench))

    def on_rows_opened(self, message: Rows.Opened) -> None:
        bench = self.owb.bench
        if message.rows.id == "step-rows" and bench is not None:
            number = self.query_one(StepRows).step(message.row).info.number
            bench.put_b(number)
            self.owb.state_changed()
        elif message.rows.id == "rule-rows":
            self._open_place()

    def _open_place(self) -> None:
        rule = self.current()
        if rule is None or self.report is None:
            return
        applied = self.report.of(rule.id)
        names = applied[self.place % len(applied)].sources if applied else ()
        self.owb.show_node_named(names[0] if names else "")

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def why_not(self, action_id: str) -> str:
        rule, bench = self.current(), self.owb.bench
        if action_id in ("change.apply", "change.apply-all", "run.options") and bench is not None:
            if bench.why_not_change():
                return bench.why_not_change()
            if "optimize" in self.owb.bridge.jobs:
                return "rules are being applied: ctrl+c stops"
        if action_id == "mark.toggle" and (rule is None or not rule.places):
            return "only a rule that finds places can be marked"
        if action_id == "change.apply" and not self.marks:
            if self.report is None:
                return "the dry run is not done yet"
            if rule is None:
                return "no rule under the cursor"
            if not rule.places:
                refused = self.report.refused
                why = next((r.reason for r in refused if r.rule == rule.id), "")
                return (
                    f"{rule.id} refuses {'its one place' if rule.refused == 1 else f'all {rule.refused:,} places'}: {why}"
                    if why
                    else f"{rule.id} matches 0 places"
                )
            if rule.group == "later":
                return f"the {counted(rule.places, 'place')} of {rule.id} {'comes' if rule.places == 1 else 'come'} after other rules: A applies all in their order"
        if action_id == "change.apply-all" and not any(r.places for r in self.found):
            return "no rule is ready"
        if action_id in ("find.next", "find.previous") and (rule is None or rule.places < 2):
            return "one place at most"
        return ""

    def sentence(self) -> str:
        ready = [r for r in self.found if r.places]
        if self.report is None:
            return "counting what each rule would do"
        refused = sum(r.refused for r in self.found)
        places = sum(r.places for r in ready)
        found = (
            f"{len(ready)} {'rule finds' if len(ready) == 1 else 'rules find'} {counted(places, 'place')}"
            if ready
            else "no rule is ready"
        )
        return found + (f", {refused:,} {'is' if refused == 1 else 'are'} refused: d says why" if refused else "")

    def footer(self) -> list[tuple[str, str, bool]]:
        rule = self.current()
        entries = super().footer()
        return [(a, self._apply_label(rule) if a == "change.apply" else label, on) for a, label, on in entries]

    def _apply_label(self, rule: RuleRow | None) -> str:
        if self.marks:
            return f"apply {len(self.marks)} marked"
        return f"apply {rule.alone}" if rule is not None and rule.alone else ""

    def do_change_apply(self) -> None:
        rule, bench = self.current(), self.owb.bench
        assert rule is not None
        assert bench is not None
        marked = [r for r in self.found if r.id in self.marks]
        if marked:
            names = [r.id for r in marked]
            self._ask(
                marked, f"Apply {counted(len(marked), 'marked rule')}", names, counted(len(marked), "marked rule"), None
            )
            return
        alone = bench.results.previews.get((bench.key("B"), rule.id))
        self._ask([rule], f"Apply {rule.id}", [rule.id], rule.id, alone.report if alone is not None else None)

    def do_run_options(self) -> None:
        """A preset with options of its own: another opset, another runtime."""
        import onnx

        from tui.dialogs.optimizing import OptimizeDialog, Optimizing

        bench = self.owb.bench
        assert bench is not None
        newest = int(onnx.defs.onnx_opset_version())

        def given(options: Optimizing | None) -> None:
            if options is not None:
                self.options = options
                self._optimize(options.preset, f"the preset {options.preset}", options.options())

        dialog = OptimizeDialog(self.options or Optimizing(), bench.info("B").opset, range(7, newest + 1))
        self.app.push_screen(dialog, given)

    def do_change_apply_all(self) -> None:
        ready = [r for r in self.found if r.places]
        self._ask(ready, "Apply all ready rules", "default", "all ready rules", self.report)

    def _ask(
        self, chosen: list[RuleRow], title: str, passes: list[str] | str, text: str, report: Report | None
    ) -> None:
        from tui.dialogs.apply import ApplyDialog

        bench = self.owb.bench
        assert bench is not None
        known = rules()
        lines = [
            (r.id, r.places if len(chosen) > 1 else r.alone, known[r.id].safety.value if r.id in known else "")
            for r in chosen
        ]
        redo = len(bench.history.steps) - 1 - bench.history.tip
        named = passes if isinstance(passes, str) else ",".join(passes)
        command = f"owb optimize {self.shown_file()} --passes {named} -o out.onnx"
        dialog = ApplyDialog(title, lines, sum(r.refused for r in chosen), report, redo, command)
        self.app.push_screen(dialog, lambda yes: self._optimize(passes, text) if yes else None)

    def _optimize(self, passes: list[str] | str, text: str, options: dict[str, Any] | None = None) -> None:
        bench = self.owb.bench
        assert bench is not None

        def done(step: Step) -> None:
            report: Report = step.report
            for undone in report.undone:
                self.owb.toasts.warn(f"{undone.rule} was undone: {undone.reason}")
            self.marks.clear()
            self.owb.state_changed()
            gone = step.info.nodes - bench.info_of(step.info.number - 1).nodes
            change = gained(gone, "node")
            places = len(report.applied)
            held = checked(report) if report.verification.scope == "none" else f"verified: {checked(report)}"
            self.say(f"step {step.info.number}, {text}: {change}, {held}; z undoes")
            self.owb.toasts.done(f"{text}: {counted(places, 'place')}, {change}, {held.partition(':')[0]}   z undoes")  # fmt: skip

        self.owb.bridge.run(
            "optimize",
            f"applying {text}",
            lambda progress, cancel: bench.optimize(passes, progress=progress, cancel=cancel, **(options or {})),
            done,
        )
        self._show_history()

    def do_mark_toggle(self) -> None:
        """`a` then applies the marked ones together."""
        rule = self.current()
        assert rule is not None
        self.marks ^= {rule.id}
        self.main_pane().move(1)
        self.main_pane().refresh()
        self.owb.refresh_footer()

    def do_find_next(self) -> None:
        self.place += 1
        self._show_page()

    def do_find_previous(self) -> None:
        self.place -= 1
        self._show_page()

    def copy_text(self) -> str:
        rule = self.current()
        return rule.id if rule is not None else ""

    def copy_command(self) -> str:
        return f"owb optimize {self.shown_file()} --passes {self.copy_text()} -o out.onnx"

    def copy_python(self) -> str:
        return f"wb.optimize({self.shown_model()}, passes={[self.copy_text()]!r}).model"

    def copy_data(self) -> tuple[Any, str] | None:
        rule, report = self.current(), self.report
        if rule is None or report is None:
            return None
        return {"rule": rule, "applied": report.of(rule.id), "refused": [r for r in report.refused if r.rule == rule.id]}, "rule"  # fmt: skip

    def do_fold_all(self) -> None:
        self.all_rules = not self.all_rules
        self._show_rules()

    def do_explain_open(self) -> None:
        from tui.dialogs.page import rule_page

        rule = self.current()
        if rule is None:
            return
        cls = rules().get(rule.id)
        refused = (
            [(r.node, r.reason) for r in self.report.refused if r.rule == rule.id] if self.report is not None else []
        )
        doc = inspect.cleandoc((cls.__doc__ if cls is not None else "") or "no page")
        self.app.push_screen(rule_page(rule.id, doc, getattr(cls, "BEFORE", ""), getattr(cls, "AFTER", ""), refused))

    def do_out_export(self) -> None:
        """The difference that a step made, as text."""
        from tui.dialogs.page import PageDialog
        from workbench.preview import difference_text

        bench = self.owb.bench
        steps = self.query_one(StepRows)
        number = steps.step(steps.cursor).info.number
        assert bench is not None
        if not number:
            self.owb.say("the original has no step before it", "dim")
            return
        before, after = bench.model_of(number - 1), bench.model_of(number)

        def show(text: str) -> None:
            self.app.push_screen(PageDialog(f"Step {number}", [("", text)]))

        self.owb.bridge.run("step", f"what step {number} changed", lambda p, c: difference_text(before, after), show)
