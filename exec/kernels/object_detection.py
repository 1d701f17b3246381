"""Kernels of ONNX family object_detection: boxes and regions of interest."""

from __future__ import annotations

import math

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

_AT_ONCE = 64  # boxes


@kernel("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    /,
    *,
    center_point_box: int = 0,
) -> Array:
    """The boxes of each batch entry and class, best first, that overlap no better one by more than `iou_threshold`.

    Shapes  boxes (batch, n, 4): two corners (y, x) or, with center_point_box=1, (x, y, width, height);
            scores (batch, classes, n) → (found, 3): batch entry, class, box.
    """
    most = 0 if max_output_boxes_per_class is None else int(max_output_boxes_per_class.reshape(-1)[0])
    limit = np.float32(0) if iou_threshold is None else iou_threshold.reshape(-1)[0]
    found: list[tuple[int, int, int]] = []
    if most <= 0:
        return np.zeros((0, 3), np.int64)
    for entry in range(boxes.shape[0]):
        corners = _corners(boxes[entry], bool(center_point_box))
        for label in range(scores.shape[1]):
            score = scores[entry, label]
            order = np.argsort(-score, kind="stable")
            if score_threshold is not None:
                order = order[score[order] > score_threshold.reshape(-1)[0]]
            kept = _suppressed(corners[:, order], limit, most)
            found += [(entry, label, int(box)) for box in order[kept]]
    return np.array(found, np.int64).reshape(-1, 3)


def _corners(boxes: Array, centred: bool) -> Array:
    """Rows: the lower y and x, the higher y and x."""
    if centred:
        x, y, half_width, half_height = boxes[:, 0], boxes[:, 1], boxes[:, 2] / 2, boxes[:, 3] / 2
        return np.stack((y - half_height, x - half_width, y + half_height, x + half_width))
    first, second = boxes[:, :2].T, boxes[:, 2:].T
    return np.concatenate((np.minimum(first, second), np.maximum(first, second)))


def _suppressed(boxes: Array, limit: np.floating, most: int) -> list[int]:
    """Of boxes from the best to the worst, those no better kept one overlaps: a block is compared with those kept so far."""
    kept: list[int] = []
    for start in range(0, boxes.shape[1], _AT_ONCE):
        block = boxes[:, start : start + _AT_ONCE]
        hidden = np.asarray(_overlaps(block, boxes[:, kept], limit).any(axis=1))
        inside = _overlaps(block, block, limit)
        for k in range(block.shape[1]):
            if not hidden[k]:
                kept.append(start + k)
                if len(kept) == most:
                    return kept
                hidden |= inside[k]
    return kept


def _overlaps(a: Array, b: Array, limit: np.floating) -> Array:
    """Whether intersection / union of each pair is above the limit; an empty box overlaps nothing."""
    area_a, area_b = ((x[2] - x[0]) * (x[3] - x[1]) for x in (a, b))
    height = np.minimum(a[2, :, None], b[2]) - np.maximum(a[0, :, None], b[0])
    width = np.minimum(a[3, :, None], b[3]) - np.maximum(a[1, :, None], b[1])
    shared = np.maximum(height, 0) * np.maximum(width, 0)
    union = area_a[:, None] + area_b - shared
    # with no area there is no intersection, and no intersection is above no limit: only a union of 0 needs a word
    return np.asarray((shared > limit * union) & (union > 0))


@kernel("RoiAlign", since=10)
@widened
def roi_align_10(
    x: Array,
    rois: Array,
    batch_indices: Array,
    /,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Array:
    """RoiAlign before opset 16: no half-pixel shift."""
    return roi_align(
        x, rois, batch_indices, coordinate_transformation_mode="output_half_pixel", mode=mode,
        output_height=output_height, output_width=output_width, sampling_ratio=sampling_ratio, spatial_scale=spatial_scale,
    )  # fmt: skip


@kernel("RoiAlign", since=16)
@widened
def roi_align(
    x: Array,
    rois: Array,
    batch_indices: Array,
    /,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Array:
    """Each region of interest divided into bins; a bin is the mean (max) of points interpolated in it.

    Shapes  x (n, c, h, w), rois (r, 4): x1, y1, x2, y2; batch_indices (r) → (r, c, output_height, output_width).
    Spec    ONNX RoiAlign-16, -22. The mean is separable: two matrices per region. "max" takes the largest of the weighted
            neighbours of the points, not of the points: what the specification's cases ask for.
    """
    if mode not in ("avg", "max"):
        raise ExecutionError(f"the mode '{mode}' is unknown", why="known are avg and max")
    half = coordinate_transformation_mode == "half_pixel"
    y = np.zeros((rois.shape[0], x.shape[1], output_height, output_width), x.dtype)
    for out, roi, entry in zip(y, rois, batch_indices, strict=True):
        x1, y1, x2, y2 = (float(edge) * spatial_scale - 0.5 * half for edge in roi)
        rows = _points(y1, y2, output_height, sampling_ratio, x.shape[2], half)
        columns = _points(x1, x2, output_width, sampling_ratio, x.shape[3], half)
        if rows[0].size and columns[0].size:
            out[...] = (_mean if mode == "avg" else _largest)(x[entry], rows, columns)
    return y


Points = tuple[Array, Array]
"""Neighbour indices and weights, each (2, bins, points in a bin)."""


def _points(start: float, end: float, bins: int, sampling: int, dim: int, half: bool) -> Points:
    length = end - start if half else max(end - start, 1.0)
    each = sampling if sampling > 0 else max(math.ceil(length / bins), 0)
    place = start + (np.arange(bins)[:, None] + (np.arange(each) + 0.5) / max(each, 1)) * (length / bins)
    inside = (place >= -1) & (place <= dim)
    place = np.clip(place, 0, dim - 1)
    low = np.floor(place).astype(np.int64)
    ratio = place - low
    weights = np.stack((1 - ratio, ratio)) * inside
    return np.stack((low, np.minimum(low + 1, dim - 1))), weights


def _mean(x: Array, rows: Points, columns: Points) -> Array:
    (top, down), (left, across) = _averaging(rows, x), _averaging(columns, x)
    seen = x[:, top : top + down.shape[1], left : left + across.shape[1]]
    return np.asarray((down @ seen) @ across.T)


def _averaging(points: Points, like: Array) -> tuple[int, Array]:
    """Where the seen part of an axis begins, and the matrix (bins, length) that takes it to the means of the bins."""
    index, weights = points
    start, end = int(index.min()), int(index.max()) + 1
    matrix = np.zeros((index.shape[1], end - start))
    np.add.at(matrix, (np.arange(index.shape[1])[:, None], index - start), weights / index.shape[2])
    return start, matrix.astype(like.dtype)


def _largest(x: Array, rows: Points, columns: Points) -> Array:
    best = None
    for row_index, row_weight in zip(*rows, strict=True):
        for column_index, column_weight in zip(*columns, strict=True):
            taken = x[:, row_index[:, :, None, None], column_index]
            seen = (taken * (row_weight[:, :, None, None] * column_weight).astype(x.dtype)).max(axis=(2, 4))
            best = seen if best is None else np.maximum(best, seen)
    return np.asarray(best)
