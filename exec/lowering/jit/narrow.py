"""Rounding as a compiled kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.compiled import narrow as kernels
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address


def round_slot(b: Builder, slot: Slot, narrow: np.dtype[Any]) -> None:
    """Emit a rounding of contiguous float32 in place."""
    b.emit(partial(_bind, narrow != np.float16), slot, variant="compiled")


def _bind(bfloat: bool, x: Array) -> Step:
    return partial(kernels.round_all.compiled, address(x), x.size, int(bfloat))
