"""6 Profile: where the time goes, and where it went."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

from textual.app import ComposeResult

from exec.timing import NodeTime, Profile
from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.dialogs.measure import ENGINES, MeasureDialog, Measuring
from tui.glyphs import bar, spark
from tui.line import Line, Span, fit, section
from tui.numbers import signed
from tui.theme import HEAT_GLYPHS, heat_of_share, operator_token
from tui.views.columnsets import ColumnSets
from tui.views.filtered import Filtered, shown_of
from tui.views.view import Pane
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.criticalpath import Critical
from workbench.render import units
from workbench.render.profiling import verdict
from workbench.render.text import display_name
from workbench.timeline import TimeGroup, TimeRow, groups, time_rows

_FACES = ("node", "operator", "scope")
_SORTS = ("time", "order", "change")


class ProfileView(ColumnSets, Filtered):
    """One row a node, slowest first; in A→B the sum of its sources beside it.

    Shows    a `Profile`, a `Lineup`, a `Critical`; nothing is measured here
    Sends    Profile(slot, engine, runs, threads, dims) on r
    Empty    names the key that measures; a profile of another state stays, dimmed and marked ≀
    """

    TITLE = "Profile"
    KEYS = ("open.row", "run.now", "run.options", "face.next", "sort.next", "measure.next", "find.filter", "out.export", "slot.next", "job.cancel")  # fmt: skip
    FACES = _FACES
    SETS = ("time", "work")
    KEPT = ("face", "sort", "reverse", "column_set", "query_text")
    DEFAULT_CSS = "ProfileView #where { width: 46; } ProfileView #memory { height: 4; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.options = Measuring()
        self.timed: list[TimeRow] = []  # every node
        self.rows: list[TimeRow] = []  # those that the query lets through
        self.query_text, self.reverse = "", False
        self.running: list[float] = []
        self.groups: list[TimeGroup] = []
        self.critical: Critical | None = None
        self.on_path: frozenset[int] = frozenset()
        self.sort = "time"
        self.both = False
        self.old = ""  # the state an old profile is of, "" for the one shown

    def compose(self) -> ComposeResult:
        yield Pane("Profile", Heads(self._columns), Rows("where-text", id="time-rows"), Text(id="memory"), id="times")
        yield Seam("times").add_class("side")
        yield Pane("Where", Text(id="where-text"), id="where").add_class("side")

    # ── filling ────────────────────────────────────────────────────────────────────────────────────────────────────

    def result(self) -> Profile | None:
        """The profile to show: of the state, or the newest of another one."""
        bench = self.owb.bench
        if bench is None:
            return None
        found: Profile | None = bench.results.profile(bench.key(), self.options.engine)
        self.old = ""
        if found is None:
            last = bench.results.last_profile(self.options.engine)
            if last is not None:
                key, found = last
                step = next((s.info for s in bench.history.steps if s.info.key == key), None)
                self.old = f"step {step.number}" if step is not None and step.number else "the original" if step is not None else "another state"  # fmt: skip
        return found

    def before(self) -> Profile | None:
        """A's profile, where both are shown and both are measured."""
        bench = self.owb.bench
        if bench is None or bench.shown != "A→B" or bench.same:
            return None
        found: Profile | None = bench.results.profile(bench.key("A"), self.options.engine)
        return found

    def fill(self) -> None:
        bench, profile = self.owb.bench, self.result()
        assert bench is not None
        self.timed, self.rows, self.groups, self.critical, self.on_path, self.both = (
            [],
            [],
            [],
            None,
            frozenset(),
            False,
        )
        if profile is None:
            self._show()
            self.say(f"no profile of {bench.shown} yet: r runs it {self.options.runs} times in {self.options.engine}, R changes that")  # fmt: skip
            return
        before = self.before()
        both = before is not None and not self.old

        def work(progress: Any, cancel: Any) -> tuple[list[TimeRow], Critical | None]:
            lookup = bench.lookup()
            if both:
                return time_rows(profile, lookup, bench.lookup("A"), bench.lineup()), bench.critical()
            return time_rows(profile, lookup), None if self.old else bench.critical()

        self.timed = [TimeRow(n, None, 0, None) for n in profile.nodes]
        self._arrange()
        self.owb.bridge.run("path", "lining times up", work, lambda found: self._lined_up(found, both), quiet=True)

    def _lined_up(self, found: tuple[list[TimeRow], Critical | None], both: bool) -> None:
        self.timed, self.critical = found
        self.on_path = frozenset(self.critical.path) if self.critical is not None else frozenset()
        self.both = both
        self._arrange()

    def _arrange(self) -> None:
        if self.sort == "time":
            self.timed.sort(key=lambda r: -r.node.median_ns)
        elif self.sort == "order":
            self.timed.sort(key=lambda r: r.node.index)
        else:
            self.timed.sort(key=lambda r: -abs(r.node.median_ns - (r.before_ns if r.before_ns is not None else r.node.median_ns)))  # fmt: skip
        if self.reverse:
            self.timed.reverse()
        self.rows = [r for r in self.timed if self.lets_through(r.node.name or f"{r.node.op}#{r.node.index}", r.node.op)]  # fmt: skip
        total, so_far, self.running = sum(r.node.median_ns for r in self.timed) or 1, 0.0, []
        for row in self.rows:
            so_far += row.node.median_ns
            self.running.append(so_far / total)
        profile = self.result()
        if profile is not None and self.face:
            lookup = self.owb.bench.lookup() if self.owb.bench is not None else None
            modules = dict(zip(lookup.table.name, lookup.table.scope, strict=True)) if lookup is not None else {}
            found = groups(profile, _FACES[self.face], self.before() if self.both else None, modules)
            self.groups = [g for g in found if self.lets_through(g.title)]
        self._show()

    def refill(self) -> None:
        self._arrange()

    def hits(self) -> str:
        return shown_of(len(self.rows), len(self.timed), "node") if not self.face else f"{len(self.groups):,} {_FACES[self.face]}s"  # fmt: skip

    def columns_changed(self) -> None:
        self._show()

    def _show(self) -> None:
        bench, profile = self.owb.bench, self.result()
        assert bench is not None
        pane = self.query_one("#times", Pane)
        shown = "A→B" if self.both else bench.shown if bench.shown != "A→B" else "B"
        if profile is None:
            pane.rule.name_pane(f"Profile of {shown}", "nothing measured")
        else:
            arrow = "" if self.sort == "order" and not self.reverse else " ↑" if self.reverse else " ↓"
            nodes = self.hits() if self.query_text else counted(len(self.rows), "node")
            count = f"{len(self.groups):,} {_FACES[self.face]}s" if self.face else f"{nodes} · {self.sort}{arrow}"
            pane.rule.name_pane(f"≀ Profile of {self.old}, not of {shown}" if self.old else f"Profile of {shown}", ("r measures again · " if self.old else "") + count)  # fmt: skip
        rows = self.query_one(Rows)
        rows.show(len(self.groups) if self.face else len(self.rows), self._group_row if self.face else self._row)
        self.query_one(Heads).refresh()
        self.query_one("#memory", Text).show(self._memory)
        self.query_one("#where-text", Text).show(self._where)
        self.owb.refresh_footer()

    def learnt(self) -> None:
        """A run began or ended: the pane beside says so, the rows stay what they are."""
        self.query_one("#where-text", Text).show(self._where)
        self.query_one(Rows).refresh()
        self.owb.refresh_footer()

    # ── rows ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _columns(self) -> tuple[Column, ...]:
        unit, _, _ = self._unit()
        ms = f"B {unit}" if self.both else unit
        if self.face:
            both = (Column(f"A {unit}", 9, right=True, rank=2), Column("change", 9, right=True)) if self.both else ()
            return (Column(_FACES[self.face], 0, keep="end"), Column("nodes", 7, right=True, rank=3), Column(ms, 9, right=True), *both, Column("%", 6, right=True), Column("", 20, rank=1))  # fmt: skip
        if self.SETS[self.column_set % 2] == "work":
            return _work_columns(ms)
        left = (Column("", 1), Column("node", 0, keep="end"), Column("operator", 12, rank=4), Column("output", 16, right=True, rank=5), Column(ms, 8, right=True), Column("p95", 7, right=True, rank=6), Column("%", 5, right=True), Column("cum %", 6, right=True, rank=3))  # fmt: skip
        if self.both:
            return (*left, Column("", 1), Column("from", 4, right=True, rank=2), Column(f"A {unit}", 8, right=True, rank=1), Column("change", 9, right=True))  # fmt: skip
        return (*left, Column("GFLOP/s", 8, right=True, rank=2), Column("", 1), Column("limit", 8, rank=7))

    def _row(self, row: int, width: int) -> Line:
        here = self.rows[row]
        node = here.node
        heat = heat_of_share(node.share) or 0
        text = "dim" if self.old else "fg"
        cells: list[Any] = [
            ("━", "strong") if here.row in self.on_path else ("", "dim"),
            (display_name(node.name or f"{node.op}#{node.index}"), text), (display_name(node.op), operator_token(node.op, node.domain)),
            (display_name(_shape(node.shapes)), "dim"), (self._time(node.median_ns), "dim" if self.old else "strong"), (self._time(node.p95_ns), "dim"),
            (f"{100 * node.share:.1f}", text), (f"{100 * self.running[row]:.1f}", "dim"),
        ]  # fmt: skip
        mark: Span = (HEAT_GLYPHS[heat], f"heat.{heat}")
        if self.SETS[self.column_set % 2] == "work":
            return columns.row(self._columns(), [*cells[:5], cells[6], mark, *_work(node)], width)
        if self.both:
            change = here.change
            quiet = change is not None and abs(change) < self._noise()
            cells += [mark, (f"{here.sources}×" if here.sources else "", "dim"), (self._time(here.before_ns) if here.before_ns is not None else "–", "dim"), (signed(change), "dim" if quiet else "fg")]  # fmt: skip
        else:
            rate = f"{node.flops / node.median_ns:.1f}" if node.flops and node.median_ns else "–"
            cells += [(rate, "dim"), mark, (node.roofline or "–", "dim")]
        return columns.row(self._columns(), cells, width)

    def _unit(self) -> tuple[str, float, int]:
        profile = self.result()
        return columns.time_unit(profile.sum_ns if profile is not None else 1e9)

    def _time(self, value_ns: float) -> str:
        _, size, decimals = self._unit()
        return f"{value_ns / size:.{decimals}f}"

    def _noise(self) -> float:
        profile = self.result()
        if profile is None or not profile.noise.gemm_min_ns:
            return 0.03
        return max(0.03, profile.noise.gemm_median_ns / profile.noise.gemm_min_ns - 1)

    def _group_row(self, row: int, width: int) -> Line:
        group = self.groups[row]
        total = sum(g.median_ns for g in self.groups) or 1.0
        share = group.median_ns / total
        heat = heat_of_share(share) or 0
        token = operator_token(group.title, "") if _FACES[self.face] == "operator" else "fg"
        cells: list[Any] = [(display_name(group.title), token), (f"{group.nodes:,}", "dim"), (self._time(group.median_ns), "strong")]  # fmt: skip
        if self.both:
            old = group.before_ns or 0.0
            cells += [(self._time(old), "dim"), (signed(group.median_ns / old - 1 if old else None), "fg")]
        cells += [(f"{100 * share:.1f}", "fg"), (bar(share, 18), f"heat.{heat}")]
        return columns.row(self._columns(), cells, width)

    # ── beside and below ───────────────────────────────────────────────────────────────────────────────────────────

    def _memory(self, width: int) -> list[Line]:
        profile = self.result()
        if profile is None:
            return []
        ordered = sorted(profile.nodes, key=lambda n: n.index)
        live = [float(n.live_bytes) for n in ordered]
        if not any(live):
            return [section(" live memory along the run"), [(f" {profile.engine} does not tell", "dim")]]
        at = max(ordered, key=lambda n: n.live_bytes)
        head = f" live memory along the run   {'B ' if self.both else ''}peak {units.size(profile.peak_bytes)} at {display_name(at.name or at.op, 30)}"  # fmt: skip
        out: list[Line] = [section(head), [(" " + spark(live, width - 2), "slot.b" if self.both else "slot.a")]]
        before = self.before() if self.both else None
        if before is not None:
            out[0] = section(f"{head}   A peak {units.size(before.peak_bytes)}")
            out.append([(" " + spark([float(n.live_bytes) for n in sorted(before.nodes, key=lambda n: n.index)], width - 2), "slot.a")])  # fmt: skip
        return out

    def _where(self, width: int) -> list[Line]:
        profile = self.result()
        o = self.options
        if profile is None and "profile" in self.owb.bridge.jobs:
            return [[], [(" ◐ measuring: rows after the last run", "warn")], [], [(" ctrl+c ", "focus"), ("stops", "fg")]]  # fmt: skip
        if profile is None:
            return [
                [], [(" No profile yet.", "strong")], [],
                [(" r ", "focus"), (f"run {o.runs} times in {o.engine}, {o.threads} {'thread' if o.threads == 1 else 'threads'}", "fg")],
                [(" R ", "focus"), ("choose engine, runs, threads, sizes", "fg")],
            ]  # fmt: skip
        out: list[Line] = [[(" " + part, "dim" if self.old else "fg")] for part in textwrap.wrap(verdict(profile), max(width - 2, 20))]  # fmt: skip
        before = self.before() if self.both else None
        if before is not None:
            change = profile.sum_ns / before.sum_ns - 1 if before.sum_ns else 0.0
            out += [section(" A and B"), [(" sum   A ", "dim"), (units.duration(before.sum_ns), "slot.a"), ("   B ", "dim"), (units.duration(profile.sum_ns), "slot.b"), (f"   {signed(change)}", "strong")]]  # fmt: skip
            out.append([(" wall  A ", "dim"), (units.duration(before.wall_ns), "slot.a"), ("   B ", "dim"), (units.duration(profile.wall_ns), "slot.b")])  # fmt: skip
        if self.critical is not None:
            out += self._path_lines(self.critical, width)
        out.append(section(" by operator"))
        total = sum(n.median_ns for n in profile.nodes) or 1
        for g in groups(profile, "operator")[:8]:
            share = g.median_ns / total
            heat = heat_of_share(share) or 0
            out.append([(f" {fit(display_name(g.title), 18)}", operator_token(g.title, "")), (fit(f"{100 * share:.1f} %", 8, right=True), "fg"), ("  " + bar(share, 12), f"heat.{heat}")])  # fmt: skip
        roof = profile.machine
        out += [section(" machine"), [(f" {roof.gemm_flops_per_s / 1e9:.0f} GFLOP/s   {roof.copy_bytes_per_s / 1e9:.1f} GB/s   {profile.threads} thread{'s' if profile.threads > 1 else ''}", "dim")]]  # fmt: skip
        return out + [[(" " + part, "dim")] for text in (*profile.assumptions[:6], *profile.notes) for part in textwrap.wrap(display_name(text), max(width - 2, 20))]  # fmt: skip

    def _path_lines(self, critical: Critical, width: int) -> list[Line]:
        share = critical.length_ns / critical.total_ns if critical.total_ns else 0.0
        out: list[Line] = [
            section(" critical path"),
            [(f" {len(critical.path):,} of {counted(len(critical.rank), 'node')}   {units.duration(critical.length_ns)} of {units.duration(critical.total_ns)}", "fg")],
        ]  # fmt: skip
        saves = f"{100 * share:.1f} % of the sum: running branches at once saves at most {100 * (1 - share):.1f} %"
        out += [[(" " + part, "dim")] for part in textwrap.wrap(saves, max(width - 2, 20))]
        lookup = self.owb.bench.lookup() if self.owb.bench is not None else None
        if lookup is None:
            return out
        top = max((lookup.table.time_ns[r] or 0.0 for r in critical.path), default=0.0) or 1.0
        slow = set(sorted(critical.path, key=lambda r: -(lookup.table.time_ns[r] or 0.0))[:7])
        for r in (r for r in critical.path if r in slow):
            ns = lookup.table.time_ns[r] or 0.0
            out.append([(" ━ ", "strong"), (fit(display_name(lookup.table.label(r)), max(width - 24, 8), keep="end"), "fg"), (fit(self._time(ns), 8, right=True), "fg"), (" " + bar(ns / top, 10), "heat.3")])  # fmt: skip
        return out

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def why_not(self, action_id: str) -> str:
        job = self.owb.bridge.jobs.get("profile")
        if action_id == "run.now" and job is not None:
            return f"already running, {job.progress[0]} of {job.progress[1]}: ctrl+c stops it"
        if action_id in ("open.row", "copy.name", "out.export", "measure.next", "find.filter") and not self.timed:
            return "nothing measured yet: r runs"
        if action_id in ("open.row", "copy.name") and not (self.groups if self.face else self.rows):
            return "nothing matches: esc clears the filter"
        if action_id in ("measure.next", "measure.choose") and self.face:
            return f"times by {_FACES[self.face]} have one set of columns: t goes back to the nodes"
        return ""

    def footer(self) -> list[tuple[str, str, bool]]:
        named = {"run.now": "run again" if self.timed else "run", "face.next": f"by {_FACES[(self.face + 1) % 3]}", "sort.next": "sort", "out.export": "export trace", "measure.next": "columns", "open.row": "node in Graph", "run.options": "options"}  # fmt: skip
        keys = [k for k in self.KEYS if k != "job.cancel" or "profile" in self.owb.bridge.jobs]
        return [(a, named.get(a, ""), not (self.why_not(a) or self.owb.why_not(a))) for a in keys]

    def do_run_now(self) -> None:
        bench, o = self.owb.bench, self.options
        assert bench is not None
        slots = (
            ("A", "B") if bench.shown == "A→B" and not bench.same else (bench.shown if bench.shown != "A→B" else "B",)
        )

        def work(progress: Any, cancel: Any) -> list[Profile]:
            return [bench.profile(slot, runs=o.runs, engine=o.engine, threads=o.threads, dims=dict(o.dims), inputs=o.inputs, progress=progress, cancel=cancel) for slot in slots]  # fmt: skip

        def done(results: list[Profile]) -> None:
            self.owb.state_changed()
            last = results[-1]
            self.owb.toasts.done(
                f"profiled {' and '.join(slots)}: {units.duration(last.sum_ns)}, {counted(last.runs, 'run')}"
            )
            self.say(summary(last))

        self.owb.bridge.run("profile", f"measuring {' and '.join(slots)} in {o.engine}", work, done)
        self.learnt()

    def do_run_options(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        symbols = [d for t in bench.model("A").inputs for d in t.shape or () if isinstance(d, str)]

        def given(options: Measuring | None) -> None:
            if options is not None:
                self._measure_with(options)
                self.fill()
                self.do_run_now()

        self.app.push_screen(
            MeasureDialog(self.options, list(dict.fromkeys(symbols)), "A" if bench.shown == "A" else "B"), given
        )

    def use_engine(self, engine: str) -> None:
        """Another engine from now on."""
        assert engine in ENGINES
        self._measure_with(replace(self.options, engine=engine))

    def _measure_with(self, options: Measuring) -> None:
        """From now on; the header names the engine."""
        self.options, self.owb.engine = options, f"{options.engine} ×{options.threads}"
        self.owb.refresh_frame()

    def do_face_next(self) -> None:
        self.face = (self.face + 1) % 3
        self._arrange()

    def do_sort_reverse(self) -> None:
        self.reverse = not self.reverse
        self._arrange()

    def do_sort_next(self) -> None:
        sorts = _SORTS if self.both else _SORTS[:2]
        self.sort = sorts[(sorts.index(self.sort) + 1) % len(sorts)] if self.sort in sorts else sorts[0]
        self._arrange()

    def on_rows_opened(self, message: Rows.Opened) -> None:
        if self.face:
            group = self.groups[message.row]
            self.owb.show_operator(group.title) if _FACES[self.face] == "operator" else self.owb.show_query(f"scope:{group.title}")  # fmt: skip
        else:
            node = self.rows[message.row].node
            self.owb.show_node_named(node.name or f"{node.op}#{node.index}")

    def do_out_export(self) -> None:
        """A Chrome trace, for Perfetto."""
        import json

        from exec.chrome_trace import chrome_trace
        from tui.dialogs.export import ask_path

        profile = self.result()
        assert profile is not None
        ask_path(self.owb, "Export a trace", "Chrome trace: ui.perfetto.dev and chrome://tracing open it", self.owb.path.with_name(f"{self.owb.path.stem}_trace.json"), lambda target: target.write_text(json.dumps(chrome_trace(profile, self.owb.path.stem)), encoding="utf-8"))  # fmt: skip

    def sentence(self) -> str:
        profile, bench = self.result(), self.owb.bench
        if profile is None or bench is None:
            return ""
        return f"these are the times of {self.old}: r measures {bench.shown}" if self.old else summary(profile)

    def copy_text(self) -> str:
        row = self.query_one(Rows).cursor
        if self.face:
            return self.groups[row].title if self.groups else ""
        return (self.rows[row].node.name or self.rows[row].node.op) if self.rows else ""

    def copy_command(self) -> str:
        o = self.options
        dims = "".join(f" --dim {k}={v}" for k, v in o.dims) + (f" --inputs {o.inputs}" if o.inputs else "")
        return f"owb profile {self.shown_file()} --engine {o.engine} --runs {o.runs} --threads {o.threads}{dims}"

    def copy_python(self) -> str:
        o = self.options
        return f"wb.profile({self.shown_model()}, runs={o.runs}, engine={o.engine!r}, threads={o.threads})"

    def copy_data(self) -> tuple[Any, str] | None:
        row = self.query_one(Rows).cursor
        if self.face:
            return (self.groups[row], "group") if self.groups else None
        return (self.rows[row].node, "node time") if self.rows else None


def _work_columns(ms: str) -> tuple[Column, ...]:
    """What a node does, beside what it takes."""
    return (
        Column("", 1), Column("node", 0, keep="end"), Column("operator", 12, rank=6), Column("output", 16, right=True, rank=7), Column(ms, 8, right=True), Column("%", 5, right=True, rank=1), Column("", 1),
        Column("MACs", 8, right=True), Column("read", 8, right=True, rank=3), Column("written", 8, right=True, rank=4), Column("GB/s", 6, right=True, rank=2), Column("live", 8, right=True, rank=8), Column("kernel", 9, rank=5), Column("limit", 8, rank=9),
    )  # fmt: skip


def _work(node: NodeTime) -> list[Span]:
    moved = None if node.bytes_read is None or node.bytes_written is None else node.bytes_read + node.bytes_written
    rate = f"{moved / node.median_ns:.1f}" if moved is not None and node.median_ns else "–"
    sizes = ["–" if size is None else units.size(size) for size in (node.bytes_read, node.bytes_written)]
    return [
        (units.count(node.macs or None), "fg"), (sizes[0], "dim"), (sizes[1], "dim"), (rate, "fg"), (units.size(node.live_bytes), "dim"),
        (node.kernel + ("*" if node.shared else ""), "dim"), (node.roofline or "–", "dim"),
    ]  # fmt: skip


def summary(profile: Profile) -> str:
    """What was measured, in a line."""
    busy = "" if profile.noise.quiet else "  noisy: other work is running"
    return f"{counted(len(profile.nodes), 'node')}, sum {units.duration(profile.sum_ns)}, wall {units.duration(profile.wall_ns)}, median of {counted(profile.runs, 'run')}, {profile.engine} ×{profile.threads}.{busy}"


def _shape(shapes: tuple[str, ...]) -> str:
    """ "float32[1,64,56,56]" → "1×64×56×56"."""
    if not shapes:
        return ""
    inside = shapes[0].partition("[")[2].rstrip("]")
    return inside.replace(",", "×") or "scalar"
