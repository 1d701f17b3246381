"""Strided copies: where a transposition moves single elements, blocks are turned in registers."""

from __future__ import annotations

from typing import Any

from exec.compiled.shuffles import turn
from exec.compiled.toolchain import kernel
from exec.compiled.vectors import LANES, ROWS, get_int, helper, load_first, store_first


@helper
def outer_offset(index: Any, axes: Any, lengths: Any, strides: Any) -> Any:
    """Byte offset of the `index`th place of the outer axes, in row-major order."""
    offset = 0
    for k in range(axes - 1, -1, -1):
        length = get_int(lengths + 8 * k)
        offset += (index % length) * get_int(strides + 8 * k)
        index //= length
    return offset


@kernel("i i i i i i i i i i i i")
def transpose(
    source: Any, target: Any, axes: Any, lengths: Any, source_strides: Any, target_strides: Any, outer: Any, rows: Any,
    columns: Any, source_step: Any, target_step: Any, room: Any,
) -> Any:  # fmt: skip
    """target[…, c, r] = source[…, r, c] over `outer` places of `axes` outer axes.

    In the source, columns are neighbours and rows `source_step` bytes apart; in the target rows are, and columns lie
    `target_step` bytes apart. room  for LANES·ROWS floats.
    """
    for place in range(outer):
        at = source + outer_offset(place, axes, lengths, source_strides)
        to = target + outer_offset(place, axes, lengths, target_strides)
        for r in range(0, rows, ROWS):
            some = min(ROWS, rows - r)
            for c in range(0, columns, LANES):
                count = min(LANES, columns - c)
                turn(at + r * source_step + 4 * c, source_step, some, count, room)
                for k in range(count):
                    store_first(to + (c + k) * target_step + 4 * r, load_first(room + 4 * ROWS * k, ROWS), some)
