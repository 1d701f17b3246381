"""Before against after, as a table."""

from __future__ import annotations

from exec.ir.model import ValueInfo
from workbench.beforeafter import BeforeAfter
from workbench.render import units
from workbench.render.optimizing import Row, sizes_table
from workbench.render.table import Table


def before_after_table(result: BeforeAfter, caption: str = "", notes: tuple[str, ...] = ()) -> Table:
    """Sizes, and the inputs and outputs that are others now."""
    more: tuple[Row, ...] = tuple((f"{m.side} {m.name}", _type(m.before), _type(m.after), "") for m in result.interface)
    return sizes_table(result.before, result.after, result.opset, more, caption, notes)


def _type(value: ValueInfo | None) -> str:
    return units.DASH if value is None else f"{value.dtype} {units.shape(value.shape)}"
