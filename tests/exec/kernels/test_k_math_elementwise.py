"""Elementwise math: every type, broadcast, specials and overflow, against both references."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0, max_side=4)
SEEDS = st.integers(0, 1 << 16)

BINARY = ["Add", "Sub", "Mul", "Div"]
FLOAT_UNARY = [
    "Abs", "Neg", "Reciprocal", "Sqrt", "Exp", "Log", "Sign", "Ceil", "Floor", "Round", "Erf", "Sigmoid", "Tanh", "Relu",
    "Softsign", "Softplus", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Mish", "HardSwish",
]  # fmt: skip
BOUNDED = ["Asin", "Acos", "Atanh"]


@pytest.mark.parametrize("op", BINARY)
@given(shapes=SHAPES, dtype=st.sampled_from(["float32", "float64", "int32", "int64"]), seed=SEEDS)
def test_arithmetic_broadcasts_and_wraps(check: Any, made: Any, op: str, shapes: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (made(rng, shape, dtype, special=True) for shape in shapes.input_shapes)
    if op == "Div" and np.dtype(dtype).kind == "i":
        b = np.where(b == 0, 3, b).astype(dtype)
        b = np.where(b == -1, 2, b).astype(dtype)  # the smallest integer over -1 stops onnxruntime's process
        a = np.where(a == np.iinfo(dtype).min, 7, a).astype(dtype)
    check(op, a, b)


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "uint64"])
def test_small_and_unsigned_integers_wrap(check: Any, made: Any, op: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b = made(rng, (40,), dtype, special=True), made(rng, (40,), dtype, special=True)
    check(op, a, np.where(b == 0, 1, b).astype(dtype), engines=["reference"])


def test_integer_division_truncates_towards_zero(check: Any) -> None:
    a = np.array([7, -7, 7, -7, -9223372036854775808, 9223372036854775807], np.int64)
    b = np.array([2, 2, -2, -2, 3, -2], np.int64)
    (got,) = check("Div", a, b)
    assert got[:4].tolist() == [3, -3, -3, 3]


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", [*BINARY, "Pow"])
def test_narrow_floats_are_rounded_once(check: Any, made: Any, op: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = np.abs(made(rng, (50,), "float32")) + 0.5, made(rng, (50,), "float32")
    with np.errstate(over="ignore"):
        a, b = a.astype(dtype), b.astype(dtype)
    check(op, a, b, engines=["reference"])


@pytest.mark.parametrize("op", FLOAT_UNARY)
@given(
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=SEEDS,
)
def test_functions_of_one_operand(check: Any, made: Any, op: str, shape: Any, dtype: str, seed: int) -> None:
    x = made(np.random.default_rng(seed), shape, dtype, special=True)
    assume(op != "Softsign" or x.ndim)  # onnx.reference fails on 0-d
    check(op, x)


@pytest.mark.parametrize("op", BOUNDED)
def test_inverse_functions_are_nan_outside_their_range(check: Any, op: str) -> None:
    x = np.array([-2.0, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0, 1.5, np.nan], np.float32)
    (got,) = check(op, x)
    assert np.isnan(got[[0, 7, 8]]).all()


def test_acosh_is_nan_below_one(check: Any) -> None:
    check("Acosh", np.array([0.5, 1.0, 2.0, 1e30, np.nan], np.float32))


@pytest.mark.parametrize("op", [*FLOAT_UNARY, *BOUNDED])
def test_narrow_floats_go_through_float32(check: Any, op: str) -> None:
    x = (np.arange(-20, 21) / 21).astype(np.float16)
    check(op, x, engines=["reference"])


def test_erf_is_near_to_the_last_place(compute: Any) -> None:
    import math

    x = np.linspace(-5, 5, 20001, dtype=np.float32)
    (got,) = compute("Erf", x)
    exact = np.array([math.erf(v) for v in x.tolist()])
    assert np.max(np.abs(got - exact)) <= 2.5 * np.finfo(np.float32).epsneg
    (double,) = compute("Erf", x.astype(np.float64))
    assert np.array_equal(double, exact)


def test_a_sigmoid_keeps_its_tail(compute: Any) -> None:
    x = np.array([-15, -30, -60, -80], np.float32)
    (got,) = compute("Sigmoid", x)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.max(np.abs(got - exact) / exact) < 1e-5


ALPHAS = st.sampled_from([0.0, 0.01, 0.3, 1.0, 1.5, -0.5])


@given(alpha=ALPHAS, seed=SEEDS)
def test_activations_with_an_alpha(check: Any, made: Any, alpha: float, seed: int) -> None:
    x = made(np.random.default_rng(seed), (30,), "float32")
    check("LeakyRelu", x, alpha=alpha)
    check("Elu", x, alpha=alpha)
    check("ThresholdedRelu", x, alpha=alpha)
    check("HardSigmoid", x, alpha=alpha, beta=0.4)
    check("Selu", x, alpha=alpha, gamma=1.2)
    if alpha:
        check("Celu", x, alpha=alpha)
        check("Swish", x, alpha=alpha, opset=24, engines=["reference"])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_in_both_forms(check: Any, approximate: str) -> None:
    x = np.linspace(-6, 6, 301, dtype=np.float32)
    check("Gelu", x, approximate=approximate)
    check("Gelu", x.astype(np.float16), approximate=approximate, engines=["reference"])


@given(slope=st.sampled_from([(), (1,), (3, 1, 1), (4,), (1, 3, 2, 4)]), seed=SEEDS)
def test_prelu_broadcasts_its_slope(check: Any, made: Any, slope: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    check("PRelu", made(rng, (1, 3, 2, 4), "float32"), made(rng, slope, "float32"))


def test_prelu_before_opset_7_has_a_slope_per_channel(check: Any, made: Any) -> None:
    rng = np.random.default_rng(1)
    x, slope = made(rng, (2, 3, 4, 4), "float32"), made(rng, (3,), "float32")
    (new,) = check("PRelu", x, slope.reshape(3, 1, 1))
    (old,) = check("PRelu", x, slope, opset=6, engines=[])
    assert np.array_equal(old, new)


@given(
    low=st.sampled_from([None, -1.0, 2.0]),
    high=st.sampled_from([None, 1.0, -2.0]),
    dtype=st.sampled_from(["float32", "float64", "int32", "int8", "uint8"]),
    seed=SEEDS,
)
def test_clip_where_the_upper_bound_wins(check: Any, made: Any, low: Any, high: Any, dtype: str, seed: int) -> None:
    if np.dtype(dtype).kind == "u":
        low, high = (None if v is None else abs(v) for v in (low, high))
    x = made(np.random.default_rng(seed), (4, 5), dtype, special=np.dtype(dtype).kind == "f")
    bounds = [None if v is None else np.array(v, dtype) for v in (low, high)]
    while bounds and bounds[-1] is None:
        bounds.pop()
    check("Clip", x, *bounds, engines=["onnxruntime"])


def test_clip_with_attributes_before_opset_11(check: Any) -> None:
    x = np.array([-np.inf, -5, 0.5, 5, np.inf], np.float32)
    check("Clip", x, opset=6, min=-1.0, max=1.0)
    check("Clip", x, opset=6)


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "float32", "float64"])
def test_mod_has_the_sign_of_the_divisor_or_of_the_dividend(check: Any, fmod: int, dtype: str) -> None:
    if np.dtype(dtype).kind == "f" and not fmod:
        pytest.skip("floats need fmod=1 before opset 28")
    a = np.array([7, 7, 5, 0, 100], dtype)
    b = np.array([3, 2, 5, 4, 7], dtype)
    if np.dtype(dtype).kind != "u":
        a, b = np.concatenate((a, -a, a, -a)), np.concatenate((b, b, -b, -b))
    check("Mod", a, b, fmod=fmod)


def test_floored_mod_of_floats_since_opset_28(compute: Any) -> None:
    x = np.array([0.0, -0.0, np.inf, 5.0, 3.0, -3.0, 3.0, np.nan], np.float32)
    y = np.array([-2.0, 2.0, 2.0, 0.0, np.inf, np.inf, -np.inf, 1.0], np.float32)
    (got,) = compute("Mod", x, y, opset=28)
    want = np.array([-0.0, 0.0, np.nan, np.nan, 3.0, np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(got, want)
    assert np.signbit(got[0])
    assert not np.signbit(got[1])


@given(
    base=st.sampled_from(["float32", "float64", "int32", "int64"]),
    exponent=st.sampled_from(["float32", "float64", "int32", "int64"]),
    value=st.sampled_from([0, 1, 2, 3, 5]),
    seed=SEEDS,
)
def test_pow_has_the_type_of_its_base(check: Any, made: Any, base: str, exponent: str, value: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.abs(made(rng, (3, 4), base)) + np.array(1, base)
    check("Pow", x, np.array(value, exponent))
    check("Pow", x, np.array([[value], [2], [3]], exponent))


def test_an_integer_to_a_negative_power_is_truncated(check: Any) -> None:
    check("Pow", np.array([1, 2, -1, 5], np.int32), np.array(-1, np.int32), engines=["onnxruntime"])


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
@given(count=st.integers(1, 4), dtype=st.sampled_from(["float32", "float64"]), seed=SEEDS)
def test_variadic_ops_broadcast_and_let_nan_through(
    check: Any, made: Any, op: str, count: int, dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shapes = [(2, 3), (3,), (1, 1), ()]
    check(op, *(made(rng, shape, dtype, special=True) for shape in shapes[:count]))


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "float16"])
def test_extremes_of_integers(check: Any, made: Any, op: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    check(op, *(made(rng, (3, 4), dtype, special=np.dtype(dtype).kind != "f") for _ in range(3)))


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Div"])
def test_operands_were_lined_up_by_axis_before_opset_7(check: Any, made: Any, op: str) -> None:
    rng = np.random.default_rng(4)
    a, b = made(rng, (2, 3, 4), "float32"), made(rng, (3,), "float32")
    (old,) = check(op, a, b, opset=6, axis=1, broadcast=1, engines=[])
    (new,) = check(op, a, b.reshape(3, 1))
    assert np.array_equal(old, new)


def test_shapes_that_differ_needed_a_flag_before_opset_7(compute: Any) -> None:
    from exec.errors import ExecutionError

    with pytest.raises(ExecutionError, match="`broadcast` is not set"):
        compute("Add", np.zeros((2, 3), np.float32), np.zeros(3, np.float32), opset=6)
