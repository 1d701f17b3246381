"""Copies between strided layouts as compiled kernels, where numpy would move element by element."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import copying
from exec.compiled.vectors import LANES, ROWS
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address

FEWEST_ELEMENTS = 2048


def copy(b: Builder, target: Slot, source: Slot) -> bool:
    """Emit a compiled copy; False where numpy's is as good."""
    if source.dtype != np.float32 or target.dtype != np.float32 or source.size < FEWEST_ELEMENTS:
        return False
    plan = layout(target.array, source.array)
    if plan is None:
        return False
    b.emit(partial(_bind, plan), target, source, b.scratch((LANES * ROWS,)), variant="compiled")
    return True


def layout(target: Array, source: Array) -> tuple[list[int], list[int], list[int]] | None:
    """(lengths, source strides, target strides) of a transposition, the row and the column axis last; None for others."""
    axes = [(n, s, t) for n, s, t in zip(source.shape, source.strides, target.strides, strict=True) if n > 1]
    merged: list[tuple[int, int, int]] = []
    for n, s, t in axes:
        if merged and merged[-1][1] == s * n and merged[-1][2] == t * n:
            merged[-1] = (merged[-1][0] * n, s, t)
        else:
            merged.append((n, s, t))
    rows = [k for k, (_, _, t) in enumerate(merged) if t == 4]
    columns = [k for k, (_, s, _) in enumerate(merged) if s == 4]
    if len(rows) != 1 or len(columns) != 1 or rows == columns:
        return None
    if merged[rows[0]][0] < ROWS // 2 or merged[columns[0]][0] < LANES // 4:
        return None
    order = [k for k in range(len(merged)) if k not in (rows[0], columns[0])] + [rows[0], columns[0]]
    picked = [merged[k] for k in order]
    return [n for n, _, _ in picked], [s for _, s, _ in picked], [t for _, _, t in picked]


def _bind(plan: tuple[list[int], list[int], list[int]], target: Array, source: Array, room: Array) -> Step:
    lengths, source_strides, target_strides = plan
    outer = len(lengths) - 2
    tables = tuple(np.asarray(values[:outer] or [0], np.int64) for values in plan)
    call = partial(
        copying.transpose.compiled, address(source), address(target), outer, *(address(t) for t in tables),
        math.prod(lengths[:outer]), lengths[-2], lengths[-1], source_strides[-2], target_strides[-1], address(room),
    )  # fmt: skip
    # A kernel knows the tables' addresses only: they live as long as the call.
    call.tables = tables  # type: ignore[attr-defined]
    return call
