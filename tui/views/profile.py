"""6 Profile: where the time goes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from textual.app import ComposeResult

from exec.timing import NodeTime, Profile
from tui import columns
from tui.columns import Column
from tui.glyphs import bar, spark
from tui.line import Line, fit, section
from tui.theme import HEAT_GLYPHS, heat_of_share, operator_token
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.render import units
from workbench.render.profiling import verdict
from workbench.render.text import display_name

_FACES = ("node", "operator")
_ENGINES = ("embedded", "onnxruntime")
RUNS = 12


class ProfileView(View):
    """One row a node, slowest first; A's time beside it when both are measured.

    Shows    a `Profile`; nothing is measured here
    Sends    Profile(slot, engine) on r
    Empty    names the key that measures
    """

    TITLE = "Profile"
    KEYS = (
        "open.row",
        "run.now",
        "run.options",
        "face.next",
        "sort.next",
        "copy.name",
        "copy.as",
        "slot.next",
        "job.cancel",
    )
    FACES = _FACES
    DEFAULT_CSS = "ProfileView #where { width: 46; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.engine = 0
        self.rows: list[NodeTime] = []
        self.groups: list[tuple[str, int, float]] = []
        self.by_time = True

    def compose(self) -> ComposeResult:
        yield Pane("Profile", Heads(self._columns), Rows(id="time-rows"), id="times")
        yield Seam("times").add_class("side")
        yield Pane("Where", Text(id="where-text"), id="where").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        profile = self.result()
        slot = "A" if bench.shown == "A" else "B"
        pane, rows = self.query_one("#times", Pane), self.query_one(Rows)
        if profile is None:
            self.rows, self.groups = [], []
            rows.show(0, lambda row, width: [])
            pane.rule.name_pane(f"Profile of {slot}", "nothing measured")
            self.owb.say(
                f"no profile of {slot} yet: r runs it {RUNS} times in {_ENGINES[self.engine]}, R changes the engine"
            )
        elif self.face:
            totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
            for node in profile.nodes:
                totals[node.op][0] += 1
                totals[node.op][1] += node.median_ns
            self.groups = sorted(((op, int(n), t) for op, (n, t) in totals.items()), key=lambda g: -g[2])
            rows.show(len(self.groups), self._group_row)
            pane.rule.name_pane(f"Profile of {slot}", f"{len(self.groups)} operators · t nodes")
        else:
            self.rows = sorted(profile.nodes, key=lambda n: -n.median_ns) if self.by_time else list(profile.nodes)
            rows.show(len(self.rows), self._row)
            pane.rule.name_pane(
                f"Profile of {slot}", f"{len(self.rows):,} nodes · {'time ↓' if self.by_time else 'order'}"
            )
        self.query_one(Heads).refresh()
        self.query_one("#where-text", Text).show(self._where)
        self.owb.refresh_footer()

    def result(self) -> Profile | None:
        """The last profile of what is shown."""
        bench = self.owb.bench
        if bench is None:
            return None
        found: Profile | None = bench.last_profile("A" if bench.shown == "A" else "B", _ENGINES[self.engine])
        return found

    def _columns(self) -> tuple[Column, ...]:
        if self.face:
            return (
                Column("operator", 0),
                Column("nodes", 7, right=True),
                Column("ms", 9, right=True),
                Column("%", 6, right=True),
                Column("", 20, rank=1),
            )
        return (
            Column("node", 0, keep="end"), Column("operator", 14, rank=3), Column("output", 20, right=True, rank=4), Column("ms", 8, right=True),
            Column("p95", 8, right=True, rank=2), Column("%", 6, right=True), Column("GFLOP/s", 8, right=True, rank=5), Column("", 1),
        )  # fmt: skip

    def _row(self, row: int, width: int) -> Line:
        node = self.rows[row]
        heat = heat_of_share(node.share) or 0
        rate = f"{node.flops / node.median_ns:.1f}" if node.flops and node.median_ns else "–"
        cells: list[Any] = [
            (display_name(node.name or f"{node.op}#{node.index}"), "fg"), (display_name(node.op), operator_token(node.op, node.domain)),
            (display_name(node.shapes[0]) if node.shapes else "", "dim"), (f"{node.median_ns / 1e6:.3f}", "strong"), (f"{node.p95_ns / 1e6:.3f}", "dim"),
            (f"{100 * node.share:.1f}", "fg"), (rate, "dim"), (HEAT_GLYPHS[heat], f"heat.{heat}"),
        ]  # fmt: skip
        return columns.row(self._columns(), cells, width)

    def _group_row(self, row: int, width: int) -> Line:
        op, count, time = self.groups[row]
        total = sum(g[2] for g in self.groups) or 1.0
        cells: list[Any] = [
            (display_name(op), operator_token(op, "")), (f"{count:,}", "dim"), (f"{time / 1e6:.3f}", "strong"), (f"{100 * time / total:.1f}", "fg"),
            (bar(time / total, 20), "heat.3"),
        ]  # fmt: skip
        return columns.row(self._columns(), cells, width)

    def _where(self, width: int) -> list[Line]:
        profile = self.result()
        if profile is None:
            return [
                [], [(" No profile yet.", "strong")], [],
                [(" r ", "focus"), (f"run {RUNS} times in {_ENGINES[self.engine]}, seeded inputs", "fg")],
                [(" R ", "focus"), ("the other engine", "fg")],
            ]  # fmt: skip
        out: list[Line] = [[(" " + part, "fg")] for part in _wrapped(verdict(profile), width)]
        out.append(section(" by operator"))
        totals: dict[str, float] = defaultdict(float)
        for node in profile.nodes:
            totals[node.op] += node.median_ns
        whole = sum(totals.values()) or 1.0
        for op, time in sorted(totals.items(), key=lambda item: -item[1])[:10]:
            share = time / whole
            out.append(
                [
                    (f" {fit(display_name(op), 18)}", operator_token(op, "")),
                    (fit(units.percent(share), 8, right=True), "fg"),
                    ("  " + bar(share, 14), "heat.3"),
                ]
            )
        live = [float(n.live_bytes) for n in profile.nodes if n.live_bytes]
        if live:
            out.append(section(f" live memory, peak {units.size(profile.peak_bytes)}"))
            out.append([(" " + spark(live, width - 3), "slot.a")])
        other = self._other()
        if other is not None:
            change = profile.wall_ns / other.wall_ns - 1 if other.wall_ns else 0.0
            word = "faster" if change < 0 else "slower"
            out.append(section(" A and B"))
            out.append(
                [
                    (f" A {units.duration(other.wall_ns)}   B {units.duration(profile.wall_ns)}   ", "fg"),
                    (f"{abs(change):.1%} {word}".replace("%", " %"), "strong"),
                ]
            )
        out += [[(" " + display_name(line), "dim")] for line in profile.assumptions[:6]]
        return out

    def _other(self) -> Profile | None:
        bench = self.owb.bench
        if bench is None or bench.shown == "A" or bench.a == bench.b:
            return None
        found: Profile | None = bench.last_profile("A", _ENGINES[self.engine])
        return found

    def why_not(self, action_id: str) -> str:
        job = self.owb.bridge.jobs.get("profile")
        if action_id == "run.now" and job is not None:
            return f"already running, {job.progress[0]} of {job.progress[1]}: ctrl+c stops it"
        if action_id in ("open.row", "copy.name") and not (self.rows or self.groups):
            return "nothing measured yet: r runs"
        return ""

    def footer(self) -> list[tuple[str, str, bool]]:
        label = "run again" if self.result() is not None else "run"
        named = {"run.now": label, "run.options": f"engine {_ENGINES[1 - self.engine]}"}
        return [(a, named.get(a, text), on) for a, text, on in super().footer()]

    def do_run_now(self) -> None:
        bench, engine = self.owb.bench, _ENGINES[self.engine]
        assert bench is not None
        slots = ("A", "B") if bench.shown == "A→B" else (bench.shown,)

        def work(progress: Any, cancel: Any) -> list[Profile]:
            return [bench.profile(slot, runs=RUNS, engine=engine, progress=progress, cancel=cancel) for slot in slots]

        def done(results: list[Profile]) -> None:
            self.owb.state_changed()
            self.owb.say(verdict(results[-1]))

        self.owb.bridge.run("profile", f"measuring in {engine}", work, done)

    def do_run_options(self) -> None:
        self.engine = 1 - self.engine
        self.fill()
        self.owb.say(f"engine {_ENGINES[self.engine]}" + ("" if self.result() is not None else ": r runs"))

    def do_face_next(self) -> None:
        self.face = 1 - self.face
        self.fill()

    def do_sort_next(self) -> None:
        self.by_time = not self.by_time
        self.fill()

    def on_rows_opened(self, message: Rows.Opened) -> None:
        if self.face:
            self.owb.show_operator(self.groups[message.row][0])
        else:
            node = self.rows[message.row]
            self.owb.show_node_named(node.name or f"{node.op}#{node.index}")

    def copy_text(self) -> str:
        row = self.query_one(Rows).cursor
        if self.face:
            return self.groups[row][0] if self.groups else ""
        return (self.rows[row].name or self.rows[row].op) if self.rows else ""

    def copy_command(self) -> str:
        return f"owb profile {self.owb.path} --engine {_ENGINES[self.engine]} --runs {RUNS}"


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(width - 2, 20))
