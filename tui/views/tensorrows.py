"""A row of Tensors: a weight or a value computed on the way, and its cells in each set of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exec.ir import Constant
from tui import columns
from tui.columns import Column
from tui.line import Line, Span
from tui.numbers import decibels, pointed
from tui.theme import HEAT_GLYPHS, heat_of_share, heat_of_sqnr
from workbench.activations import Activation, Computed
from workbench.nodes import NodeId, Shape
from workbench.render import units
from workbench.render.showing import histogram_text
from workbench.render.text import display_name
from workbench.symbols import Symbols
from workbench.tensors import TensorRow, TensorStats

SETS = ("values", "spread", "place")
_LEFT = (Column("", 1), Column("name", 0, keep="end"), Column("dtype", 9, rank=6), Column("shape", 16, right=True, rank=2), Column("size", 8, right=True, rank=1))  # fmt: skip
_COLUMNS = {
    "values": (Column("min", 8, right=True, rank=3), Column("max", 8, right=True, rank=3), Column("histogram", 12, rank=5), Column("int8", 8, right=True), Column("", 1)),
    "spread": (Column("mean", 9, right=True, rank=3), Column("std", 9, right=True, rank=1), Column("zeros %", 7, right=True, rank=4), Column("NaN ∞", 7, right=True, rank=6), Column("a row", 8, right=True), Column("", 1)),
    "place": (Column("%", 5, right=True), Column("", 1), Column("read by", 26, rank=1), Column("readers", 7, right=True, rank=4)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """What the list shows of a tensor.

    weight      the constant behind it; None for a value that a node makes
    value_bytes None while it is not known
    """

    name: str
    dtype: str
    shape: Shape | None
    value_bytes: int | None
    readers: tuple[str, ...]
    weight: Constant | None = None
    maker: NodeId | None = None


def of_weight(row: TensorRow, weight: Constant) -> TensorEntry:
    """A weight as it stands in the file."""
    return TensorEntry(row.name, row.dtype, row.shape, row.weight_bytes, row.readers, weight)


def of_activation(row: Activation, done: Computed | None) -> TensorEntry:
    """A computed value; after a run its type, shape and size are what they were in it."""
    if done is None:
        return TensorEntry(row.name, row.dtype, row.shape, None, row.readers, None, row.maker)
    return TensorEntry(row.name, done.dtype, done.shape, done.value_bytes, row.readers, None, row.maker)


def titles(column_set: str) -> tuple[Column, ...]:
    """The columns of a set."""
    return (*_LEFT, *_COLUMNS[column_set])


def cells(entry: TensorEntry, stats: TensorStats | None, column_set: str, total: int, marked: bool, symbols: Symbols, width: int) -> Line:  # fmt: skip
    """One row; `total` is the size of all rows."""
    shape = "–" if entry.shape is None else symbols.shape(entry.shape)
    left: list[Any] = [
        ("●" if marked else "", "focus"), (display_name(entry.name), "fg"), (entry.dtype or "–", "dim"),
        (display_name(shape), "dim"), ("–" if entry.value_bytes is None else units.size(entry.value_bytes), "fg"),
    ]  # fmt: skip
    match column_set:
        case "spread":
            right = _spread(stats)
        case "place":
            right = _place(entry, total)
        case _:
            right = _values(stats)
    return columns.row(titles(column_set), [*left, *right], width)


def _noise(value_db: float | None) -> list[Span]:
    heat = heat_of_sqnr(value_db) if value_db is not None else None
    text = decibels(value_db) if value_db is not None and value_db < 999 else "–"
    return [(text, "fg"), ("", "dim") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}")]


def _values(stats: TensorStats | None) -> list[Span]:
    if stats is None:
        return [("", "fg"), ("", "fg"), ("", "dim"), *_noise(None)]
    return [(pointed(stats.min), "fg"), (pointed(stats.max), "fg"), (histogram_text(_halved(stats.histogram)), "dim"), *_noise(stats.int8_db)]  # fmt: skip


def _halved(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Two bins in one, where there are many."""
    return tuple(map(sum, zip(counts[::2], counts[1::2], strict=True))) if len(counts) % 2 == 0 else counts


def _spread(stats: TensorStats | None) -> list[Span]:
    if stats is None:
        return [("", "fg"), ("", "fg"), ("", "dim"), ("", "dim"), *_noise(None)]
    count = sum(stats.histogram) + stats.nonfinite
    zeros = f"{100 * stats.zeros / count:.1f}" if count else ""
    return [(pointed(stats.mean), "fg"), (pointed(stats.std), "fg"), (zeros, "dim"), (f"{stats.nonfinite:,}", "warn" if stats.nonfinite else "dim"), *_noise(stats.channel_db)]  # fmt: skip


def _place(entry: TensorEntry, total: int) -> list[Span]:
    share = entry.value_bytes / total if entry.value_bytes is not None and total else None
    heat = heat_of_share(share) if share is not None else None
    return [
        ("–" if share is None else f"{100 * share:.1f}", "fg"), ("", "dim") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}"),
        (display_name(entry.readers[0]) if entry.readers else "", "dim"), (f"{len(entry.readers):,}", "dim"),
    ]  # fmt: skip
