"""What attributes may be: the words of those of type STRING, over all versions of the op, and the range of numbers. The specification has them in its prose."""

from __future__ import annotations

from typing import Any

WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "auto_pad"): ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    ("BitShift", "direction"): ("LEFT", "RIGHT"),
    ("DepthToSpace", "mode"): ("DCR", "CRD"),
    ("GRU", "direction"): ("forward", "reverse", "bidirectional"),
    ("Gelu", "approximate"): ("none", "tanh"),
    ("GridSample", "mode"): ("linear", "nearest", "cubic", "bilinear", "bicubic"),
    ("GridSample", "padding_mode"): ("zeros", "border", "reflection"),
    ("LSTM", "direction"): ("forward", "reverse", "bidirectional"),
    ("NegativeLogLikelihoodLoss", "reduction"): ("none", "sum", "mean"),
    ("Pad", "mode"): ("constant", "reflect", "edge", "wrap"),
    ("RNN", "direction"): ("forward", "reverse", "bidirectional"),
    ("Resize", "coordinate_transformation_mode"): (
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn",
    ),
    ("Resize", "keep_aspect_ratio_policy"): ("stretch", "not_larger", "not_smaller"),
    ("Resize", "mode"): ("nearest", "linear", "cubic"),
    ("Resize", "nearest_mode"): ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    ("RoiAlign", "coordinate_transformation_mode"): ("half_pixel", "output_half_pixel"),
    ("RoiAlign", "mode"): ("avg", "max"),
    ("ScatterElements", "reduction"): ("none", "add", "mul", "max", "min"),
    ("ScatterND", "reduction"): ("none", "add", "mul", "max", "min"),
    ("SoftmaxCrossEntropyLoss", "reduction"): ("none", "sum", "mean"),
    ("StringNormalizer", "case_change_action"): ("LOWER", "UPPER", "NONE"),
}  # fmt: skip
"""(op type, attribute) to words; an op type of "" is any op that has the attribute."""

_AXES = (-1024, 1024)
RANGES: dict[tuple[str, str], tuple[int, int]] = {
    ("", "axis"): _AXES,
    ("", "axes"): _AXES,
    ("", "batch_axis"): _AXES,
    ("", "time_axis"): _AXES,
    ("GatherND", "batch_dims"): (0, 1024),
}
"""The least and the largest number of an attribute, by operator or for all: far more axes than any tensor has. ONNX's inference crashes beyond."""


def range_of(op: str, name: str) -> tuple[int, int] | None:
    """The range of an attribute's numbers, or None."""
    return RANGES.get((op, name)) or RANGES.get(("", name))


def outside(op: str, name: str, item: Any) -> int | None:
    """The first number of an attribute's message that is beyond its range."""
    allowed = range_of(op, name)
    if allowed is None:
        return None
    low, high = allowed
    return next((number for number in (item.i, *item.ints) if not low <= number <= high), None)
