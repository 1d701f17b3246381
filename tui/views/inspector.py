"""The inspector: one node in full; what leads elsewhere can be followed with enter."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

from tui.line import Line, Span, clip, fit, section, width_of
from tui.theme import HEAT_GLYPHS, heat_of_share, operator_token
from tui.views.nodelist import SIGNS
from tui.widgets.rows import Rows
from workbench.criticalpath import Critical
from workbench.detail import Attribute, Link, NodeDetail
from workbench.lineup import Lineup
from workbench.lookup import Lookup
from workbench.nodes import NodeId
from workbench.render import units
from workbench.render.text import display_name
from workbench.why import Could

Target = NodeId | Could | None
_Row = tuple[list[Span], Target]
_LABEL = 9


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything known of the node under the cursor.

    before, lineup  of A, where both slots are shown
    could           None while no dry run is done
    """

    detail: NodeDetail
    lookup: Lookup
    row: int
    critical: Critical | None = None
    could: Sequence[Could] | None = None
    before: Lookup | None = None
    lineup: Lineup | None = None
    marked: bool = False


class Inspector(Rows):
    """Rows of a node; those that lead to another node or to a rule can be opened."""

    AWAY = " "

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lines: list[_Row] = []
        self._seen: Seen | None = None

    def clear(self, text: str = "no node here") -> None:
        """No node under the cursor."""
        self._seen = None
        self.lines = [([(text, "dim")], None)]
        self.show(1, self._row)

    def target(self, row: int) -> Target:
        """Where a row leads."""
        return self.lines[row][1] if row < len(self.lines) else None

    def show_node(self, seen: Seen) -> None:
        """Lay the node out in sections."""
        self._seen = seen
        self.lines = self._laid_out(seen)
        self.show(len(self.lines), self._row, 0)

    def _laid_out(self, seen: Seen) -> list[_Row]:
        width = max(self.size.width - 2, 24)
        return [
            *_head(seen, width), *_links("inputs", seen.detail.inputs, seen.lookup, width), *_links("outputs", seen.detail.outputs, seen.lookup, width),
            *_attributes(seen.detail.attributes, width), *_cost(seen), *_origin(seen), *_could(seen),
        ]  # fmt: skip

    def on_resize(self) -> None:
        """Attributes share lines as far as the pane is wide."""
        if self._seen is not None:
            self.lines = self._laid_out(self._seen)
            self.show(len(self.lines), self._row)

    def _row(self, row: int, width: int) -> Line:
        return clip(self.lines[row][0], width) if row < len(self.lines) else []


def _head(seen: Seen, width: int) -> list[_Row]:
    detail, total = seen.detail, len(seen.lookup.table)
    since = f"since {detail.since}" if detail.since else "no schema"
    place = f"#{detail.id.index} of {total:,}" + (f" in {display_name(detail.id.graph)}" if detail.id.graph else "")
    sign = seen.lineup.sign.get(seen.row, "=") if seen.lineup is not None else ""
    state: Span = {"+": ("new in B", SIGNS["+"]), "~": ("changed in B", SIGNS["~"]), "=": ("as in A", "dim")}.get(sign, ("marked ●" if seen.marked else "", "dim"))  # fmt: skip
    return [
        ([(display_name(detail.op), operator_token(detail.op, detail.domain)), (f"   {display_name(detail.domain)}, {since}", "dim")], None),
        ([(_kept(display_name(detail.name) or "no name", width), "strong")], None),
        ([(place + "   ", "dim"), state], None),
    ]  # fmt: skip


def _kept(name: str, cells: int) -> str:
    """A name whose last part stays whole."""
    return fit(name, cells, keep="end") if cell_len(name) > cells > 0 else name


def _links(title: str, links: Sequence[Link], lookup: Lookup, width: int) -> list[_Row]:
    if not links:
        return []
    out: list[_Row] = [(section(title), None)]
    wide = min(max(len(link.role) for link in links), 10)
    for link in links:
        side: Span = ("", "dim")
        if link.constant:
            side = (f"  {units.size(link.bytes)} const", "dim")
        elif link.output:
            side = ("  ▸ o", "focus") if link.peers else ("  graph output", "dim")
        elif _is_constant(link, lookup):
            side = ("  const ◂ i", "focus")
        else:
            side = ("  ◂ i", "focus") if link.peers else ("  graph input", "dim")
        first = link.peers[0] if link.peers else None
        head = [(fit(display_name(link.role), wide), "focus"), (f" {display_name(lookup.symbols.shape(link.shape))}  {link.dtype or '–'}", "fg"), side]  # fmt: skip
        out.append((head, first))
        out.append(([("    " + _kept(display_name(link.value), width - 4), "dim")], first))
        for peer in () if _is_constant(link, lookup) else link.peers[:3]:
            row = lookup.row_of[peer]
            text = f"    {'▸' if link.output else '◂'} {display_name(lookup.table.op[row])}  "
            name = display_name(lookup.table.label(row))
            out.append(([(text, "fg"), (_kept(name, width - len(text)), "fg")], peer))
        if len(link.peers) > 3:
            out.append(([(f"      and {len(link.peers) - 3} more: o chooses", "dim")], first))
    return out


