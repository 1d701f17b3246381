"""Where along an axis a resized element comes from, and how its neighbours are weighed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError

_DENSE_UP_TO = 256  # input length to which a matrix product beats gathering single elements of the last axis
_TAPS_UP_TO = 4  # neighbours to which shifted multiply-adds of whole rows beat a matrix product


@dataclass(frozen=True, slots=True)
class Filter:
    """How neighbours are weighed: by distance, linear or cubic; stretched when shrinking; inside only."""

    mode: str
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False

    def __post_init__(self) -> None:
        if self.mode not in ("linear", "bilinear", "cubic"):
            raise ExecutionError(f"the mode '{self.mode}' is unknown", why="known are nearest, linear and cubic")

    @property
    def reach(self) -> int:
        """Neighbours on each side at scale 1."""
        return 2 if self.mode == "cubic" else 1

    def weight(self, distance: Array) -> Array:
        """The weight of a neighbour by its distance."""
        return cubic(distance, self.cubic_a) if self.mode == "cubic" else np.maximum(1 - np.abs(distance), 0)


def cubic(distance: Array, a: float) -> Array:
    """Keys' cubic convolution kernel (1981, eq. 4)."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def coordinates(
    transform: str, dim: int, size: int, scale: float, start: float, end: float, carrier: type[np.floating[Any]]
) -> Array:
    """For each of `size` resized elements, its place in the `dim` original ones."""
    place = np.arange(size).astype(carrier)
    half, ratio = carrier(0.5), carrier(scale)
    resized = scale * dim  # not always whole: the size is rounded down
    if transform == "half_pixel" or (transform == "pytorch_half_pixel" and size > 1):
        return np.asarray((place + half) / ratio - half)
    if transform == "pytorch_half_pixel":
        return np.zeros_like(place)
    if transform == "half_pixel_symmetric":
        return np.asarray(carrier(dim / 2 * (1 - size / resized)) + (place + half) / ratio - half)
    if transform == "asymmetric":
        return np.asarray(place / ratio)
    if transform == "tf_half_pixel_for_nn":
        return np.asarray((place + half) / ratio)
    if transform == "align_corners":
        return np.asarray(place * carrier((dim - 1) / (resized - 1))) if resized != 1 else np.zeros_like(place)
    if transform == "tf_crop_and_resize":
        if size > 1:
            return np.asarray(carrier(start * (dim - 1)) + place * carrier((end - start) * (dim - 1) / (size - 1)))
        return np.full_like(place, 0.5 * (start + end) * (dim - 1))
    raise ExecutionError(f"the coordinate transformation '{transform}' is unknown")


def nearest(places: Array, dim: int, mode: str) -> Array:
    """The index of the original element for each place."""
    if mode == "round_prefer_floor":
        index = np.ceil(places - places.dtype.type(0.5))
    elif mode == "round_prefer_ceil":
        index = np.floor(places + places.dtype.type(0.5))
    elif mode == "floor":
        index = np.floor(places)
    elif mode == "ceil":
        index = np.ceil(places)
    else:
        raise ExecutionError(f"the nearest mode '{mode}' is unknown")
    return np.asarray(np.clip(index, 0, dim - 1), np.intp)


def interpolated(x: Array, axis: int, places: Array, scale: float, kind: Filter) -> Array:
    """x sampled at `places` of `axis`; beyond the ends the last element continues."""
    dim, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    index, weights = _taps(places, dim, scale, kind)
    rows = x.reshape(math.prod(x.shape[:axis]), dim, inner)
    shape = (*x.shape[:axis], places.size, *x.shape[axis + 1 :])
    taps = index.shape[0]
    if (inner > 1 and taps <= _TAPS_UP_TO) or (inner == 1 and dim > _DENSE_UP_TO):
        column = weights.astype(x.dtype)[:, :, None]
        y: Array = np.take(rows, index[0], 1) * column[0]
        for k in range(1, taps):
            y += np.take(rows, index[k], 1) * column[k]
        return y.reshape(shape)
    matrix = np.zeros((places.size, dim))
    np.add.at(matrix, (np.arange(places.size), index), weights)
    matrix = matrix.astype(x.dtype)
    y = rows[:, :, 0] @ matrix.T if inner == 1 else np.matmul(matrix, rows)
    return y.reshape(shape)


def _taps(places: Array, dim: int, scale: float, kind: Filter) -> tuple[Array, Array]:
    """Indices and weights of the neighbours, each (taps, size)."""
    stretch = min(scale, 1.0) if kind.antialias else 1.0
    reach = math.ceil(kind.reach / stretch)
    index = np.floor(places).astype(np.int64) + np.arange(1 - reach, 1 + reach)[:, None]
    weights = kind.weight((index - places) * stretch)
    if kind.exclude_outside:
        weights = np.where((index >= 0) & (index < dim), weights, 0.0)
    if kind.exclude_outside or kind.antialias:
        weights = weights / weights.sum(axis=0)
    return np.clip(index, 0, dim - 1), weights
