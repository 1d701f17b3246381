"""What every algorithm for a convolution gets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from exec.arrays import Array
from exec.kernels.nn.window import Window
from exec.lowering.buffers import Slot

MOST_EACH = 32
"""Outputs of one channel from which on a depthwise convolution's windows are gathered once for all."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """One convolution.

    x, out   slots (N, C, *size) and (N, M, *out)
    weights  (M, C/group, *kernel), contiguous float32; `source` is the constant they come from, for prepacking
    bias     (M) or None
    """

    x: Slot
    out: Slot
    weights: Array
    source: Array
    bias: Array | None
    g: Window
    group: int

    @property
    def macs(self) -> int:
        """Multiply-adds of the plain algorithm."""
        return int(self.out.size * math.prod(self.weights.shape[1:]))
