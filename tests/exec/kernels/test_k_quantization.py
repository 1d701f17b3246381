"""Q/DQ in every granularity and type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from exec.dtypes import onnx_code
from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
INTEGERS = ["uint8", "int8", "uint16", "int16"]
GRAIN = st.sampled_from(["tensor", "axis", "block"])


def parameters(rng: np.random.Generator, shape: tuple[int, ...], axis: int, grain: str, block: int, dtype: str) -> Any:
    """A scale and a zero point of the granularity."""
    dims: tuple[int, ...] = ()
    if grain == "axis":
        dims = (shape[axis],)
    elif grain == "block":
        dims = tuple(-(-d // block) if k == axis % len(shape) else d for k, d in enumerate(shape))
    limits = np.iinfo(dtype)
    scale = rng.uniform(0.01, 0.2, dims).astype(np.float32)
    return np.asarray(scale), np.asarray(
        rng.integers(limits.min, limits.max, dims, dtype=np.dtype(dtype), endpoint=True)
    )


@given(grain=GRAIN, axis=st.integers(-3, 2), dtype=st.sampled_from(INTEGERS), zero=st.booleans(), seed=SEEDS)
def test_both_ways_in_every_granularity(
    check: Any, made: Any, grain: str, axis: int, dtype: str, zero: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shape, block = (4, 6, 5), 3
    scale, point = parameters(rng, shape, axis, grain, block, dtype)
    zeros = [point] if zero else [np.zeros(scale.shape, dtype)]
    options = {"axis": axis} if grain != "tensor" else {}
    options |= {"block_size": block} if grain == "block" else {}
    x = made(rng, shape, "float32")
    (codes,) = check("QuantizeLinear", x, scale, *zeros, **options)
    check("DequantizeLinear", codes, scale, *zeros, **options)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_halves_go_to_the_even_number_and_the_ends_are_kept(check: Any, dtype: str) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, np.inf, -np.inf], np.float32)
    (got,) = check("QuantizeLinear", x, np.array(1, np.float32), np.array(2, dtype), engines=["onnxruntime"])
    limits = np.iinfo(dtype)
    assert got.tolist()[:5] == [2, 4, 4, 2, 0]
    assert got.tolist()[5:] == [limits.max, limits.min] * 2


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_nan_becomes_the_lowest(check: Any, dtype: str) -> None:
    x = np.array([np.nan, 1.0], np.float32)
    check("QuantizeLinear", x, np.array(0.5, np.float32), np.array(3, dtype), engines=["onnxruntime"])


@pytest.mark.parametrize("kind", [ml_dtypes.int4, ml_dtypes.uint4])
def test_four_bits(check: Any, made: Any, kind: Any) -> None:
    x = made(np.random.default_rng(0), (4, 6), "float32")
    scale, zero = np.array(0.7, np.float32), np.array(2, kind)
    (codes,) = check("QuantizeLinear", x, scale, zero, engines=["reference"])
    assert codes.dtype == kind
    check("DequantizeLinear", codes, scale, zero, engines=["reference"])


@pytest.mark.parametrize("kind", [ml_dtypes.int2, ml_dtypes.uint2])
def test_two_bits(check: Any, made: Any, kind: Any) -> None:
    x = made(np.random.default_rng(0), (4, 6), "float32")
    (codes,) = check("QuantizeLinear", x, np.array(1.5, np.float32), np.array(1, kind), opset=25, engines=["reference"])
    assert codes.dtype == kind


@pytest.mark.parametrize(
    "kind", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]
)
@pytest.mark.parametrize("saturate", [0, 1])
def test_float8(check: Any, made: Any, kind: Any, saturate: int) -> None:
    x = np.concatenate((made(np.random.default_rng(0), (30,), "float32"), np.array([1e6, -1e6], np.float32)))
    scale, zero = np.array(0.3, np.float32), np.array(0, kind)
    (codes,) = check("QuantizeLinear", x, scale, zero, saturate=saturate, engines=["reference"])
    (back,) = check("DequantizeLinear", codes, scale, zero, engines=["reference"])
    assert codes.dtype == kind
    assert np.max(np.abs(back[:30] - x[:30]) / np.abs(x[:30])) < 0.13


def test_the_type_comes_from_the_zero_point_or_the_attribute_or_is_uint8(compute: Any) -> None:
    x, scale = np.array([-3.0, 300.0], np.float32), np.array(1, np.float32)
    assert compute("QuantizeLinear", x, scale)[0].tolist() == [0, 255]
    (got,) = compute("QuantizeLinear", x, scale, output_dtype=TensorProto.INT16)
    assert got.dtype == np.int16
    assert got.tolist() == [-3, 300]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_the_quotient_is_rounded_to_the_scale_s_type(compute: Any, dtype: Any) -> None:
    x = np.linspace(-20, 20, 301).astype(dtype)
    scale, zero = np.array(0.1, dtype), np.array(128, np.uint8)
    (got,) = compute("QuantizeLinear", x, scale, zero)
    want = np.clip(np.rint((x / scale).astype(np.float32)) + 128, 0, 255)
    assert np.array_equal(got, want)
    (precise,) = compute("QuantizeLinear", x, scale, zero, precision=TensorProto.FLOAT, opset=23)
    want = np.clip(np.rint(x.astype(np.float32) / scale.astype(np.float32)) + 128, 0, 255)
    assert np.array_equal(precise, want)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_a_dequantized_value_has_the_scale_s_type(compute: Any, dtype: Any) -> None:
    codes = np.arange(256, dtype=np.uint8)
    (got,) = compute("DequantizeLinear", codes, np.array(0.1, dtype), np.array(3, np.uint8))
    want = ((codes.astype(np.float32) - 3) * np.array(0.1, dtype).astype(np.float32)).astype(dtype)
    assert got.dtype == dtype
    assert np.array_equal(got.view(np.uint8), want.view(np.uint8))
    (other,) = compute("DequantizeLinear", codes, np.array(0.1, dtype), output_dtype=onnx_code(np.float16), opset=23)
    assert other.dtype == np.float16


def test_int32_is_dequantized_without_losing_digits(check: Any) -> None:
    x = np.array([2**31 - 1, -(2**31), 123456789, 16777217], np.int32)
    check("DequantizeLinear", x, np.array(0.1, np.float32))
    check("DequantizeLinear", x, np.array(0.1, np.float32), np.array(0, np.int32), engines=["reference"])


def test_a_scale_of_the_wrong_length_says_so(compute: Any) -> None:
    with pytest.raises(ExecutionError, match=r"fits neither the tensor nor its axis 1"):
        compute("QuantizeLinear", np.zeros((2, 3), np.float32), np.ones(4, np.float32), np.zeros(4, np.uint8))


@given(shape=st.sampled_from([(7,), (3, 4), (1,), (2, 0)]), shift=st.sampled_from([0.0, 5.0, -5.0]), seed=SEEDS)
def test_dynamic_quantization(check: Any, made: Any, shape: Any, shift: float, seed: int) -> None:
    x = made(np.random.default_rng(seed), shape, "float32") + np.float32(shift)
    check("DynamicQuantizeLinear", x, outputs=3, engines=["onnxruntime"])


def test_dynamic_quantization_of_zeros(check: Any) -> None:
    y, scale, zero = check("DynamicQuantizeLinear", np.zeros(4, np.float32), outputs=3, engines=["onnxruntime"])
    assert (y.tolist(), scale.item(), zero.item()) == ([0] * 4, 1.0, 0)


def test_blocks_that_do_not_divide_the_axis(check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    x, scale = made(rng, (3, 7), "float32"), rng.uniform(0.1, 0.5, (3, 2)).astype(np.float32)
    zero = made(rng, (3, 2), "int8")
    (codes,) = check("QuantizeLinear", x, scale, zero, axis=1, block_size=4, engines=["reference"])
    check("DequantizeLinear", codes, scale, zero, axis=1, block_size=4, engines=["reference"])
