"""The neutral table: raw values and how they are meant; rich, textual, CSV and JSON draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from workbench.render import units
from workbench.render.text import display_name

Kind = Literal["text", "name", "count", "bytes", "ns", "percent", "db", "ratio", "shape", "number"]
_RIGHT: frozenset[str] = frozenset({"count", "bytes", "ns", "percent", "db", "ratio", "number"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    key    the name in JSON and CSV; with its unit where it has one (`median_ns`)
    title  the heading a person reads
    kind   how the raw value is written
    wrap   a sentence: continued below where the room ends, never cut
    spare  left out where the room ends, the largest first; 0 never
    """

    key: str
    title: str
    kind: Kind = "text"
    wrap: bool = False
    spare: int = 0

    @property
    def right(self) -> bool:
        """Numbers line up at their right edge."""
        return self.kind in _RIGHT


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of raw values, one per column.

    caption  a sentence below: totals, what was left out, what to do next
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = field(default=())

    def text(self, row: int, column: int) -> str:
        """A cell as a person reads it, safe for a terminal."""
        return cell_text(self.columns[column].kind, self.rows[row][column])


def cell_text(kind: Kind, value: Any) -> str:
    """Format one raw value by its column's kind."""
    if value is None:
        return units.DASH
    match kind:
        case "count":
            return units.count(value)
        case "bytes":
            return units.size(value)
        case "ns":
            return units.duration(value)
        case "percent":
            return units.percent(value)
        case "db":
            return units.decibel(value)
        case "ratio":
            return units.ratio(value)
        case "shape":
            return display_name(units.shape(value))
        case "number":
            return f"{value:.4g}" if isinstance(value, float) else str(value)
        case _:
            return display_name(str(value))
