"""The pane beside Tensors: one tensor in full, how it is quantized, and what it was in A."""

from __future__ import annotations

from typing import Any

from exec.ir import Constant
from exec.metrics import Difference
from tui.glyphs import upright
from tui.line import Line, fit, section
from tui.numbers import decibels, number
from tui.views.tensorrows import TensorEntry
from workbench.render import units
from workbench.render.text import display_name
from workbench.symbols import Symbols
from workbench.tensors import TensorRow, TensorStats
from workbench.weightpairs import scaled

_READERS = 8
_TALL = 5
"""Rows of the histogram."""
_LABEL = 10


def page(entry: TensorEntry, stats: TensorStats | str | None, waiting: str, symbols: Symbols, maker: str) -> list[Line]:
    """Name, type, who makes and reads it, statistics; `waiting` is said where there are none."""
    shape = "shape not known" if entry.shape is None else symbols.shape(entry.shape)
    size = "" if entry.value_bytes is None else units.size(entry.value_bytes)
    out: list[Line] = [
        [(" " + display_name(entry.name), "strong")],
        [(f" {display_name(shape)}   {entry.dtype or '–'}   {size}", "fg")],
    ]
    if entry.maker is not None:
        out += [section(" made by"), [(" ◂ ", "focus"), (display_name(maker), "fg")]]
    out += [section(" read by"), *([(" ▸ ", "focus"), (display_name(name), "fg")] for name in entry.readers[:_READERS])]
    if len(entry.readers) > _READERS:
        out.append([(f"   and {len(entry.readers) - _READERS:,} more: o chooses", "dim")])
    if not entry.readers:
        out.append([(" nothing: a graph output" if entry.maker is not None else " nothing", "dim")])
    out.append(section(" values"))
    if isinstance(stats, str):
        return [*out, [(" " + display_name(stats), "warn")]]
    if stats is None:
        return [*out, [(f" {waiting}", "dim")]]
    facts = [
        ("min", number(stats.min)), ("max", number(stats.max)), ("mean", number(stats.mean)), ("std", number(stats.std)),
        ("zeros", f"{stats.zeros:,}"), ("NaN ∞", f"{stats.nonfinite:,}"),
        ("int8", f"{decibels(stats.int8_db)} with one scale"), ("", f"{decibels(stats.channel_db)} with one a row"),
    ]  # fmt: skip
    out += [[(f" {fit(label, _LABEL)}", "dim"), (text, "fg")] for label, text in facts]
    if stats.std and stats.min is not None and stats.max is not None and stats.mean is not None:
        far = max(stats.max - stats.mean, stats.mean - stats.min) / stats.std
        out.append([(f" {fit('farthest', _LABEL)}", "dim"), (f"{far:.1f} × std from the mean", "warn" if far > 20 else "fg")])  # fmt: skip
    shape_of = [[(" " + text, "fg")] for text in upright(stats.histogram, _TALL)]
    ends = f"{number(stats.min)} … {number(stats.max)}" if stats.min is not None and stats.max is not None else ""
    return [*out, section(f" histogram, {len(stats.histogram)} bins"), *shape_of, [(f" {ends}", "dim")]]


def scale_lines(weight: Constant | None) -> list[Line]:
    """Scale and zero point of a weight that is stored as integers."""
    how = scaled(weight) if weight is not None else None
    if how is None:
        return []

    def span(values: Any) -> str:
        low, high = number(float(values.min())), number(float(values.max()))
        return low if low == high else f"{low} … {high}"

    per = f"one for each of {how.scale.size:,} along axis {how.axis}" if how.axis is not None else "one for all"
    if how.block:
        per = f"one for {how.block} elements along axis {how.axis}"
    return [
        section(" quantized"),
        [(f" {fit('scale', _LABEL)}", "dim"), (span(how.scale), "fg")], [(f" {fit('', _LABEL)}", "dim"), (per, "dim")],
        [(f" {fit('zero', _LABEL)}", "dim"), (span(how.zero_point) if how.zero_point is not None else "0", "fg")],
    ]  # fmt: skip


def beside(sign: str, before: TensorRow | None, dtype: str, apart: Difference | str | None) -> list[Line]:
    """What a weight was in A."""
    out: list[Line] = [section(" A and B")]
    if before is None:
        return [*out, [(" gone from B" if sign == "−" else " only in B", "fg")]]
    out.append([(" A ", "slot.a"), (display_name(before.name), "fg")])
    out.append([(f"   {units.shape(before.shape)}   {before.dtype}   {units.size(before.weight_bytes)}", "dim")])
    if isinstance(apart, str):
        out.append([(" " + display_name(apart), "warn")])
    elif apart is not None and apart.note:
        out.append([(" " + display_name(apart.note), "warn")])
    elif apart is not None:
        same = "equal values" if apart.equal else f"{decibels(apart.sqnr_db)}   max difference {number(apart.max_abs, '.3g')}"  # fmt: skip
        out.append([(" B ", "slot.b"), (same, "fg")])
        if not apart.equal and before.dtype == dtype:
            out.append([(" a rule put other numbers into it: 7 tells", "dim")])
            out.append([(" whether the outputs agree", "dim")])
    return out
