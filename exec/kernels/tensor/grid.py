"""Sampling at coordinates: GridSample and AffineGrid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.growth import ask, fitting
from exec.kernels.registry import kernel
from exec.kernels.tensor.interpolation import cubic
from exec.kernels.tiled import TILE
from exec.kernels.widen import widened

_CUBIC_A = -0.75


@kernel("GridSample", since=16)
@widened
def grid_sample_16(
    x: Array, grid: Array, /, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> Array:
    """GridSample in two dimensions, before opset 20, where the modes are called bilinear and bicubic."""
    return grid_sample(x, grid, align_corners=align_corners, mode=mode.removeprefix("bi"), padding_mode=padding_mode)


@kernel("GridSample", since=20)
@widened
def grid_sample(
    x: Array, grid: Array, /, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Array:
    """x read at the places of `grid`, where -1 and 1 are the ends of an axis (pixel centres with align_corners=1).

    Shapes  x (n, c, d1, …, dk), grid (n, o1, …, ok, k), its last axis counting axes from the back → (n, c, o1, …, ok).
    """
    dims = x.shape[2:]
    rank, places = len(dims), math.prod(grid.shape[1:-1])
    if mode == "cubic":
        corners, width = 4**rank, 4 * rank
    else:
        corners, width = 2**rank, 2 * rank
    # an index and a weight for each corner, and along each axis, of every place
    ask(places * grid.shape[0] * 16 * (corners + width))
    # pixels as rows of their channels: a neighbour is then one contiguous read
    pixels = np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(x.shape[0], math.prod(dims), x.shape[1])
    taps = []
    for axis, dim in enumerate(dims):
        place = grid[..., rank - 1 - axis].reshape(grid.shape[0], places).astype(np.result_type(grid, np.float32))
        place = (place + 1) / 2 * (dim - 1) if align_corners else ((place + 1) * dim - 1) / 2
        taps.append([_padded(i, w, dim, padding_mode, bool(align_corners)) for i, w in _neighbours(place, mode)])
    near = [_corner(corner, dims) for corner in itertools.product(*taps)]
    y = np.zeros((x.shape[0], places, x.shape[1]), x.dtype)
    each = max(1, TILE // max(x.shape[1], 1))
    for entry, source in enumerate(pixels):
        for start in range(0, places, each):
            part = slice(start, start + each)
            for index, weight in near:
                read = np.take(source, index[entry, part], 0)
                read *= weight[entry, part, None]
                y[entry, part] += read
    return np.moveaxis(y, -1, 1).reshape(*x.shape[:2], *grid.shape[1:-1])


def _corner(neighbours: Sequence[tuple[Array, Array]], dims: Sequence[int]) -> tuple[Array, Array]:
    """The flat index and the weight of one combination of a neighbour per axis."""
    index, weight = neighbours[0]
    for dim, (along, share) in zip(dims[1:], neighbours[1:], strict=True):
        index, weight = index * dim + along, weight * share
    return index, weight


def _neighbours(place: Array, mode: str) -> list[tuple[Array, Array]]:
    """The whole places around each place, with their weights."""
    if mode == "nearest":
        return [(np.rint(place), np.ones_like(place))]
    first = np.floor(place)
    if mode == "linear":
        ratio = place - first
        return [(first, 1 - ratio), (first + 1, ratio)]
    if mode == "cubic":
        return [(first + k, cubic(first + k - place, _CUBIC_A).astype(place.dtype)) for k in (-1, 0, 1, 2)]
    raise ExecutionError(f"the mode '{mode}' is unknown", why="known are nearest, linear and cubic")


def _padded(index: Array, weight: Array, dim: int, padding_mode: str, corners: bool) -> tuple[Array, Array]:
    """Indices inside the axis: those outside weigh nothing, or are moved to the border, or are mirrored back in."""
    if padding_mode == "zeros":
        weight = np.where((index >= 0) & (index < dim), weight, 0)
    elif padding_mode == "reflection":
        low, span = (0.0, dim - 1.0) if corners else (-0.5, float(dim))
        turn = (index - low) % max(2 * span, 1.0)
        index = low + np.minimum(turn, 2 * span - turn)
    elif padding_mode != "border":
        raise ExecutionError(
            f"the padding mode '{padding_mode}' is unknown", why="known are zeros, border and reflection"
        )
    # NaN coordinates must not become wild indices: clip them with the rest
    return np.nan_to_num(np.clip(index, 0, dim - 1)).astype(np.int64), weight


@kernel("AffineGrid", since=20)
@widened
def affine_grid(theta: Array, size: Array, /, *, align_corners: int = 0) -> Array:
    """The places a transformed image is to be read at: theta · (x, y[, z], 1) for every pixel, for `GridSample`.

    Shapes  theta (n, k, k + 1), size [n, c, d1, …, dk] → (n, d1, …, dk, k).
    """
    dims = list(fitting((*size[2:], theta.shape[0], theta.shape[2]), theta.dtype)[:-2])
    lines = [_line(dim, bool(align_corners)).astype(theta.dtype) for dim in dims]
    mesh = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*reversed(mesh), np.ones(dims, theta.dtype)], -1).reshape(-1, len(dims) + 1)
    moved = np.matmul(points, theta.transpose(0, 2, 1))
    return np.asarray(moved).reshape(theta.shape[0], *dims, len(dims))


def _line(dim: int, corners: bool) -> Array:
    return np.linspace(-1, 1, dim) if corners else (2 * np.arange(dim) + 1) / dim - 1
