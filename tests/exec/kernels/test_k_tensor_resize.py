"""Resize, Upsample, GridSample and AffineGrid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exec.errors import ExecutionError
from passes.base import Safety

SEEDS = st.integers(0, 1 << 16)
TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
SIZES = st.tuples(st.integers(1, 12), st.integers(1, 12))


@given(sizes=SIZES, transform=st.sampled_from(TRANSFORMS), rounding=st.sampled_from(NEAREST), seed=SEEDS)
def test_nearest(check: Any, made: Any, sizes: Any, transform: str, rounding: str, seed: int) -> None:
    x = made(np.random.default_rng(seed), (1, 2, 4, 6), "float32")
    wanted = np.array([1, 2, *sizes])
    options = {"coordinate_transformation_mode": transform, "nearest_mode": rounding}
    check("Resize", x, None, None, wanted, **options, engines=["onnxruntime"])


@given(
    sizes=SIZES, transform=st.sampled_from(TRANSFORMS), mode=st.sampled_from(["linear", "cubic"]), antialias=st.booleans(), seed=SEEDS
)  # fmt: skip
def test_linear_and_cubic(
    check: Any, made: Any, sizes: Any, transform: str, mode: str, antialias: bool, seed: int
) -> None:
    x = made(np.random.default_rng(seed), (1, 2, 4, 6), "float32")
    wanted = np.array([1, 2, *sizes])
    # align_corners to one element: the specification's formula divides by zero, and each reads it in its own way
    assume(transform != "align_corners" or min(sizes) > 1)
    options = {"coordinate_transformation_mode": transform, "mode": mode, "antialias": int(antialias)}
    check("Resize", x, None, None, wanted, **options, engines=["reference"])
    if transform != "half_pixel_symmetric" and not (antialias and transform == "align_corners"):
        check("Resize", x, None, None, wanted, **options, engines=["onnxruntime"])


@given(
    scales=st.tuples(st.sampled_from([0.4, 0.75, 1.0, 1.5, 2.0]), st.sampled_from([0.5, 1.0, 2.5])),
    mode=st.sampled_from(["nearest", "linear", "cubic"]), transform=st.sampled_from(["half_pixel", "asymmetric"]), seed=SEEDS,
)  # fmt: skip
def test_scales(check: Any, made: Any, scales: Any, mode: str, transform: str, seed: int) -> None:
    x = made(np.random.default_rng(seed), (2, 1, 5, 8), "float32")
    given_scales = np.array([1, 1, *scales], np.float32)
    check("Resize", x, None, given_scales, mode=mode, coordinate_transformation_mode=transform)


@given(outside=st.integers(0, 1), a=st.sampled_from([-0.5, -0.75]), sizes=SIZES, seed=SEEDS)
def test_cubic_with_its_options(check: Any, made: Any, outside: int, a: float, sizes: Any, seed: int) -> None:
    x = made(np.random.default_rng(seed), (1, 1, 5, 7), "float32")
    options = {"mode": "cubic", "cubic_coeff_a": a, "exclude_outside": outside}
    check("Resize", x, None, None, np.array([1, 1, *sizes]), **options)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_a_region_of_interest_and_what_lies_outside(check: Any, made: Any, mode: str) -> None:
    x = made(np.random.default_rng(0), (1, 1, 5, 6), "float32")
    roi = np.array([0, 0, 0.31, 0.22, 1, 1, 1.3, 0.83], np.float32)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0, "mode": mode}
    check("Resize", x, roi, None, np.array([1, 1, 4, 7]), **options)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_the_aspect_ratio_can_be_kept(check: Any, made: Any, policy: str) -> None:
    x = made(np.random.default_rng(0), (1, 2, 4, 6), "float32")
    options = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "mode": "linear"}
    check("Resize", x, None, None, np.array([7, 8]), **options)


def test_some_axes_only(check: Any, made: Any) -> None:
    x = made(np.random.default_rng(0), (2, 4, 3, 6), "float32")
    check("Resize", x, None, np.array([2.0, 0.5], np.float32), axes=[3, 1], mode="linear", engines=["reference"])


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_other_ranks(check: Any, made: Any, rank: int) -> None:
    x = made(np.random.default_rng(0), (3, 4, 2, 3, 4)[:rank], "float32")
    check("Resize", x, None, np.array([2.0] * rank, np.float32), mode="linear", engines=["reference"])
    check("Resize", x, None, np.array([2.0] * rank, np.float32))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_a_long_axis_is_gathered_not_multiplied(check: Any, made: Any, mode: str) -> None:
    x = made(np.random.default_rng(0), (1, 1, 2, 700), "float32")
    check("Resize", x, None, None, np.array([1, 1, 3, 1000]), mode=mode, engines=["reference"])
    # onnxruntime's coordinates are float32
    wide = Safety.ROUNDING.tolerance(x.dtype, whole=True)
    check("Resize", x, None, None, np.array([1, 1, 3, 1000]), mode=mode, engines=["onnxruntime"], tolerance=wide)


@pytest.mark.parametrize("opset", [10, 9])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scale", [2.0, 1.5])
def test_before_opset_11_coordinates_are_divided(check: Any, made: Any, opset: int, mode: str, scale: float) -> None:
    x = made(np.random.default_rng(0), (1, 2, 4, 6), "float32")
    scales = np.array([1, 1, scale, scale], np.float32)
    check("Resize" if opset == 10 else "Upsample", x, scales, mode=mode, opset=opset, engines=["onnxruntime"])


def test_shrinking_before_opset_11(check: Any, made: Any) -> None:
    x = made(np.random.default_rng(0), (1, 2, 5, 6), "float32")
    check("Resize", x, np.array([1, 1, 0.6, 0.5], np.float32), opset=10, engines=["onnxruntime"])


def test_the_first_versions_of_upsample(check: Any, made: Any) -> None:
    x = made(np.random.default_rng(0), (1, 1, 2, 3), "float32")
    check("Upsample", x, opset=7, scales=[1.0, 1.0, 2.0, 3.0], engines=["onnxruntime"])
    (got,) = check("Upsample", x, opset=1, height_scale=2.0, width_scale=3.0, engines=[])
    assert got.shape == (1, 1, 4, 9)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_integers_are_truncated_and_with_antialias_rounded(check: Any, made: Any, dtype: str, mode: str) -> None:
    x = made(np.random.default_rng(0), (1, 1, 4, 4), dtype)
    check("Resize", x, None, np.array([1, 1, 2, 2], np.float32), mode=mode, engines=["onnxruntime"])
    check("Resize", x, None, np.array([1, 1, 0.7, 0.7], np.float32), mode="linear", antialias=1, engines=["reference"])


def test_a_resize_without_scales_and_sizes_says_so(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="needs scales or sizes"):
        compute("Resize", np.zeros((1, 1, 2, 2), np.float32))
    with pytest.raises(ExecutionError, match="'lanczos' is unknown"):
        compute("Resize", np.zeros((2,), np.float32), None, np.array([2.0], np.float32), mode="lanczos")


@given(
    mode=st.sampled_from(["linear", "nearest", "cubic"]), padding=st.sampled_from(["zeros", "border", "reflection"]),
    corners=st.integers(0, 1), seed=SEEDS,
)  # fmt: skip
def test_grid_sample(check: Any, made: Any, mode: str, padding: str, corners: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, (2, 3, 4, 5), "float32")
    grid = rng.uniform(-1.6, 1.6, (2, 3, 2, 2)).astype(np.float32)
    check("GridSample", x, grid, mode=mode, padding_mode=padding, align_corners=corners, engines=["onnxruntime"])
    old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    check(
        "GridSample", x, grid, mode=old, padding_mode=padding, align_corners=corners, opset=16, engines=["onnxruntime"]
    )


@given(
    mode=st.sampled_from(["linear", "nearest"]), padding=st.sampled_from(["zeros", "border", "reflection"]), seed=SEEDS
)
def test_grid_sample_in_three_dimensions(check: Any, made: Any, mode: str, padding: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, grid = made(rng, (1, 2, 3, 4, 5), "float32"), rng.uniform(-1.3, 1.3, (1, 2, 3, 2, 3)).astype(np.float32)
    check("GridSample", x, grid, mode=mode, padding_mode=padding, engines=["onnxruntime"])


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [[2, 3, 4, 5], [2, 3, 2, 4, 5]])
def test_affine_grid(check: Any, made: Any, corners: int, size: list[int]) -> None:
    rank = len(size) - 2
    theta = made(np.random.default_rng(0), (2, rank, rank + 1), "float32")
    check("AffineGrid", theta, np.array(size), align_corners=corners)
