"""Convolutions as compiled kernels: Winograd, depthwise, or a product over gathered panels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import activation, convolution, depthwise, gemm, packing, winograd
from exec.compiled.vectors import LANES, PANEL
from exec.kernels.nn.window import Window
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.problem import Convolution
from exec.lowering.convolution.winograd import tiles_of, transformed_weights
from exec.lowering.jit.addresses import address
from exec.lowering.jit.tail import Tail

CACHE_BYTES = 1 << 20
"""What a kernel may keep in the second-level cache."""

DEEPEST = 768
"""Rows of a panel after which the sum goes on in a second one: its part of A stays in the first-level cache."""


def flat_window(g: Window) -> Window | None:
    """The window with two axes: a third, leading one of no extent, or none at all; None for real volumes."""
    if g.rank == 2:
        return g
    if g.rank == 1:
        one, zero = (1,), (0,)
        return Window(
            one + g.size,
            one + g.kernel,
            one + g.strides,
            one + g.dilations,
            zero + g.before,
            zero + g.after,
            one + g.out,
        )
    return None


def convolve(b: Builder, c: Convolution, tail: Tail) -> bool:
    """Emit the fastest compiled kernel for a shape; False if there is none."""
    g = flat_window(c.g)
    if g is None:
        return False
    {"depthwise": _depthwise, "winograd": _winograd, "gathered": _gathered}[choose(c, g)](b, c, g, tail)
    return True


def choose(c: Convolution, g: Window) -> str:
    """The algorithm for a shape."""
    each = c.weights.shape[0] // c.group
    if c.group > 1 and c.weights.shape[1] == 1 and g.strides[1] <= 2 and each <= MOST_EACH:
        return "depthwise"
    return "winograd" if c.group == 1 and winograd_pays(c, g) else "gathered"


MOST_EACH = 32
"""Outputs of one channel from which on its windows are gathered once for all."""


def _gathered(b: Builder, c: Convolution, g: Window, tail: Tail) -> None:
    x = b.copied(c.x)
    chunk, depth, room = blocking(c, g)
    pack = partial(_packed, c)
    weights = b.constant(b.packs.get(c.source, ("pairs", c.group), pack))
    panels = b.scratch((room,))
    bind = partial(_bind_gathered, c, g, tail, chunk, depth)
    b.emit(bind, c.out, x, weights, panels, *tail.slots, variant="compiled")


def _packed(c: Convolution) -> Array:
    outputs = c.weights.shape[0] // c.group
    return packing.pack_pairs(c.weights.reshape(c.group, outputs, -1))


def blocking(c: Convolution, g: Window) -> tuple[int, int, int]:
    """(places per chunk, channels per panel, floats of room)."""
    channels, taps = c.weights.shape[1], math.prod(g.kernel)
    depth = channels if channels * taps <= DEEPEST * 5 // 4 else max(1, DEEPEST // taps)
    panels = max(1, min(-(-math.prod(g.out) // PANEL), CACHE_BYTES // (4 * PANEL * depth * taps)))
    return panels * PANEL, depth, panels * PANEL * depth * taps


def _bind_gathered(
    c: Convolution, g: Window, tail: Tail, chunk: int, depth: int, out: Array, x: Array, weights: Array, panels: Array,
    *rest: Array,
) -> Step:  # fmt: skip
    height, width = g.size
    out_height, out_width = g.out
    if g.pointwise:  # one row: fewer breaks between panels
        height, width, out_height, out_width = 1, height * width, 1, out_height * out_width
    bias, other = tail.addresses(rest)
    return partial(
        convolution.convolve.compiled, gemm.multiply_rows.address, activation.finish.address,
        convolution.gather_panel.address, address(x), c.weights.shape[1], height, width, address(weights), *g.kernel,
        *g.strides, *g.dilations, *g.before, address(out), c.weights.shape[0] // c.group, out_height, out_width, bias, other,
        tail.before, tail.code, c.group, x.shape[0], chunk, depth, address(panels), tail.ends, *tail.bounds, tail.p,
        tail.q,
    )  # fmt: skip


def _depthwise(b: Builder, c: Convolution, g: Window, tail: Tail) -> None:
    x = b.copied(c.x)
    channels = x.shape[1]
    weights = b.constant(b.packs.get(c.source, "taps", lambda: np.ascontiguousarray(c.weights.reshape(-1))))
    lines, pitch, phase = plane_layout(g)
    plane = b.scratch((lines * pitch + LANES,))
    bind = partial(_bind_depthwise, c, g, tail, channels, (pitch, lines, phase))
    b.emit(bind, c.out, x, weights, plane, *tail.slots, variant="compiled")


def plane_layout(g: Window) -> tuple[int, int, int]:
    """(lines, floats per line, floats between even and odd columns) of a padded plane, with room for whole vectors."""
    lines = (4 * -(-g.out[0] // 4) - 1) * g.strides[0] + g.extent[0]
    lines = max(lines, g.size[0] + g.before[0])
    columns = -(-g.out[1] // LANES) * LANES
    if g.strides[1] == 1:
        return lines, max(columns + g.extent[1], g.size[1] + g.before[1]), 0
    phase = max(columns + g.extent[1] // 2 + 1, (g.size[1] + g.before[1]) // 2 + 1)
    return lines, 2 * phase, phase


def _bind_depthwise(
    c: Convolution, g: Window, tail: Tail, channels: int, layout: tuple[int, int, int], out: Array, x: Array, weights: Array,
    plane: Array, *rest: Array,
) -> Step:  # fmt: skip
    bias, other = tail.addresses(rest)
    return partial(
        depthwise.depthwise.compiled, activation.finish.address, address(x), channels, *g.size, address(weights),
        c.weights.shape[0] // channels, *g.kernel, *g.strides, *g.dilations, *g.before, address(out), *g.out, bias, other,
        tail.before, tail.code, x.shape[0], address(plane), *layout, tail.p, tail.q,
    )  # fmt: skip


def winograd_pays(c: Convolution, g: Window) -> bool:
    """Whether F(4×4, 3×3) beats the direct product: not where its four times larger weights are read for few tiles."""
    if g.kernel != (3, 3) or g.strides != (1, 1) or g.dilations != (1, 1) or min(g.out) < 3:
        return False
    outputs, channels = c.weights.shape[:2]
    if min(outputs, channels) < 8:
        return False
    samples = c.x.shape[0]
    tiles, places = samples * tiles_of(g.out[0]) * tiles_of(g.out[1]), samples * math.prod(g.out)
    work = outputs * channels
    most = panel_tiles(g, channels)
    panels = samples * -(-tiles_of(g.out[0]) * tiles_of(g.out[1]) // most)
    padded = panels * -(-most // LANES) * LANES
    chunks = samples * -(-math.prod(g.out) // blocking(c, g)[0])
    fast = max(72 * work * padded * PRODUCT_NS, 36 * 4 * work * panels * _reading_ns(36 * 4 * work))
    fast += TRANSFORM_NS * (channels + outputs) * tiles
    slow = max(18 * work * places * PRODUCT_NS, 9 * 4 * work * chunks * _reading_ns(9 * 4 * work))
    slow += GATHER_NS * 9 * channels * places
    return bool(fast < slow)


PRODUCT_NS = 1 / 160
"""An operation of a register tile."""

TRANSFORM_NS = 14.0
"""A tile of one channel, in or out."""

GATHER_NS = 0.12
"""An element copied into a panel."""


def _reading_ns(nbytes: int) -> float:
    """A byte of weights: from the cache, or from beyond it."""
    return 1 / 40 if nbytes <= 3 * CACHE_BYTES // 2 else 1 / 7


def panel_tiles(g: Window, channels: int) -> int:
    """Tiles per panel: all alike, whole vectors, and no more than the cache holds."""
    tiles = tiles_of(g.out[0]) * tiles_of(g.out[1])
    most = PANEL
    while most > LANES and 36 * 4 * channels * most > 2 * CACHE_BYTES:
        most -= LANES
    each = -(-tiles // -(-tiles // most))
    return -(-each // LANES) * LANES


def _winograd(b: Builder, c: Convolution, g: Window, tail: Tail) -> None:
    x = b.copied(c.x)
    channels = x.shape[1]
    make = partial(_transformed, c)
    weights = b.constant(b.packs.get(c.source, "winograd pairs", make))
    panel = b.scratch((36 * (channels + winograd.BLOCK) * PANEL,))
    scratch = b.scratch((max(winograd.INPUT_SCRATCH, winograd.OUTPUT_SCRATCH) // 4,))
    chunk, depth, room = blocking(c, g)
    fallback = b.scratch((room,))
    packed = partial(b.packs.get, c.source, ("pairs", c.group), partial(_packed, c))

    def bind(out: Array, x: Array, weights: Array, panel: Array, scratch: Array, panels: Array, *rest: Array) -> Step:
        bias, other = tail.addresses(rest)
        fast = partial(
            winograd.winograd.compiled, activation.finish.address, gemm.multiply_rows.address,
            winograd.transform_input.address, winograd.transform_output.address, address(x), channels, *g.size, *g.before,
            address(weights), address(out), c.weights.shape[0], *g.out, bias, other, tail.before, tail.code, x.shape[0],
            panel_tiles(g, channels), address(panel), address(scratch), tail.p, tail.q,
        )  # fmt: skip

        def direct() -> None:
            held = packed()
            _bind_gathered(c, g, tail, chunk, depth, out, x, held, panels, *rest)()

        return partial(_guarded, x.reshape(-1), fast, direct)

    b.emit(bind, c.out, x, weights, panel, scratch, fallback, *tail.slots, variant="compiled")


def _transformed(c: Convolution) -> Array:
    return packing.pack_points(transformed_weights(c.weights))


def _guarded(x: Array, fast: Callable[[], object], direct: Callable[[], object]) -> None:
    """Winograd mixes the elements of a tile, so one that is not finite, or huge, is left to the direct product."""
    if math.isfinite(np.dot(x, x)):
        fast()
    else:
        direct()
