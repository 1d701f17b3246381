"""Cast, CastLike and BitCast between every two types."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from exec.dtypes import TABLE, numpy_dtype, onnx_code
from exec.errors import ExecutionError

PLAIN = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
]
FLOAT8 = [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ]
SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, 2.5, 0.3, 448.0, 460.0, 1e5, -1e5, np.inf, -np.inf, np.nan, 6e-8], np.float32)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(PLAIN, PLAIN)))
def test_between_plain_types(check: Any, made: Any, source: str, target: str) -> None:
    x = made(np.random.default_rng(0), (40,), source, special=np.dtype(source).kind in "iu")
    if np.dtype(source).kind == "f" and np.dtype(target).kind == "u":
        x = np.abs(x)  # a negative float as an unsigned integer is undefined
    with np.errstate(over="ignore"):
        check("Cast", x, to=onnx_code(target))


@pytest.mark.parametrize("to", FLOAT8)
@pytest.mark.parametrize("saturate", [0, 1])
def test_to_float8_with_and_without_saturation(check: Any, to: int, saturate: int) -> None:
    (got,) = check("Cast", SPECIAL, to=to, saturate=saturate, engines=["reference"])
    assert got.dtype == numpy_dtype(to)
    largest = float(ml_dtypes.finfo(got.dtype).max)
    wide = got.astype(np.float32)
    if saturate:
        assert wide[[8, 9, 10, 11]].tolist() == [largest, -largest, largest, -largest]
    else:
        assert not np.isfinite(wide[10])
    assert np.isnan(wide[12])


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_to_powers_of_two(compute: Any, mode: str) -> None:
    exact = [2.0**k for k in (-127, -126, -1, 0, 5, 127)]
    x = np.array([*exact, 3.0, 5.0, 6.0, 0.75], np.float32)
    (got,) = compute("Cast", x, to=TensorProto.FLOAT8E8M0, round_mode=mode, opset=24)
    between = {"up": [4.0, 8.0, 8.0, 1.0], "down": [2.0, 4.0, 4.0, 0.5], "nearest": [4.0, 4.0, 8.0, 1.0]}[mode]
    assert got.astype(np.float64).tolist() == [*exact, *between]


def test_powers_of_two_at_the_ends(compute: Any) -> None:
    x = np.array([0.0, np.inf, 3.4e38, np.nan, 1e-45], np.float32)
    (full,) = compute("Cast", x, to=TensorProto.FLOAT8E8M0, opset=24)
    assert full.view(np.uint8).tolist() == [0, 254, 254, 255, 0]
    (open_ended,) = compute("Cast", x, to=TensorProto.FLOAT8E8M0, saturate=0, round_mode="nearest", opset=24)
    assert open_ended.view(np.uint8).tolist() == [255, 255, 255, 255, 255]


@pytest.mark.parametrize("to", [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2])
def test_integers_keep_their_low_bits(compute: Any, to: int) -> None:
    dtype = np.dtype(numpy_dtype(to))
    bits = next(row.bits for row in TABLE if row.code == to)
    x = np.arange(-40, 40, dtype=np.int16)
    (got,) = compute("Cast", x, to=to, opset=25)
    want = x & ((1 << bits) - 1)
    if not dtype.name.startswith("u"):
        want = np.where(want >= 1 << (bits - 1), want - (1 << bits), want)
    assert got.dtype == dtype
    assert got.astype(np.int16).tolist() == want.tolist()
    (back,) = compute("Cast", got, to=TensorProto.FLOAT, opset=25)
    assert back.tolist() == want.tolist()


@pytest.mark.parametrize(
    "row", [r for r in TABLE if r.is_float and r.bits < 32 and r.name != "float8_e8m0fnu"], ids=lambda r: r.name
)
def test_narrow_floats_there_and_back(compute: Any, row: Any) -> None:
    x = np.array([0.0, 1.0, -1.5, 2.0, 0.5], np.float32)
    (narrow,) = compute("Cast", x, to=row.code, opset=25)
    (back,) = compute("Cast", narrow, to=TensorProto.FLOAT, opset=25)
    assert narrow.dtype == row.numpy
    assert back.tolist() == x.tolist()


def test_bfloat16_rounds_to_even(compute: Any) -> None:
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x7F7FFFFF, 0x7FC00000], np.uint32)
    (got,) = compute("Cast", bits.view(np.float32), to=TensorProto.BFLOAT16)
    assert [hex(v) for v in got.view(np.uint16).tolist()[:5]] == ["0x3f80", "0x3f82", "0x3f81", "0x3f80", "0x7f80"]
    assert np.isnan(got.astype(np.float32)[5])


def test_strings_to_numbers_and_back(compute: Any) -> None:
    text = np.array([["3.14", "1e-5"], ["-INF", "nan"]], object)
    (got,) = compute("Cast", text, to=TensorProto.FLOAT)
    np.testing.assert_array_equal(got, np.array([[3.14, 1e-5], [-np.inf, np.nan]], np.float32))
    (exact,) = compute("Cast", np.array(["9007199254740993", "100.5"], object), to=TensorProto.INT64)
    assert exact.tolist() == [9007199254740993, 100]
    (back,) = compute("Cast", np.array([1.5, -2.0], np.float32), to=TensorProto.STRING)
    assert back.tolist() == ["1.5", "-2.0"]
    assert back.dtype == object


def test_words_that_are_no_numbers_are_refused(compute: Any) -> None:
    with pytest.raises(ValueError, match="pear"):
        compute("Cast", np.array(["pear"], object), to=TensorProto.FLOAT)


def test_the_first_version_names_its_type(compute: Any) -> None:
    (got,) = compute("Cast", np.array([1.9, -1.9], np.float32), opset=1, to="INT32")
    assert got.dtype == np.int32
    assert got.tolist() == [1, -1]


def test_an_unknown_type_is_named(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="type 99 is unknown"):
        compute("Cast", np.zeros(1), to=99)


def test_cast_like(check: Any) -> None:
    check("CastLike", np.array([1.7, -2.2], np.float32), np.zeros((), np.int32))
    check("CastLike", SPECIAL, np.zeros((), ml_dtypes.float8_e5m2), saturate=0, engines=["reference"])


def test_a_cast_to_its_own_type_is_no_copy(compute: Any) -> None:
    x = np.zeros(3, np.float32)
    assert np.shares_memory(compute("Cast", x, to=TensorProto.FLOAT)[0], x)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("int64", "float64"), ("int8", "uint8"), ("float16", ml_dtypes.bfloat16)],
)
def test_bit_cast(compute: Any, made: Any, source: str, target: Any) -> None:
    x = made(np.random.default_rng(0), (3, 4), source)
    (got,) = compute("BitCast", x.T, to=onnx_code(np.dtype(target)), opset=26)
    assert got.shape == (4, 3)
    assert got.tobytes() == np.ascontiguousarray(x.T).tobytes()
    assert compute("BitCast", x[0, 0, None].reshape(()), to=onnx_code(np.dtype(target)), opset=26)[0].shape == ()


def test_bits_of_another_width_are_refused(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="differ in width"):
        compute("BitCast", np.zeros(2, np.float32), to=TensorProto.INT64, opset=26)


def test_every_value_of_every_float8_survives(compute: Any) -> None:
    for code in FLOAT8:
        values = np.arange(256, dtype=np.uint8).view(numpy_dtype(code))
        (wide,) = compute("Cast", values, to=TensorProto.FLOAT)
        (back,) = compute("Cast", wide, to=code, saturate=0)
        same = (back.view(np.uint8) == values.view(np.uint8)) | np.isnan(wide)
        assert same.all()
        assert numpy_helper.from_array(back).data_type == code
