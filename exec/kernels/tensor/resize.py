"""Resize and Upsample in all their versions, axis by axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.growth import fitting
from exec.kernels.registry import kernel
from exec.kernels.tensor.interpolation import Filter, coordinates, interpolated, nearest
from exec.kernels.widen import widened


@dataclass(frozen=True, slots=True)
class Axis:
    """What happens along one axis: to how many elements, by which scale, from which part (of 0 … 1)."""

    axis: int
    size: int
    scale: float
    start: float = 0.0
    end: float = 1.0


@kernel("Upsample")
@widened
def upsample_1(x: Array, /, *, height_scale: float, mode: str = "nearest", width_scale: float) -> Array:
    """Upsample of the last two axes, in version 1."""
    return upsample_7(x, mode=mode, scales=[1.0, 1.0, height_scale, width_scale])


@kernel("Upsample", since=7)
@widened
def upsample_7(x: Array, /, *, mode: str = "nearest", scales: Sequence[float]) -> Array:
    """Upsample with the scales as an attribute."""
    return resize_10(x, np.array(scales, np.float32), mode=mode)


@kernel("Upsample", since=9)
@kernel("Resize", since=10)
@widened
def resize_10(x: Array, scales: Array, /, *, mode: str = "nearest") -> Array:
    """Resize before opset 11: coordinates are x / scale.

    Which neighbour is the nearest was not said; as onnxruntime does, it is the one before, when shrinking the one after.
    """
    plan = [Axis(k, scaled(dim, scale), scale) for k, (dim, scale) in enumerate(zip(x.shape, scales, strict=True))]
    if mode != "nearest":
        return _resized(x, plan, Filter(mode), "asymmetric", "floor", None)
    for step in plan:
        x = _resized(x, [step], None, "asymmetric", "ceil" if step.scale < 1 else "floor", None)
    return x


@kernel("Resize", since=11)
@widened
def resize(
    x: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    /,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Array:
    """x sampled anew along `axes`, to `sizes` or by `scales`.

    Shapes  a dim becomes floor(dim · scale), also with a region of interest.
    Types   narrow floats in float32; integers in float32, truncated after "linear", else rounded, as onnxruntime does.
    Spec    ONNX Resize-11 to -19. Linear and cubic are separable: one matrix, or a few shifted multiply-adds, per axis.
    """
    along = [axis % x.ndim for axis in axes] if axes is not None else list(range(x.ndim))
    plan = _plan(x, along, roi, scales, sizes, keep_aspect_ratio_policy, coordinate_transformation_mode)
    kind = None if mode == "nearest" else Filter(mode, cubic_coeff_a, bool(antialias), bool(exclude_outside))
    outside = extrapolation_value if coordinate_transformation_mode == "tf_crop_and_resize" else None
    return _resized(x, plan, kind, coordinate_transformation_mode, nearest_mode, outside)


def scaled(dim: int, scale: float) -> int:
    """floor(dim · scale) in float32, as shape inference computes it."""
    return math.floor(np.float32(dim) * np.float32(scale))


def _plan(
    x: Array,
    along: list[int],
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    policy: str,
    transform: str,
) -> list[Axis]:
    dims = [x.shape[axis] for axis in along]
    if sizes is not None and sizes.size:
        wanted = [int(size) for size in sizes]
        factors = [size / dim if dim else 1.0 for size, dim in zip(wanted, dims, strict=True)]
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(dims)
            wanted = [math.floor(factor * dim + 0.5) for dim in dims]
    elif scales is not None and scales.size:
        factors = [float(scale) for scale in scales]
        wanted = [scaled(dim, factor) for dim, factor in zip(dims, factors, strict=True)]
    else:
        raise ExecutionError("Resize needs scales or sizes, it got neither")
    region = [0.0] * len(dims) + [1.0] * len(dims)
    if transform == "tf_crop_and_resize" and roi is not None and roi.size:
        region = [float(edge) for edge in roi]
    parts = zip(along, wanted, factors, region[: len(dims)], region[len(dims) :], strict=True)
    return [Axis(*part) for part in parts]


def _resized(
    x: Array, plan: Sequence[Axis], kind: Filter | None, transform: str, nearest_mode: str, outside: float | None
) -> Array:
    beyond = []
    sizes = {step.axis: step.size for step in plan}
    fitting((sizes.get(axis, dim) for axis, dim in enumerate(x.shape)), x.dtype)
    y = x if kind is None or x.dtype.kind == "f" else x.astype(np.float32)
    for step in plan:
        dim = x.shape[step.axis]
        if step.size == dim and step.scale == 1.0 and outside is None:
            continue
        # the nearest neighbour is chosen in float32, as elsewhere: where two are equally near, its rounding decides
        carrier = np.float32 if kind is None else np.float64
        places = coordinates(transform, dim, step.size, step.scale, step.start, step.end, carrier)
        if outside is not None:
            beyond.append((step.axis, (places < 0) | (places > dim - 1)))
        if kind is None:
            y = np.take(y, nearest(places, dim, nearest_mode), step.axis)
        else:
            y = interpolated(y, step.axis, places, step.scale, kind)
    if kind is not None and y.dtype != x.dtype:
        limits = np.iinfo(x.dtype)
        whole = y if kind.mode == "linear" and not kind.antialias else np.rint(y)
        y = np.clip(whole, limits.min, limits.max).astype(x.dtype)
    for axis, mask in beyond:
        if mask.any():
            y[(slice(None),) * axis + (mask,)] = outside
    return y
