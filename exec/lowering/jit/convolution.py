"""Convolutions as compiled kernels: Winograd, depthwise, or a product over gathered panels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import activation, convolution, depthwise, gemm, packing, winograd
from exec.compiled.vectors import LANES, PANEL, ROWS
from exec.kernels.nn.window import Window
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.problem import MOST_EACH, Convolution
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
    own_pass = tail.ends or tail.rest is not None
    return partial(
        depthwise.depthwise.compiled, activation.finish.address, address(x), channels, *g.size, address(weights),
        c.weights.shape[0] // channels, *g.kernel, *g.strides, *g.dilations, *g.before, address(out), *g.out, bias, other,
        tail.before, tail.code if own_pass else activation.NONE, x.shape[0], address(plane), *layout, tail.p, tail.q,
        *((-math.inf, math.inf) if own_pass else tail.bounds),
    )  # fmt: skip


def winograd_pays(c: Convolution, g: Window) -> bool:
    """Whether F(4×4, 3×3) beats the direct product: not where its four times larger weights are read for few tiles."""
    if g.kernel != (3, 3) or g.strides != (1, 1) or g.dilations != (1, 1) or min(g.out) < 3:
        return False
    outputs, channels = c.weights.shape[:2]
    if min(outputs, channels) < 8:
        return False
    return CLEARLY * winograd_ns(c, g) < gathered_ns(c, g)


def winograd_ns(c: Convolution, g: Window) -> float:
    """Time of one sample: lanes without a tile take as long as those with one."""
    outputs, channels = _whole(c.weights.shape[0], ROWS), c.weights.shape[1]
    tiles, each = tiles_of(g.out[0]) * tiles_of(g.out[1]), panel_tiles(g, channels)
    panels = -(-tiles // each)
    padded, nbytes = panels * each, 4 * 36 * c.weights.shape[0] * channels
    far = nbytes * FAR_POINT_NS if nbytes > FAR_BYTES else 0.0
    spill = SPILL_NS * channels * padded if 4 * 36 * channels * each > SPILL_BYTES else 0.0
    moved = OUTPUT_NS * outputs * padded + INPUT_NS * channels * tiles + PANEL_NS * channels * panels
    return float(72 * outputs * channels * padded * POINT_NS + far + spill + moved + FIXED_NS)


def gathered_ns(c: Convolution, g: Window) -> float:
    """Time of one sample the direct way."""
    outputs, channels = _whole(c.weights.shape[0], ROWS), c.weights.shape[1]
    places, nbytes = math.prod(g.out), 4 * 9 * c.weights.shape[0] * channels
    far = nbytes * FAR_NS * -(-places // blocking(c, g)[0]) if nbytes > FAR_BYTES else 0.0
    copied = 9 * channels * (places * GATHER_NS + g.out[0] * ROW_NS)
    products = 18 * outputs * channels * _whole(places, PANEL) * PRODUCT_NS
    return float(products + far + copied + outputs * places * PLACE_NS)


def _whole(count: int, step: int) -> int:
    return -(-count // step) * step


CLEARLY = 1.1
"""Where both are about as fast, the direct product is the more exact one."""

PRODUCT_NS, POINT_NS = 0.0048, 0.0058
"""An operation of a register tile of one large product, and of one of 36."""

INPUT_NS, OUTPUT_NS, PANEL_NS, FIXED_NS = 6.5, 10.3, 200.0, 400.0
"""Transforming a tile of one channel, transforming it back, a panel of one channel, and what every run takes."""

SPILL_NS, SPILL_BYTES = 5.6, 400_000
"""What a tile of one channel takes longer where a panel is too large to stay close, and where that begins."""

FAR_POINT_NS, FAR_NS, FAR_BYTES = 0.042, 0.0044, 3 * CACHE_BYTES // 2
"""A byte of weights from beyond the second-level cache, for each of 36 thin products and for one; and where that begins."""

GATHER_NS, ROW_NS, PLACE_NS = 0.11, 1.4, 0.035
"""An element copied into a panel, a row of them, and an element of the result put in place."""


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
