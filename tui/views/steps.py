"""The history as a list: every step with its nodes, its time where it was measured, and what its verification found."""

from __future__ import annotations

from typing import Any

from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.line import Line, Span, section
from tui.numbers import decibels, number, signed
from tui.widgets.rows import Rows
from workbench.bench import Bench
from workbench.history import Step
from workbench.render import units
from workbench.render.text import display_name

COLUMNS = (Column("", 3, right=True), Column("step", 0), Column("nodes", 7, right=True), Column("ms", 6, right=True, rank=1), Column("", 1))  # fmt: skip


class StepRows(Rows):
    """The newest step first; below each stands what it was held against, which the cursor passes over."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bench: Bench | None = None
        self.lines: list[tuple[Step, str]] = []
        self.coming = ""

    def fill(self, bench: Bench, coming: str = "") -> None:
        """Show the steps, the cursor at B's; `coming` is a step that is still being verified."""
        self.bench, self.lines, self.coming = bench, [], coming
        for step in reversed(bench.history.steps):
            self.lines.append((step, ""))
            self.lines += [(step, f"✗ {undone.rule} taken back: {display_name(undone.reason)}") for undone in getattr(step.report, "undone", ())]  # fmt: skip
            detail = checked(step.report)
            if detail:
                self.lines.append((step, detail))
        at = next((k for k, (step, _) in enumerate(self.lines) if step.info.number == bench.b), 0)
        self.show(len(self.lines) + self.above, self._line, at + self.above)

    @property
    def above(self) -> int:
        """Rows before the first step."""
        return int(bool(self.coming))

    def step(self, row: int) -> Step:
        """The step that a row tells of."""
        return self.lines[max(row - self.above, 0)][0]

    def move(self, step: int) -> None:
        """From step to step."""
        heads = [k + self.above for k, (_, detail) in enumerate(self.lines) if not detail]
        if heads:
            here = max((n for n, k in enumerate(heads) if k <= self.cursor), default=0)
            self.cursor = heads[max(0, min(here + step, len(heads) - 1))]

    def _line(self, row: int, width: int) -> Line:
        if self.above and not row:
            return columns.row(
                COLUMNS, [("", "dim"), (self.coming, "warn"), ("", "dim"), ("", "dim"), ("◐", "warn")], width
            )
        step, detail = self.lines[row - self.above]
        bench = self.bench
        assert bench is not None
        here, beyond = step.info.number == bench.b, step.info.number > bench.b
        if detail:
            return [("    ", "dim"), (detail, "bad" if detail.startswith("✗") else "dim")]
        profile = bench.results.profile(step.info.key)
        cells: list[Any] = [
            (f"{step.info.number}{'▸' if here else ' '}", "slot.b" if here else "dim"),
            (display_name(step.info.title), "dim" if beyond else "fg"), (f"{step.info.nodes:,}", "dim" if beyond else "fg"),
            (f"{profile.sum_ns / 1e6:.2f}" if profile is not None else "–", "dim"), _mark(step.report),
        ]  # fmt: skip
        return columns.row(COLUMNS, cells, width)


def _mark(report: Any) -> Span:
    check = getattr(report, "verification", None)
    return {"whole": ("✓", "ok"), "regions": ("◐", "warn"), "none": ("–", "dim")}.get(check.scope, ("", "dim")) if check is not None else ("", "dim")  # fmt: skip


def checked(report: Any) -> str:
    """What is known of a step's error, short: "max err 2e−7 of range"."""
    check = getattr(report, "verification", None)
    if check is None:
        outputs = getattr(report, "outputs", ())
        return f"{decibels(min(o.sqnr_db for o in outputs))} at the worst output" if outputs else ""
    if check.scope == "none":
        return display_name(f"not verified: {check.reason}")
    worst = "equal bits" if not check.worst else f"max err {number(check.worst, '.0e')} of range"
    return worst if check.scope == "whole" else f"{worst}, {check.regions} of {counted(check.of, 'place')}"


def now(bench: Bench) -> list[Line]:
    """B beside the original: nodes, file and time."""
    here, first = bench.info("B"), bench.history.steps[0].info
    out: list[Line] = [section(" now"), [(f" B = step {bench.b}" if bench.b > 0 else " B = A" if bench.same else " B", "slot.b")]]  # fmt: skip
    facts = [("nodes", f"{here.nodes:,}", here.nodes / max(first.nodes, 1) - 1), ("file", units.size(here.file_bytes), here.file_bytes / max(first.file_bytes, 1) - 1)]  # fmt: skip
    times = [bench.results.profile(info.key) for info in (here, first)]
    if times[0] is not None and times[1] is not None:
        facts.append(("time", units.duration(times[0].sum_ns), times[0].sum_ns / max(times[1].sum_ns, 1) - 1))
    for label, text, change in facts:
        out.append([(f" {label:6s}", "dim"), (f"{text:>9s}", "fg"), (f"  {signed(change)}" if bench.b else "", "strong")])  # fmt: skip
    if len(facts) < 3:
        out.append([(" time          –  6 r", "dim")])
    return out
