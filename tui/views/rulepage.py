"""The page of a rule: this place before and after, the other places, why not elsewhere, and what the rule is."""

from __future__ import annotations

import inspect
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from passes.report import Application, Refused, Report
from tui.line import Line, fit, section
from workbench.preview import Preview, pictures
from workbench.render.text import display_name

_MOST_NAMES = 6
_SHOWN = 6
_SIDE_BY_SIDE = 48
"""Narrower panes show before above after."""

_TALLEST = 24
_WIDEST = 26


def page(rule: str, cls: Any, report: Report, alone: Preview | None, place: int, width: int) -> list[Line]:
    """Everything that is known of a rule on this model.

    alone   the rule applied by itself, None until it is drawn
    place   which place is shown before and after
    """
    out: list[Line] = []
    applied, refused = report.of(rule), [r for r in report.refused if r.rule == rule]
    if applied:
        out.append(section(f" place {place % len(applied) + 1} of {len(applied)}   n N others"))
        out += _before_and_after(rule, alone, place, width)
        out += _places(applied, place, width)
    if refused:
        out.append(section(f" refused at {len(refused)} {'place' if len(refused) == 1 else 'places'}"))
        out += _refusals(refused, width)
    out.append(section(" the rule"))
    for text in inspect.cleandoc((cls.__doc__ if cls is not None else "") or "no page").splitlines():
        wrapped = textwrap.wrap(
            text, max(width - 2, 20), subsequent_indent=" " * 8 if text[:1].strip() and "  " in text[:10] else ""
        )
        out += [[(" " + part, "fg")] for part in wrapped or [""]]
    for title, text in (("BEFORE", getattr(cls, "BEFORE", "")), ("AFTER", getattr(cls, "AFTER", ""))):
        if text:
            out.append(section(f" {title}"))
            for line in textwrap.dedent(text).strip().splitlines():
                out += [
                    [(" " + part, "fg")] for part in textwrap.wrap(line, max(width - 2, 20), subsequent_indent="    ")
                ]
    return out


def _before_and_after(rule: str, alone: Preview | None, place: int, width: int) -> list[Line]:
    """This place, before at the left and after at the right."""
    if alone is None:
        return [[("   drawing this place …", "dim")]]
    applied = alone.report.of(rule)
    if not applied:
        text = "its places come after other rules: A applies all in their order"
        return [[("   " + part, "dim")] for part in textwrap.wrap(text, max(width - 4, 20))]
    half = max(width // 2, 20)
    before, after = pictures(alone, applied[place % len(applied)], min((half if width >= _SIDE_BY_SIDE else width) - 8, _WIDEST))  # fmt: skip
    wide = max(map(len, (*before, *after)), default=0)
    if width < _SIDE_BY_SIDE or wide > half - 2:
        return [
            [(" before", "dim")], *([(" " + text, "diff.drop" if "− " in text else "fg")] for text in _around(before, "−", width - 1)[:_TALLEST]),
            [(" after", "dim")], *([(" " + text, "diff.add" if "+ " in text else "fg")] for text in _around(after, "+", width - 1)[:_TALLEST]),
        ]  # fmt: skip
    out: list[Line] = [[(fit(" before", half), "dim"), (fit("after", half - 1), "dim")]]
    for k in range(min(max(len(before), len(after)), _TALLEST)):
        left = before[k] if k < len(before) else ""
        right = after[k] if k < len(after) else ""
        out.append([(" " + fit(left, half - 2) + " ", "diff.drop" if "− " in left else "fg"), (fit(right, half - 1), "diff.add" if "+ " in right else "fg")])  # fmt: skip
    return out


def _around(picture: Sequence[str], sign: str, cells: int) -> list[str]:
    """The columns of a wide picture that hold the first marked node."""
    wide = max(map(len, picture), default=0)
    at = next((line.index(f"{sign} ") for line in picture if f"{sign} " in line), 0)
    start = max(0, min(at - cells // 3, wide - cells))
    return [fit(line[start:], cells) for line in picture]


def _places(applied: Sequence[Application], place: int, width: int) -> list[Line]:
    first = place % len(applied)
    out: list[Line] = []
    for k in range(first, min(first + _SHOWN, len(applied))):
        here = applied[k]
        sign = "▸" if k == first else " "
        out.append([(f" {sign} ", "dim"), (fit(display_name(here.node), width - 3), "fg" if k == first else "dim")])
        if k == first and here.note:
            out.append([("     " + display_name(here.note), "dim")])
    if len(applied) > first + _SHOWN:
        out.append([(f"   {len(applied) - first - _SHOWN} more", "dim")])
    return out


def _refusals(refused: Sequence[Refused], width: int) -> list[Line]:
    """Each reason once, with the nodes it holds for: a reason that stands at 24 places is one sentence, not 24."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for r in refused:
        by_reason[display_name(r.reason)].append(display_name(r.node, width - 6))
    out: list[Line] = []
    for reason, nodes in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        parts = textwrap.wrap(reason, max(width - 5, 20))
        out.append([(" ◦ ", "warn"), (parts[0] if parts else "no reason was given", "fg")])
        out += [[("   " + part, "fg")] for part in parts[1:]]
        out += [[("     " + name, "dim")] for name in nodes[:_MOST_NAMES]]
        if len(nodes) > _MOST_NAMES:
            out.append([(f"     {len(nodes) - _MOST_NAMES} more, d lists all", "dim")])
    return out