def _is_constant(link: Link, lookup: Lookup) -> bool:
    """A weight that a `Constant` node holds: the node says nothing that the value does not."""
    return not link.output and bool(link.peers) and lookup.table.op[lookup.row_of[link.peers[0]]] == "Constant"


def _attributes(attributes: Sequence[Attribute], width: int) -> list[_Row]:
    if not attributes:
        return []
    said = [a for a in attributes if not a.is_default]
    assumed = [a for a in attributes if a.is_default]
    out: list[_Row] = [(section("attributes"), None)]
    line: list[Span] = []
    for a in said:
        item: list[Span] = [(display_name(a.name) + " ", "dim"), (display_name(a.text, 200), "fg")]
        if line and width_of(line) + 3 + width_of(item) > width:
            out.append((line, None))
            line = []
        line += [("   ", "dim"), *item] if line else item
    if line:
        out.append((line, None))
    if assumed:
        text = ", ".join(f"{display_name(a.name)} {display_name(a.text, 40)}" for a in assumed)
        out += [([(part, "dim")], None) for part in textwrap.wrap(f"default: {text}", width)[:3]]
    return out


def _fact(label: str, text: str, token: str = "fg") -> list[Span]:
    return [(fit(label, _LABEL), "dim"), (text, token)]


def _rate(gflops: float) -> str:
    return f"{gflops:.0f}" if gflops >= 100 else f"{gflops:.1f}"


def _cost(seen: Seen) -> list[_Row]:
    lookup, row = seen.lookup, seen.row
    table = lookup.table
    out: list[_Row] = [(section("cost and time"), None)]
    share = lookup.share(row, "MACs")
    macs = units.count(table.macs[row]) + (f"   {units.percent(share)} of all" if share else "")
    out.append((_fact("MACs", macs), None))
    if table.bytes[row] is not None:
        out.append((_fact("traffic", units.size(table.bytes[row])), None))
    if table.params[row]:
        out.append((_fact("params", f"{table.params[row]:,}"), None))
    if not lookup.timed:
        out.append((_fact("time", "not measured: 6 r", "dim"), None))
        return out
    time = next((n for n in lookup.profile.nodes if n.index == seen.detail.id.index and n.op == seen.detail.op and n.name == seen.detail.name), None)  # fmt: skip
    if time is None:
        out.append((_fact("time", "in no step of the measured plan", "dim"), None))
        return out
    heat = heat_of_share(time.share) or 0
    out.append(([*_fact("median", units.duration(time.median_ns)), (f"  {100 * time.share:.1f} % ", "fg"), (HEAT_GLYPHS[heat], f"heat.{heat}"), (f"  p95 {units.duration(time.p95_ns)}", "dim")], None))  # fmt: skip
    if time.flops and time.median_ns:
        roof = lookup.profile.machine.gemm_flops_per_s / 1e9
        out.append((_fact("rate", f"{_rate(time.flops / time.median_ns)} GFLOP/s  roof {roof:.0f}"), None))
    out.append((_fact("kernel", f"{time.kernel}{'*' if time.shared else ''}  limit {time.roofline or '–'}"), None))
    if seen.critical is not None:
        slack = seen.critical.slack_ns.get(row)
        rank = seen.critical.rank.get(row)
        on_path = slack is not None and row in seen.critical.path
        text = "yes ━━━" if on_path else f"no, slack {units.duration(slack)}" if slack is not None else "–"
        out.append((_fact("critical", f"{text}  rank {rank} of {len(seen.critical.rank)}"), None))
    return out


def _origin(seen: Seen) -> list[_Row]:
    detail, lineup, before = seen.detail, seen.lineup, seen.before
    out: list[_Row] = [(section("origin"), None)]
    if lineup is not None and before is not None:
        sources = [(before.table.op[a], before.table.label(a)) for a in lineup.origin.get(seen.row, ())]
        out += [
            ([("◂ A ", "slot.a"), (f"{display_name(op)}  {display_name(label)}", "fg")], None) for op, label in sources
        ]
        out += [([("  " + display_name(text, 200), "dim")], None) for text in lineup.what.get(seen.row, ())]
        if len(out) > 1:
            return out
    if detail.origin:
        out += [([("from ", "dim"), (display_name(name), "fg")], None) for name in detail.origin]
    else:
        out.append(([("as in the file", "dim")], None))
    return out


def _could(seen: Seen) -> list[_Row]:
    if seen.could is None:
        return []
    out: list[_Row] = [(section("could be"), None)]
    for could in seen.could[:6]:
        mark: Span = ("▶ ", "ok") if could.ready else ("◦ ", "warn")
        text = "ready: enter shows it" if could.ready else display_name(could.reason)
        out.append(([mark, (could.rule + "  ", "fg"), (text, "dim")], could))
    if len(out) == 1:
        out.append(([("no rule concerns it", "dim")], None))
    return out
