"""Comparisons, truth values and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0, max_side=3)


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
@given(shapes=SHAPES, seed=SEEDS)
def test_truth_values(check: Any, made: Any, op: str, shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(op, *(made(rng, shape, "bool") for shape in shapes.input_shapes))


def test_not(check: Any) -> None:
    check("Not", np.array([[True, False]]))
    check("Not", np.array(True))


@pytest.mark.parametrize("op", ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
@given(shapes=SHAPES, dtype=st.sampled_from(["float32", "float64", "int32", "int64"]), seed=SEEDS)
def test_comparisons(check: Any, made: Any, op: str, shapes: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(op, *(made(rng, shape, dtype, special=np.dtype(dtype).kind == "f") for shape in shapes.input_shapes))


@pytest.mark.parametrize("op", ["GreaterOrEqual", "LessOrEqual"])
def test_nan_compares_to_nothing(check: Any, op: str) -> None:
    x = np.array([np.nan, 1.0], np.float32)
    assert check(op, x, x)[0].tolist() == [False, True]


def test_strings_are_equal_by_their_characters(check: Any) -> None:
    a = np.array([["a", "b"], ["c", "a"]], object)
    (got,) = check("Equal", a, np.array(["a", "b"], object))
    assert got.dtype == np.bool_


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_bits(check: Any, made: Any, op: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    check(op, made(rng, (3, 1), dtype, special=True), made(rng, (4,), dtype, special=True))
    check("BitwiseNot", made(rng, (5,), dtype, special=True))


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_shifts_of_unsigned_integers(check: Any, made: Any, direction: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    by = rng.integers(0, np.dtype(dtype).itemsize * 8, (20,)).astype(dtype)
    check("BitShift", made(rng, (20,), dtype, special=True), by, direction=direction)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_shifts_of_signed_integers_draw_in_the_sign(compute: Any, dtype: str) -> None:
    bits = np.dtype(dtype).itemsize * 8
    x = np.array([-16, 16, -16, 16, -16, -1], dtype)
    by = np.array([2, 2, bits, bits, -1, bits - 1], dtype)
    (right,) = compute("BitShift", x, by, direction="RIGHT", opset=28)
    assert right.tolist() == [-4, 4, -1, 0, -1, -1]
    (left,) = compute("BitShift", x[:5], by[:5], direction="LEFT", opset=28)
    assert left.tolist() == [-64, 64, 0, 0, 0]


def test_a_shift_to_nowhere_is_refused(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="'UP' is unknown"):
        compute("BitShift", np.zeros(1, np.uint8), np.zeros(1, np.uint8), direction="UP")


@pytest.mark.parametrize("op", ["And", "Equal", "Less"])
def test_operands_were_lined_up_by_axis_before_opset_7(compute: Any, made: Any, op: str) -> None:
    rng = np.random.default_rng(0)
    dtype = "bool" if op == "And" else "int32"
    a, b = made(rng, (2, 3, 4), dtype), made(rng, (3,), dtype)
    (old,) = compute(op, a, b, opset=6, axis=1, broadcast=1)
    (new,) = compute(op, a, b.reshape(3, 1), opset=13)
    assert np.array_equal(old, new)
