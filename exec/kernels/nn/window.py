"""Where a sliding window lies: pads, sizes and strided views for convolution and pooling on any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.growth import fitting


@dataclass(frozen=True, slots=True)
class Window:
    """A window's geometry, one number per spatial axis.

    size      of the input, without padding
    kernel    taps; strides and dilations between windows and taps
    before, after   padding
    out       windows per axis
    """

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.size)

    @property
    def extent(self) -> tuple[int, ...]:
        """Input elements from the first tap to the last, both included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def needed(self) -> tuple[int, ...]:
        """Length of the padded axis that the windows reach."""
        return tuple((o - 1) * s + e for o, s, e in zip(self.out, self.strides, self.extent, strict=True))

    @property
    def unpadded(self) -> bool:
        return not any(self.before) and not any(self.after)

    @property
    def pointwise(self) -> bool:
        """One tap, every element once: a matrix product."""
        return self.unpadded and self.out == self.size and all(k == 1 for k in self.kernel)


def window(
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Window:
    """The geometry from the attributes as ONNX gives them."""
    rank = len(size)
    strides = tuple(strides) if strides else (1,) * rank
    dilations = tuple(dilations) if dilations else (1,) * rank
    kernel = tuple(kernel)
    for name, values in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        if len(values) != rank or min(values, default=1) < 1:
            raise ExecutionError(f"{name} {list(values)} does not fit {rank} spatial axes")
    extent = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        out = tuple(-(-n // s) for n, s in zip(size, strides, strict=True))
        total = [max(0, (o - 1) * s + e - n) for o, s, e, n in zip(out, strides, extent, size, strict=True)]
        small = tuple(t // 2 for t in total)
        large = tuple(t - t // 2 for t in total)
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
        return Window(tuple(size), kernel, strides, dilations, before, after, out)
    given = tuple(pads) if pads and auto_pad != "VALID" else (0,) * (2 * rank)
    if len(given) != 2 * rank:
        raise ExecutionError(f"pads {list(given)} does not fit {rank} spatial axes")
    before, after = given[:rank], given[rank:]
    out = tuple(
        _windows(n, e, s, b, a, bool(ceil_mode))
        for n, e, s, b, a in zip(size, extent, strides, before, after, strict=True)
    )
    return Window(tuple(size), kernel, strides, dilations, before, after, out)


def _windows(size: int, extent: int, stride: int, before: int, after: int, ceil: bool) -> int:
    room = size + before + after - extent
    if not ceil:
        count = room // stride + 1
    else:
        count = -(-room // stride) + 1
        if (count - 1) * stride >= size + before:  # a window that would begin in the padding after the end is none
            count -= 1
    if count < 0 and size:
        raise ExecutionError(f"a window of {extent} is larger than the {size + before + after} elements it slides over")
    return max(0, count)


def padded(x: Array, w: Window, value: float = 0.0) -> Array:
    """`x` (…, *size) with padding, long enough for every window; `x` itself where none is needed."""
    grow = [max(0, n - s - b) for n, s, b in zip(w.needed, w.size, w.before, strict=True)]
    if not any(w.before) and not any(grow):
        return x
    lead = x.ndim - w.rank
    shape = x.shape[:lead] + tuple(b + s + g for b, s, g in zip(w.before, w.size, grow, strict=True))
    if min(*w.before, *grow) < 0:
        raise ExecutionError(f"negative pads {list(w.before)} are not run")
    out = np.full(fitting(shape, x.dtype), value, x.dtype)
    inner(out, w.before, w.size)[...] = x
    return out


def windows(x: Array, w: Window) -> Array:
    """A view (…, *out, *kernel) of the padded `x`: element [o, k] is tap k of window o."""
    lead = x.ndim - w.rank
    steps = x.strides[lead:]
    shape = x.shape[:lead] + w.out + w.kernel
    strides = (
        *x.strides[:lead],
        *[s * n for s, n in zip(w.strides, steps, strict=True)],
        *[d * n for d, n in zip(w.dilations, steps, strict=True)],
    )
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def tap(x: Array, w: Window, index: Sequence[int]) -> Array:
    """A view (…, *out) of the padded `x`: tap `index` of every window."""
    parts: list[Any] = [
        slice(i * d, i * d + (o - 1) * s + 1, s) if o else slice(0, 0)
        for i, d, o, s in zip(index, w.dilations, w.out, w.strides, strict=True)
    ]
    return x[(..., *parts)]


def inner(x: Array, start: Sequence[int], size: Sequence[int]) -> Array:
    """A view of `size` elements from `start` on, along the last axes."""
    parts: list[Any] = [slice(a, a + n) for a, n in zip(start, size, strict=True)]
    return x[(..., *parts)]
