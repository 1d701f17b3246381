"""What a dry run says of one node: rules that would take it, and rules that refused it with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

from passes.report import Report


@dataclass(frozen=True, slots=True)
class Could:
    """One rule and this node.

    ready   it would be applied; place is which of the rule's applications
    reason  why not, where it was refused
    """

    rule: str
    ready: bool
    place: int
    reason: str


def could_be(report: Report, label: str) -> tuple[Could, ...]:
    """Rules that concern the node of a name, the ready ones first; each rule once."""
    found: dict[str, Could] = {}
    word = re.compile(rf"(?<![\w/.]){re.escape(label)}(?![\w/.])")
    counts: dict[str, int] = {}
    for a in report.applied:
        place = counts[a.rule] = counts.get(a.rule, -1) + 1
        if label in a.sources or word.search(a.node):
            found.setdefault(a.rule, Could(a.rule, True, place, a.note))
    for r in report.refused:
        if word.search(r.node):
            found.setdefault(r.rule, Could(r.rule, False, 0, r.reason))
    return tuple(sorted(found.values(), key=lambda c: not c.ready))
