"""Pages to read: an operator's specification, a rule, a check; `d` opens them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from textual.binding import Binding

from exec.wording import counted
from tui.dialogs.dialog import Dialog
from tui.line import Line
from workbench.bench import Bench
from workbench.detail import NodeDetail
from workbench.render.text import display_name
from workbench.why import could_be


class PageDialog(Dialog[None]):
    """Text to scroll in."""

    DEFAULT_CSS = "PageDialog > Vertical { width: 100; } PageDialog > Vertical > Text { max-height: 32; }"
    BINDINGS = [
        Binding("q,d,enter", "leave", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,ctrl+d", "scroll(15)", show=False),
        Binding("pageup,ctrl+u", "scroll(-15)", show=False),
    ]
    hint = "j k scroll   esc closes"

    def __init__(self, title: str, parts: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.title_text = title
        self.parts = [(head, text) for head, text in parts if text]

    def lines(self, width: int) -> list[Line]:
        out: list[Line] = []
        for head, text in self.parts:
            out += [[], [(head, "focus")]] if head else []
            for paragraph in text.splitlines():
                indent = " " * (len(paragraph) - len(paragraph.lstrip()))
                wrapped = textwrap.wrap(display_name(paragraph), max(width - 2, 20), subsequent_indent=indent + ("        " if indent == "" and "  " in paragraph[:12] else ""))  # fmt: skip
                out += [[(line, "fg")] for line in wrapped or [""]]
        return out

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.text.scroll_relative(y=step, animate=False)


def operator_page(detail: NodeDetail, bench: Bench | None, label: str) -> PageDialog:
    """Why the node is as it is, what it could be, and what the specification says of its operator."""
    report = bench.results.dry_runs.get(bench.key()) if bench is not None else None
    could = could_be(report, label) if report is not None else ()
    why = "\n".join(f"{c.rule}  {'ready: 4 applies it' if c.ready else c.reason}" for c in could)
    attributes = "\n".join(f"{a.name}  {a.text}{'  (default)' if a.is_default else ''}" for a in detail.attributes)
    title = f"{detail.domain}::{detail.op}" + (f", since opset {detail.since}" if detail.since else "")
    return PageDialog(
        title,
        [
            ("", display_name(detail.name)),
            ("could be", why or (_untouched(detail, bench) if report is not None else "4 Passes counts what each rule would do")),
            ("attributes", attributes),
            ("specification", textwrap.dedent(detail.doc) or "no schema is known for this operator"),
        ],
    )  # fmt: skip


def _untouched(detail: NodeDetail, bench: Bench | None) -> str:
    """No rule found or refused anything at this node; who reads it is what most rules ask first."""
    said = "no rule finds its pattern here, and none refuses one"
    lookup = bench.results.lookups.get(bench.key()) if bench is not None else None
    for link in detail.outputs:
        if lookup is None or not link.peers:
            continue
        ops = [lookup.table.op[lookup.row_of[peer]] for peer in link.peers if peer in lookup.row_of]
        names = ", ".join(display_name(op) for op in ops[:4]) + (f" and {len(ops) - 4} more" if len(ops) > 4 else "")
        alone = len(ops) == 1
        said += f"\n{display_name(link.role)} is read by {names}" + (
            " alone" if alone else f": fused into one of the {len(ops)}, the others would miss it"
        )
    return said


def rule_page(rule_id: str, doc: str, before: str, after: str, refusals: Sequence[tuple[str, str]]) -> PageDialog:
    """A rule: what, why, when, its own before and after, and every refusal."""
    refused = "\n".join(f"{node}\n    {reason}" for node, reason in refusals)
    return PageDialog(
        rule_id,
        [
            ("", textwrap.dedent(doc).strip()),
            ("BEFORE", textwrap.dedent(before).strip()),
            ("AFTER", textwrap.dedent(after).strip()),
            (f"refused at {counted(len(refusals), 'place')}" if refusals else "", refused),
        ],
    )
