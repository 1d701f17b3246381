"""Kernels of ONNX family object_detection: boxes and regions of interest."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.growth import ask, fitting
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

_AT_ONCE = 64  # boxes, or regions
_PAIRED = 8192  # boxes whose overlaps with each other fit in memory: 64 MiB


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
        orders = [np.argsort(-score, kind="stable") for score in scores[entry]]
        if score_threshold is not None:
            least = score_threshold.reshape(-1)[0]
            orders = [order[score[order] > least] for order, score in zip(orders, scores[entry], strict=True)]
        pairs = _all_pairs(corners, orders, limit, most)
        for label, order in enumerate(orders):
            kept = _suppressed(corners[:, order], limit, most) if pairs is None else _looked_up(pairs, order, most)
            found += [(entry, label, int(box)) for box in order[kept]]
    return np.array(found, np.int64).reshape(-1, 3)


def _all_pairs(corners: Array, orders: list[Array], limit: np.floating, most: int) -> Array | None:
    """Which box overlaps which, once for all classes; None where comparing per class takes less."""
    count = corners.shape[1]
    alone = sum(len(order) * min(len(order), most) for order in orders) // 2
    if count > _PAIRED or alone < count * count:
        return None
    return np.concatenate(
        [_overlaps(corners[:, k : k + _AT_ONCE], corners, limit) for k in range(0, count, _AT_ONCE)]
        or [np.zeros((0, 0), bool)]
    )


def _looked_up(pairs: Array, order: Array, most: int) -> list[int]:
    """`_suppressed` where all pairs are known: the places in `order` of the boxes that stay."""
    kept: list[int] = []
    hidden = np.zeros(len(pairs), bool)
    for place, box in enumerate(order.tolist()):
        if not hidden[box]:
            kept.append(place)
            if len(kept) == most:
                return kept
            hidden |= pairs[box]
    return kept


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
    edges = rois.astype(np.float64) * spatial_scale - 0.5 * half
    y = np.zeros(fitting((rois.shape[0], output_height, output_width, x.shape[1]), x.dtype), x.dtype)
    if x.size:
        planes = np.ascontiguousarray(x.transpose(0, 2, 3, 1))  # what one weight is for lies together
        for start in range(0, y.shape[0] if y.size else 0, _AT_ONCE):
            block = slice(start, start + _AT_ONCE)
            rows = _Axis(edges[block, 1], edges[block, 3], output_height, sampling_ratio, x.shape[2], half)
            columns = _Axis(edges[block, 0], edges[block, 2], output_width, sampling_ratio, x.shape[3], half)
            (_means if mode == "avg" else _largest)(y[block], planes, batch_indices[block].tolist(), rows, columns)
    return np.ascontiguousarray(y.transpose(0, 3, 1, 2))


class _Axis:
    """One axis of every region: the points of its bins, by their number in a bin.

    Each of `groups` is (regions, neighbour indices, weights), the latter two (regions, bins, 2 · points in a bin).
    """

    def __init__(self, start: Array, end: Array, bins: int, sampling: int, dim: int, half: bool) -> None:
        self.bins, self.dim, self.count = bins, dim, start.size
        length = end - start if half else np.maximum(end - start, 1.0)
        each = np.full(start.size, sampling) if sampling > 0 else np.ceil(length / bins)
        each = np.where(np.isfinite(each), each, 0).astype(np.int64)
        ask(64 * bins * sum(each.tolist()))  # eight numbers a point
        self.groups = [
            (which := np.flatnonzero(each == n), *self._points(start[which], length[which], n))
            for n in np.unique(each[each > 0]).tolist()
        ]

    def _points(self, start: Array, length: Array, each: int) -> tuple[Array, Array]:
        offsets = np.arange(self.bins)[:, None] + (np.arange(each) + 0.5) / each
        place = start[:, None, None] + offsets * (length / self.bins)[:, None, None]
        inside = (place >= -1) & (place <= self.dim)
        place = np.clip(place, 0, self.dim - 1)
        low = np.floor(place).astype(np.int64)
        ratio = place - low
        index = np.concatenate((low, np.minimum(low + 1, self.dim - 1)), axis=2)
        return index, np.concatenate(((1 - ratio) * inside, ratio * inside), axis=2)

    def averaging(self) -> tuple[Array, Array, Array]:
        """Per region the matrix (bins, dim) that takes the axis to the means of the bins, and the part of the axis it sees."""
        matrix = np.zeros(fitting((self.count, self.bins, self.dim), np.float64))
        first, last = np.zeros(self.count, np.int64), np.zeros(self.count, np.int64)
        for which, index, weights in self.groups:
            first[which], last[which] = index.min(axis=(1, 2)), index.max(axis=(1, 2)) + 1
            row = np.arange(which.size * self.bins).reshape(which.size, self.bins, 1) * self.dim
            total = np.bincount(
                (row + index).ravel(), (weights * (2 / index.shape[2])).ravel(), which.size * self.bins * self.dim
            )
            matrix[which] = total.reshape(which.size, self.bins, self.dim)
        return matrix, first, last


def _means(y: Array, planes: Array, entries: list[int], rows: _Axis, columns: _Axis) -> None:
    (down, top, bottom), (across, left, right) = rows.averaging(), columns.averaging()
    down, across = down.astype(y.dtype), across.astype(y.dtype)
    spans = zip(entries, top.tolist(), bottom.tolist(), left.tolist(), right.tolist(), strict=True)
    for k, (entry, y0, y1, x0, x1) in enumerate(spans):
        seen = planes[entry, y0:y1, x0:x1]
        band = down[k, :, y0:y1] @ seen.reshape(y1 - y0, -1)
        np.matmul(across[k, :, x0:x1], band.reshape(rows.bins, x1 - x0, -1), out=y[k])


def _largest(y: Array, planes: Array, entries: list[int], rows: _Axis, columns: _Axis) -> None:
    down = {
        int(k): (i, w) for which, index, weights in rows.groups for k, i, w in zip(which, index, weights, strict=True)
    }
    across = {
        int(k): (i, w)
        for which, index, weights in columns.groups
        for k, i, w in zip(which, index, weights, strict=True)
    }
    for k in down.keys() & across.keys():
        (i, row_weights), (j, column_weights) = down[k], across[k]
        ask(2 * i.size * j.size * planes.shape[-1] * planes.itemsize)
        taken = planes[entries[k]][i[:, :, None, None], j]
        weights = row_weights[:, :, None, None] * column_weights
        y[k] = (taken * weights.astype(y.dtype)[..., None]).max(axis=(1, 3))
