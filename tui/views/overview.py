"""1 Overview: what the model is, what it is made of, what to do next."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult

from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.glyphs import bar
from tui.line import Line, Span, fit, section
from tui.numbers import gained
from tui.theme import heat_of_share, operator_token
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.render import units
from workbench.render.text import display_name
from workbench.symbols import Symbols

if TYPE_CHECKING:
    from workbench.card import Port, Summary
    from workbench.glance import Glance
    from workbench.lookup import Lookup


class OverviewView(View):
    """What it is, where its time is, what to do next.

    Shows    a `Summary`; before the model is opened, the `Glance` at its file
    Sends    `go` to the screen a line under Next names, or to Graph filtered by an operator
    """

    TITLE = "Overview"
    KEYS = ("open.row", "go.graph", "go.passes", "go.profile", "sort.next", "file.open", "palette.open", "app.quit")
    LABELS = {"sort.next": "sort"}
    KEPT = ("sort", "reverse")
    DEFAULT_CSS = (
        "OverviewView #model { width: 46; } OverviewView #next { width: 42; } OverviewView #next-rows { height: 6; }"
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.card: Summary | None = None
        self.before: Summary | None = None
        self.symbols = Symbols()
        self.operators: list[tuple[str, str, int, int]] = []
        self.next: list[tuple[str, str, str]] = []
        self.found: list[Any] = []
        self.shares: dict[str, dict[tuple[str, str], float]] = {}
        self.sort, self.reverse = "count", False

    def compose(self) -> ComposeResult:
        yield Pane("Model", Text(id="facts"), id="model")
        yield Seam("model")
        yield Pane("Operators", Heads(self._columns), Rows(id="operators"), id="ops")
        yield Seam("ops").add_class("side")
        yield Pane("Next", Rows(id="next-rows"), Text(id="notes"), id="next").add_class("side")

    def show_glance(self, seen: Glance) -> None:
        """What the file itself says, while the model is opened."""
        self.operators = [(op, domain, count, 0) for (op, domain), count in seen.operators]
        self.query_one("#operators", Rows).show(len(self.operators), self._operator)
        self.query_one("#ops", Pane).rule.name_pane("Operators", "by count")
        self.query_one("#facts", Text).show(lambda width: self._glance_lines(seen, width))

    def _glance_lines(self, seen: Glance, width: int) -> list[Line]:
        opsets = " · ".join(f"{d or 'ai.onnx'} {v}" for d, v in sorted(seen.opsets.items()))
        facts = (
            ("file", self.owb.path.name), ("size", units.size(seen.file_bytes)), ("producer", seen.producer or "not recorded"),
            ("ir · opset", f"{seen.ir_version} · {opsets}"), ("nodes", "being read …"),
        )  # fmt: skip
        out: list[Line] = [[], *([(f" {label:12s}", "dim"), (display_name(text), "fg")] for label, text in facts), []]
        for title, ports in (("inputs", seen.inputs), ("outputs", seen.outputs)):
            out.append(section(f" {title}"))
            for name, dims in ports:
                out.append([(f" {fit(display_name(name), 10)}", "strong"), (display_name(self.symbols.shape(dims)), "fg")])  # fmt: skip
        return out

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.card = bench.card()
        self.symbols = Symbols(bench.current())
        both = bench.shown == "A→B" and not bench.same
        self.before = bench.card("A") if both else None
        self.query_one("#facts", Text).show(self._facts)
        self._fill_operators()
        self._fill_next()

    def learnt(self) -> None:
        self._fill_operators()
        self._fill_next()
        self.query_one("#facts", Text).show(self._facts)

    def _known(self) -> Lookup | None:
        bench = self.owb.bench
        found = bench.results.lookups.get(bench.key()) if bench is not None else None
        return found if found is not None and found.known is not None else None

    def _fill_operators(self) -> None:
        card = self.card
        if card is None:
            return
        old = {(o.op, o.domain): o.nodes for o in self.before.operators} if self.before is not None else {}
        new = {(o.op, o.domain): o.nodes for o in card.operators}
        constant = [("Constant", "", card.constant_nodes, self.before.constant_nodes if self.before is not None else 0)] if card.constant_nodes or (self.before is not None and self.before.constant_nodes) else []  # fmt: skip
        rows = [(op, d, n, old.get((op, d), 0)) for (op, d), n in new.items()] + [(op, d, 0, n) for (op, d), n in old.items() if (op, d) not in new]  # fmt: skip
        self.operators = [*rows, *constant]
        self.shares = {}
        lookup = self._known()
        for measure in ("MACs", "time"):
            total = lookup.total(measure) if lookup is not None else 0.0
            if lookup is not None and total:
                sums: dict[tuple[str, str], float] = {}
                for op, domain, value in zip(lookup.table.op, lookup.table.domain, lookup.column(measure), strict=True):
                    sums[op, domain] = sums.get((op, domain), 0.0) + (value or 0) / total
                self.shares[measure] = sums
        self._order()

    def _order(self) -> None:
        """By what is asked for, where it is known; then by count, then by name."""
        by = self.sort if self.sort in (*self.shares, "name") else "count"
        shares = self.shares.get(by, {})
        self.operators.sort(key=lambda r: (0 if by == "name" else -shares.get(r[:2], 0.0), 0 if by == "name" else -max(r[2], r[3]), r[0]))  # fmt: skip
        if self.reverse:
            self.operators.reverse()
        self.query_one("#operators", Rows).show(len(self.operators), self._operator)
        title = "Operators A→B" if self.before is not None else "Operators"
        self.query_one("#ops", Pane).rule.name_pane(title, f"by {by}{' ↑' if self.reverse else ''}")
        self.query_one(Heads).refresh()

    def do_sort_next(self) -> None:
        """Count, then what is measured or estimated, then the name."""
        sorts = ("count", *self.shares, "name")
        self.sort = sorts[(sorts.index(self.sort) + 1) % len(sorts)] if self.sort in sorts else "count"
        self._order()

    def do_sort_reverse(self) -> None:
        self.reverse = not self.reverse
        self._order()

    def _columns(self) -> tuple[Column, ...]:
        if self.before is not None:
            return (Column("operator", 0), Column("A", 7, right=True), Column("B", 7, right=True), Column("change", 8, right=True))  # fmt: skip
        timed = 1 if "time" in self.shares else 3  # what has no figures yet gives way first
        return (Column("operator", 0), Column("count", 6, right=True), Column("", 8, rank=4), Column("MACs %", 7, right=True, rank=2), Column("time %", 7, right=True, rank=timed))  # fmt: skip

    def _fill_next(self) -> None:
        bench, card = self.owb.bench, self.card
        assert bench is not None
        assert card is not None
        key = bench.key()
        report, findings = bench.results.dry_runs.get(key), bench.results.findings.get(key)
        profile = bench.results.profile(key)
        passes = (
            "r counts what each rule would do" if report is None and bench.info("B").nodes > 20_000 else "counting …"
        )
        if report is not None:
            ready = sum(u.applied for u in report.rules)
            used = sum(bool(u.applied) for u in report.rules)
            gone = report.before.nodes + report.before.constant_nodes - report.after.nodes - report.after.constant_nodes
            what = gained(-gone, "node") if gone else f"of {counted(used, 'rule')}"
            passes = f"{counted(ready, 'place')}{',' if gone else ''} {what}" if ready else "nothing to do here"
        checks = "checking …"
        if findings is not None:
            levels = Counter(level for _, level in {(f.code, f.level) for f in findings.findings})
            checks = (
                ", ".join(counted(levels[word], word) for word in ("error", "warning", "note") if levels[word])
                or "nothing found"
            )
        self.next = [
            ("passes", "4  Passes", passes), ("checks", "8  Checks", checks),
            ("profile", "6  Profile", f"{units.duration(profile.sum_ns)}, measured" if profile is not None else "r measures every node"),
            ("quantize", "5  Quantize", "r ranks the nodes"),
        ]  # fmt: skip
        if not bench.same:
            done = bench.results.comparisons.get((bench.key("A"), bench.key("B")))
            said = "r lines A and B up" if done is None else "the outputs agree" if all(o.within for o in done.outputs) else "the outputs differ"  # fmt: skip
            self.next.insert(0, ("compare", "7  Compare", said))
        self.found = list(findings.findings) if findings is not None else []
        self.query_one("#next-rows", Rows).show(len(self.next), self._next)
        self.query_one("#notes", Text).show(self._notes)

    def _notes(self, width: int) -> list[Line]:
        """Findings by code, the gravest first."""
        groups: dict[tuple[str, str], int] = {}
        for f in self.found:
            groups[f.code, f.level] = groups.get((f.code, f.level), 0) + 1
        if not groups:
            return []
        marks: dict[str, Span] = {"error": ("✗ ", "bad"), "warning": ("▲ ", "warn"), "note": ("• ", "dim")}
        from workbench.lint.catalog import BY_CODE

        out: list[Line] = [section(" checks")]
        for (code, level), count in sorted(groups.items(), key=lambda g: ("error", "warning", "note").index(g[0][1])):
            title = BY_CODE[code].title
            out.append([(" ", "fg"), marks[level], (fit(title, max(width - 17, 8)), "fg"), (fit(f"×{count}" if count > 1 else "", 6, right=True), "dim"), (f" {code}", "dim")])  # fmt: skip
        return out

    def _facts(self, width: int) -> list[Line]:
        card = self.card
        if card is None:
            return []

        def fact(label: str, text: str) -> Line:
            return [(f" {label:12s}", "dim"), (display_name(text), "fg")]

        opsets = " · ".join(f"{d or 'ai.onnx'} {v}" for d, v in sorted(card.opsets.items()))
        inside = f"{len(card.external_files)} external files" if card.external_files else "one file"
        out: list[Line] = [
            [],
            fact("file", card.path.rpartition("/")[2] if card.path else "in memory"),
            fact("size", f"{units.size(card.file_bytes)}   {inside}"),
            fact("producer", card.producer or "not recorded"),
            fact("ir · opset", f"{card.ir_version} · {opsets}"),
            fact(
                "nodes", f"{card.nodes:,}" + (f", and {card.constant_nodes:,} Constant" if card.constant_nodes else "")
            ),
            fact("subgraphs", f"{card.subgraphs}   functions  {card.functions}"),
            fact("parameters", f"{card.parameters:,}"),
            fact("weights", units.size(card.weight_bytes)),
            *self._computed(fact),
            fact("quantized", card.quantization),
            [],
        ]
        for title, ports in (("inputs", card.inputs), ("outputs", card.outputs)):
            out.append(section(f" {title}"))
            for port in ports:
                out.extend(self._port(port, width))
        out += [[(f" {sign:10s}", "strong"), (display_name(name), "dim")] for sign, name in self.symbols.legend()]
        out.append(section(" weights"))
        out += [
            [
                (f" {fit(w.dtype, 10)}", "dim"),
                (fit(f"{w.tensors:,}", 8, right=True), "fg"),
                (fit(units.size(w.weight_bytes), 12, right=True), "fg"),
            ]
            for w in card.weights
        ]
        if card.notes:
            out.append(section(" notes"))
            for note in card.notes:
                out.append([(" ▲ ", "warn"), (note.code + " ", "dim"), (display_name(note.message), "fg")])
        return out

    def _computed(self, fact: Any) -> list[Line]:
        """What shapes and a profile add."""
        lookup, bench = self._known(), self.owb.bench
        if lookup is None or lookup.known is None or bench is None:
            return [fact("MACs", "shapes are being inferred …")]
        sizes = ", ".join(
            f"{display_name(self.symbols.sign(k), 12)} {v}" for k, v in list(lookup.known.sizes.items())[:3]
        )
        macs, at = units.count(lookup.known.macs or None), f"at {sizes}" if sizes else ""
        out = [fact("MACs", f"{macs}   {at}")] if len(macs) + len(at) < 26 else [fact("MACs", macs), fact("", at)]
        profile = bench.results.profile(bench.key())
        if profile is not None:
            out.append(fact("peak memory", units.size(profile.peak_bytes)))
        unknown = sum(s is None for s in lookup.table.shape)
        if unknown:
            out.append(
                fact("shapes", f"known for {len(lookup.table) - unknown:,} of {counted(len(lookup.table), 'node')}")
            )
        return out

    def _port(self, port: Port, width: int) -> list[Line]:
        name, shape = display_name(port.name), display_name(f"{port.dtype} {self.symbols.shape(port.shape)}")
        if len(name) <= 9:
            return [[(f" {fit(name, 10)}", "strong"), (shape, "fg")]]
        return [[(f" {name}", "strong")], [(f"           {shape}", "fg")]]

    def _operator(self, row: int, width: int) -> Line:
        op, domain, count, before = self.operators[row]
        name = display_name(op if not domain else f"{domain}::{op}")
        title: Span = (name, operator_token(op, domain))
        if self.before is not None:
            change = count - before
            token = "dim" if not change else "diff.add" if change > 0 else "diff.drop"
            cells: list[Any] = [title, (f"{before:,}", "fg"), (f"{count:,}", "fg"), (f"{change:+,d}".replace("-", "−") if change else "=", token)]  # fmt: skip
            return columns.row(self._columns(), cells, width)
        top = max((r[2] for r in self.operators), default=1) or 1
        cells = [title, (f"{count:,}", "fg"), (bar(count / top, 8), "line"), self._share("MACs", op, domain), self._share("time", op, domain)]  # fmt: skip
        return columns.row(self._columns(), cells, width)

    def _share(self, measure: str, op: str, domain: str) -> Span:
        if measure not in self.shares:
            return ("–", "dim")
        share = self.shares[measure].get((op, domain), 0.0)
        return (f"{100 * share:.1f}" if share else "", f"heat.{heat_of_share(share) or 0}")

    def _next(self, row: int, width: int) -> Line:
        _, title, text = self.next[row]
        return [(fit(title, 12), "focus"), (text, "fg")]

    def main_pane(self) -> Rows:
        return self.query_one("#operators", Rows)

    def on_rows_opened(self, message: Rows.Opened) -> None:
        if message.rows.id == "next-rows":
            self.owb.go(self.next[message.row][0])
        elif self.card is not None:
            self.owb.show_operator(self.operators[message.row][0])

    def copy_text(self) -> str:
        focused = self.list_in_focus()
        if self.card is None or focused is None or focused.id != "operators":
            return str(self.owb.path)
        return self.operators[focused.cursor][0]

    def copy_command(self) -> str:
        return f"owb inspect {self.shown_file()}"

    def copy_python(self) -> str:
        return f"wb.inspect({self.shown_model()})"

    def copy_data(self) -> tuple[Any, str] | None:
        return (self.card, "model") if self.card is not None else None
