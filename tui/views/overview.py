"""1 Overview: what the model is, what it is made of, what to do next."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult

from tui import columns
from tui.columns import Column
from tui.glyphs import bar
from tui.line import Line, fit, section
from tui.theme import operator_token
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.card import Port, Summary, inspect
from workbench.render import units
from workbench.render.text import display_name

_COLUMNS = (
    Column("operator", 0),
    Column("count", 8, right=True),
    Column("", 13, rank=2),
    Column("share", 7, right=True, rank=1),
)


class OverviewView(View):
    """What it is, where its time is, what to do next.

    Shows    a `Summary`
    Sends    `go` to the screen a line under Next names, or to Graph filtered by an operator
    """

    TITLE = "Overview"
    KEYS = ("open.row", "go.graph", "go.passes", "go.profile", "file.open", "palette.open", "app.quit")
    DEFAULT_CSS = "OverviewView #model { width: 46; } OverviewView #next { width: 42; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.card: Summary | None = None
        self.next: list[tuple[str, str, str]] = []

    def compose(self) -> ComposeResult:
        yield Pane("Model", Text(id="facts"), id="model")
        yield Seam("model")
        yield Pane("Operators", Heads(lambda: _COLUMNS), Rows(id="operators"), id="ops")
        yield Seam("ops").add_class("side")
        yield Pane("Next", Rows(id="next-rows"), id="next").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.card = inspect(bench.current())
        self.query_one("#facts", Text).show(self._facts)
        self.query_one("#operators", Rows).show(len(self.card.operators), self._operator)
        self.query_one("#ops", Pane).rule.name_pane("Operators", "by count")
        self._fill_next()

    def _fill_next(self) -> None:
        bench, card = self.owb.bench, self.card
        assert bench is not None
        assert card is not None
        self.next = [("passes", "4  Passes", "a dry run counts what each rule would do")]
        self.next.append(("profile", "6  Profile", "r measures every node"))
        if bench.a != bench.b or bench.other is not None:
            self.next.append(("compare", "7  Compare", "r lines A and B up"))
        self.next.append(("graph", "2  Graph", f"{card.nodes:,} nodes, depth {card.depth:,}"))
        self.query_one("#next-rows", Rows).show(len(self.next), self._next)

    def _facts(self, width: int) -> list[Line]:
        card = self.card
        if card is None:
            return []

        def fact(label: str, text: str) -> Line:
            return [(f" {label:12s}", "dim"), (display_name(text), "fg")]

        opsets = " · ".join(f"{d or 'ai.onnx'} {v}" for d, v in sorted(card.opsets.items()))
        inside = f"{len(card.external_files)} external files" if card.external_files else "one file, all inside"
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
            fact("quantized", card.quantization),
            [],
        ]
        for title, ports in (("inputs", card.inputs), ("outputs", card.outputs)):
            out.append(section(f" {title}"))
            for port in ports:
                out.extend(self._port(port, width))
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

    def _port(self, port: Port, width: int) -> list[Line]:
        name, shape = display_name(port.name), display_name(f"{port.dtype} {units.shape(port.shape)}")
        if len(name) <= 9:
            return [[(f" {fit(name, 10)}", "strong"), (shape, "fg")]]
        return [[(f" {name}", "strong")], [(f"           {shape}", "fg")]]

    def _operator(self, row: int, width: int) -> Line:
        assert self.card is not None
        op = self.card.operators[row]
        total, top = max(self.card.nodes, 1), max(self.card.operators[0].nodes, 1)
        name = op.op if not op.domain else f"{op.domain}::{op.op}"
        cells: list[Any] = [
            (display_name(name), operator_token(op.op, op.domain)),
            (f"{op.nodes:,}", "fg"),
            (" " + bar(op.nodes / top, 12), "line"),
            (units.percent(op.nodes / total), "dim"),
        ]
        return columns.row(_COLUMNS, cells, width)

    def _next(self, row: int, width: int) -> Line:
        _, title, text = self.next[row]
        return [(fit(title, 14), "focus"), (text, "fg")]

    def main_pane(self) -> Rows:
        return self.query_one("#operators", Rows)

    def on_rows_opened(self, message: Rows.Opened) -> None:
        if message.rows.id == "next-rows":
            self.owb.go(self.next[message.row][0])
        elif self.card is not None:
            self.owb.show_operator(self.card.operators[message.row].op)

    def copy_text(self) -> str:
        focused = self.list_in_focus()
        if self.card is None or focused is None or focused.id != "operators":
            return str(self.owb.path)
        return self.card.operators[focused.cursor].op

    def copy_command(self) -> str:
        return f"owb inspect {self.owb.path}"
