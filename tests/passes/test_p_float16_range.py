"""What a narrow type cannot hold stays wide, and is named: large weights, small epsilons, sums of squares; bodies are converted, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from exec.ir import load
from passes.base import Safety
from passes.convert.float16 import Narrow, NarrowResult, to_float16
from passes.selftest import model_of, run

ROUNDING = Safety.ROUNDING.tolerance(np.dtype(np.float16), whole=True)


def converted(body: str, opset: int = 17, dtype: Narrow = "float16") -> tuple[onnx.ModelProto, NarrowResult]:
    proto = model_of(body, opset)
    result = to_float16(load(proto), dtype)
    onnx.checker.check_model(result.model.to_proto(), full_check=True)
    return proto, result


def same(proto: onnx.ModelProto, result: NarrowResult, **feeds: Any) -> None:
    got = run(result.model.to_proto(), feeds)
    for name, want in run(proto, feeds).items():
        np.testing.assert_allclose(got[name], want, rtol=ROUNDING, atol=ROUNDING * np.abs(want).max())


def reasons(result: NarrowResult) -> dict[str, str]:
    return {name.split("_")[0]: why for name, why in result.kept}


def test_a_variance_beyond_the_range_keeps_its_normalization_wide() -> None:
    text = """ g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2] s = {300, 1}, float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {90000, 1}> {
        a = Relu (x)  y = BatchNormalization (a, s, b, m, v) } """
    proto, result = converted(text)
    assert reasons(result) == {"BatchNormalization": "v holds 9e+04, and the largest float16 is 65504"}
    assert not result.clipped
    same(proto, result, x=np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2))


def test_bfloat16_holds_what_float16_does_not() -> None:
    text = " g (float[2] x) => (float[2] y) <float[2] k = {100000, 1}> { y = Mul (x, k) } "
    assert not converted(text, 24, "bfloat16")[1].kept
    proto, result = converted(text)
    assert reasons(result) == {"Mul": "k holds 1e+05, and the largest float16 is 65504"}
    same(proto, result, x=np.float32([2, 3]))


@pytest.mark.parametrize("mask", ["-3.4e38", "-1e30"])
def test_a_mask_that_stands_for_minus_infinity_is_the_largest_number_there_is(mask: str) -> None:
    text = f" g (float[3] x) => (float[3] y) <bool[3] c = {{1, 0, 1}}, float n = {{{mask}}}> {{ a = Where (c, x, n)  y = Softmax (a) }} "
    proto, result = converted(text)
    assert not result.kept
    assert result.clipped == 1
    same(proto, result, x=np.float32([1, 2, 3]))


@pytest.mark.parametrize(
    "body",
    [
        "n = ReduceSum <keepdims = 1> (x, ax)  a = Add (n, eps)  y = Div (x, a)",
        "n = ReduceSum <keepdims = 1> (x, ax)  a = Max (n, eps)  b = Expand (a, s)  y = Div (x, b)",
        "n = ReduceSum <keepdims = 1> (x, ax)  a = Clip (n, eps)  r = Reciprocal (a)  y = Mul (x, r)",
        "n = ReduceL2 <axes = [-1]> (x)  a = Clip (n, eps)  y = Div (x, a)",
    ],
)
def test_an_epsilon_that_would_be_zero_keeps_the_division_wide(body: str) -> None:
    head = "g (float[2,3] x) => (float[2,3] y) <int64[1] ax = {-1}, float eps = {1e-12}, int64[2] s = {2, 3}>"
    proto, result = converted(f"{head} {{ {body} }}")
    last = body.rsplit("=", 1)[1].split()[0]
    assert reasons(result)[last] in (
        "1e-12 would be 0 in float16, and something is divided by it",
        "it divides by a sum of squares",
    )
    same(proto, result, x=np.float32([[0, 0, 0], [1, 2, 3]]))


def test_a_small_number_nothing_is_divided_by_may_vanish() -> None:
    text = " g (float[2] x) => (float[2] y) <float e = {1e-12}> { a = Add (x, e)  y = Relu (a) } "
    assert not converted(text)[1].kept


@pytest.mark.parametrize(
    "square",
    [
        "d = Sub (x, m)  p = Pow (d, two)  v = ReduceMean <axes = [-1]> (p)",
        "d = Sub (x, m)  p = Mul (x, x)  q = ReduceMean <axes = [-1]> (p)  r = Mul (m, m)  v = Sub (q, r)",
    ],
)
def test_the_statistics_of_a_normalization_are_computed_wide(square: str) -> None:
    text = f""" g (float[2,8] x) => (float[2,8] y) <float two = {{2}}, float eps = {{0.00001}}> {{
        m = ReduceMean <axes = [-1]> (x)  {square}  e = Add (v, eps)  s = Sqrt (e)  y = Div (d, s) }} """
    proto, result = converted(text)
    assert {"ReduceMean", "Sqrt", "Div"} <= set(reasons(result))
    assert "Sub" not in reasons(result) or "Mul" in square
    same(proto, result, x=np.linspace(-2000, 2000, 16, dtype=np.float32).reshape(2, 8))


BRANCHES = """ g (bool c, float[2,3] x) => (float[2,3] y) <float[3,3] w> { a = Relu (x)
    y = If (c) <then_branch = t () => (float[2,3] u) { b = MatMul (a, w)  u = Exp (b) }, else_branch = e () => (float[2,3] u2) { d = MatMul (a, w)  u2 = Neg (d) }> } """


@pytest.mark.parametrize("chosen", [True, False])
def test_what_branches_compute_is_narrow(chosen: bool) -> None:
    proto, result = converted(BRANCHES)
    assert list(reasons(result)) == ["If"]
    branch = next(n for n in result.model.graph.nodes if n.op == "If").attrs["then_branch"]
    product = next(n for n in branch.nodes if n.op == "MatMul")
    assert product.inputs[1].dtype == np.float16
    assert branch.outputs[0].dtype == np.float32
    same(proto, result, c=np.array(chosen), x=np.float32([[1, -2, 3], [0.5, 0.25, -1]]) / 4)


def test_what_a_loop_carries_stays_float32() -> None:
    text = """ g (float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}, float[2] k = {0.5, 2}> {
        y = Loop (n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool c2, float[2] t) { c2 = Identity (c)  m = Mul (s, k)  t = Add (m, x) }> } """
    proto, result = converted(text)
    body = next(n for n in result.model.graph.nodes if n.op == "Loop").attrs["body"]
    assert body.inputs[2].dtype == body.outputs[1].dtype == np.float32
    assert next(n for n in body.nodes if n.op == "Mul").inputs[1].dtype == np.float16
    same(proto, result, x=np.float32([1, 2]))


def test_a_branch_that_hands_out_an_outer_value_hands_it_out_as_float32() -> None:
    text = """ g (bool c, float[2] x) => (float[2] y) { a = Exp (x)
        y = If (c) <then_branch = t () => (float[2] a) { }, else_branch = e () => (float[2] v) { v = Neg (a) }> } """
    proto = model_of(text, 17)
    result = to_float16(load(proto))
    same(proto, result, c=np.array(True), x=np.float32([1, 2]))
