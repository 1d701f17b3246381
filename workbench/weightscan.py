"""What a look at every element of a weight tells: NaN, infinities, denormals; once over the bytes, a part at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exec.arrays import Array
from exec.ir.streaming import parts
from exec.ir.weights import Weight

_EXPONENT, _FRACTION = 0x7F80_0000, 0x007F_FFFF


@dataclass(frozen=True, slots=True)
class Scan:
    """Counts over the elements of a floating weight.

    nan, infinite  elements that are not finite
    denormal       float32 elements that are not zero and below the smallest normal number
    is_mask        all that is not finite is −inf, and everything else is 0: a mask, and meant
    """

    elements: int = 0
    nan: int = 0
    infinite: int = 0
    denormal: int = 0
    is_mask: bool = False


def scan(values: Array | Weight) -> Scan:
    """Look at a weight. Integers, texts and complex numbers have nothing to find and are not read."""
    dtype = np.dtype(values.dtype) if not isinstance(values.dtype, int) else np.dtype(object)
    if dtype.kind not in "fV":
        return Scan()
    elements = nan = infinite = denormal = 0
    for part in parts(values):
        elements += part.size
        if dtype == np.float32:
            magnitude = part.view(np.uint32) & np.uint32(_EXPONENT | _FRACTION)
            if int(magnitude.max(initial=0)) < _EXPONENT:
                magnitude -= np.uint32(1)  # zero becomes the largest number of all
                denormal += int(np.count_nonzero(magnitude < _FRACTION))
                continue
            denormal += int(np.count_nonzero((magnitude > 0) & (magnitude <= _FRACTION)))
        wide = part if dtype.kind == "f" else part.astype(np.float32)
        nan += int(np.count_nonzero(np.isnan(wide)))
        infinite += int(np.count_nonzero(np.isinf(wide)))
    return Scan(elements, nan, infinite, denormal, bool(infinite and not nan) and _is_mask(values))


def _is_mask(values: Array | Weight) -> bool:
    return all(bool(((part == 0) | (part == -np.inf)).all()) for part in parts(values))
