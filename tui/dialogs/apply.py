"""What applying would do, counted, before it is done."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding

from exec.wording import counted
from passes.report import Report
from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from workbench.render import units
from workbench.render.optimizing import change


class ApplyDialog(Dialog[bool]):
    """Returns True to apply."""

    BINDINGS = [Binding("enter,a,A", "accept", show=False), Binding("q", "leave", show=False), Binding("y", "copy", show=False)]  # fmt: skip
    hint = "y copies as CLI   enter applies   esc leaves it"

    def __init__(self, title: str, rules: Sequence[tuple[str, int, str]], refused: int, report: Report | None, redo: int, command: str) -> None:  # fmt: skip
        """`rules` are (id, places, kind); `report` the dry run of exactly these, None where it was not run alone."""
        super().__init__()
        self.title_text, self.command = title, command
        self.rules, self.refused, self.report, self.redo = rules, refused, report, redo

    def lines(self, width: int) -> list[Line]:
        out: list[Line] = [
            [
                (fit(rule, 36), "fg"),
                (fit(f"{places:,}", 6, right=True), "strong"),
                (" place    " if places == 1 else " places   ", "dim"),
                (kind, "dim"),
            ]
            for rule, places, kind in self.rules[:14]
        ]
        if len(self.rules) > 14:
            out.append([(f"and {counted(len(self.rules) - 14, 'more rule')}", "dim")])
        kinds = {kind for _, _, kind in self.rules}
        worst = "approximate" if "approximate" in kinds else "rounding" if "rounding" in kinds else "exact"
        out.append([])

        def fact(label: str, text: str) -> None:
            out.append([(fit(label, 10), "dim"), (text, "fg")])

        fact("refused", f"{counted(self.refused, 'place')} of these rules" if self.refused else "none of these rules")
        if self.report is not None:
            before, after = self.report.before, self.report.after
            nodes = (before.nodes + before.constant_nodes, after.nodes + after.constant_nodes)
            fact("nodes", f"{nodes[0]:,} → {nodes[1]:,}   {change(*nodes)}   as the dry run counted")
            fact("weights", f"{units.size(before.weight_bytes)} → {units.size(after.weight_bytes)}")
        fact("kind", {"exact": "exact: equal bits", "rounding": "rounding: 1e−4 of each output's range", "approximate": "approximate: the rule's own bound"}[worst])  # fmt: skip
        fact("verify", "on: against the original; a wrong rule is found and undone")
        if self.redo:
            fact("redo", f"{self.redo} undone {'step is' if self.redo == 1 else 'steps are'} given up")
        return out

    def action_accept(self) -> None:
        """enter."""
        self.dismiss(True)
