"""What exporters spell out and a plan reads as one thing: the same numbers, one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exec.ir import load
from exec.session import Session

CUBES = {
    "power": "c = Pow(x, three) k = Mul(c, cubic)",
    "left": "a = Mul(x, x) c = Mul(a, x) k = Mul(cubic, c)",
    "scaled first": "a = Mul(cubic, x) c = Mul(x, a) k = Mul(x, c)",
}
SUMS = {"x first": "s = Add(x, k)", "x last": "s = Add(k, x)"}
ENDS = {
    "half last": "u = Mul(x, p) y = Mul(u, half)",
    "half on x": "u = Mul(half, x) y = Mul(u, p)",
    "half on tanh": "u = Mul(half, p) y = Mul(x, u)",
}
CONSTANTS = {
    "three": np.float32(3), "cubic": np.float32(0.044715), "linear": np.float32(np.sqrt(2 / np.pi)), "one": np.float32(1), "half": np.float32(0.5),
}  # fmt: skip
HEAD = "g (float[N, 40] x) => (float[N, 40] y)"


def ops_of(model: Any, feeds: dict[str, Any]) -> list[str]:
    session = Session(load(model), kernels="numpy")
    session.run(feeds)
    return [unit.op for plan in session._plans.values() for unit in plan.units]


@pytest.mark.parametrize("cube", CUBES)
@pytest.mark.parametrize("total", SUMS)
@pytest.mark.parametrize("end", ENDS)
def test_a_gelu_by_tanh_is_one(cube: str, total: str, end: str, proto: Any, agree: Any) -> None:
    text = f"{HEAD} {{ {CUBES[cube]} {SUMS[total]} i = Mul(s, linear) t = Tanh(i) p = Add(t, one) {ENDS[end]} }}"
    model = proto(text, **CONSTANTS)
    feeds = {"x": np.linspace(-12, 12, 200, dtype=np.float32).reshape(5, 40)}
    agree(model, feeds)
    assert set(ops_of(model, feeds)) == {"Gelu"}


def test_a_gelu_by_tanh_of_a_square_is_one(proto: Any, agree: Any) -> None:
    text = f"""{HEAD} {{ a = Mul(x, x) k = Mul(a, cubic) s = Add(one, k) i = Mul(x, linear) j = Mul(i, s)
        t = Tanh(j) p = Add(one, t) u = Mul(x, half) y = Mul(u, p) }}"""
    model = proto(text, **CONSTANTS)
    feeds = {"x": np.linspace(-12, 12, 200, dtype=np.float32).reshape(5, 40)}
    agree(model, feeds)
    assert set(ops_of(model, feeds)) == {"Gelu"}


@pytest.mark.parametrize("change", [{"cubic": np.float32(0.05)}, {"linear": np.float32(0.8)}, {"half": np.float32(1)}])
def test_what_only_looks_like_a_gelu_is_none(change: dict[str, Any], proto: Any, agree: Any) -> None:
    text = f"{HEAD} {{ {CUBES['power']} s = Add(x, k) i = Mul(s, linear) t = Tanh(i) p = Add(t, one) {ENDS['half last']} }}"
    model = proto(text, **{**CONSTANTS, **change})
    feeds = {"x": np.linspace(-5, 5, 80, dtype=np.float32).reshape(2, 40)}
    agree(model, feeds)
    assert "Gelu" not in ops_of(model, feeds)


@settings(max_examples=25)
@given(kind=st.sampled_from(["int32", "int64"]), rows=st.integers(1, 9), count=st.integers(1, 12), columns=st.integers(1, 9),
       turned=st.booleans(), seed=st.integers(0, 1 << 16))  # fmt: skip
def test_a_product_with_ones_and_zeros_is_a_look_up(
    kind: str, rows: int, count: int, columns: int, turned: bool, seed: int, proto: Any, agree: Any
) -> None:
    rng = np.random.default_rng(seed)
    inputs = "numbers, x" if turned else "x, numbers"
    text = f"g ({kind}[A, B, 1] x) => (float[A, B, M] y) {{ e = Equal({inputs}) c = Cast<to = 1>(e) y = MatMul(c, w) }}"
    numbers = np.arange(count, dtype=kind).reshape(1, 1, count)
    model = proto(text, numbers=numbers, w=rng.normal(size=(count, columns)).astype(np.float32))
    feeds = {"x": rng.integers(-2, count + 3, (2, rows, 1)).astype(kind)}
    feeds["x"][0, 0] = np.iinfo(kind).min
    agree(model, feeds, more=[{"x": feeds["x"][::-1]}])
    assert set(ops_of(model, feeds)) == {"LookUp"}


@pytest.mark.parametrize("wrong", ["a number twice", "infinity"])
def test_other_products_of_comparisons_stay(wrong: str, proto: Any, agree: Any) -> None:
    text = "g (int64[B, 1] x) => (float[B, 4] y) { e = Equal(x, numbers) c = Cast<to = 1>(e) y = MatMul(c, w) }"
    w = np.arange(12, dtype=np.float32).reshape(3, 4)
    numbers = np.array([[0, 1, 2]])
    if wrong == "infinity":
        w[1, 1] = np.inf
    else:
        numbers = np.array([[0, 1, 1]])
    model = proto(text, numbers=numbers, w=w)
    feeds = {"x": np.array([[0], [1], [2], [5]])}
    agree(model, feeds)
    assert "LookUp" not in ops_of(model, feeds)


@pytest.mark.parametrize("op", ["Tanh", "Erf", "Gelu", "Sigmoid"])
def test_functions_are_right_from_end_to_end(op: str, proto: Any) -> None:
    from math import erf

    x = np.concatenate([np.linspace(-20, 20, 4001), [0.0, -0.0, 1e-30, np.inf, -np.inf, np.nan]]).astype(np.float32)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        want = {
            "Tanh": lambda: np.tanh(wide), "Erf": lambda: np.vectorize(erf)(wide), "Sigmoid": lambda: 1 / (1 + np.exp(-wide)),
            "Gelu": lambda: 0.5 * wide * (1 + np.vectorize(erf)(wide / np.sqrt(2))),
        }[op]()  # fmt: skip
    model = proto(f"g (float[N] x) => (float[N] y) {{ a = Add(x, zero) y = {op}(a) }}", zero=np.float32(-0.0))
    for kernels in ("numpy", "compiled"):
        if kernels == "compiled":
            pytest.importorskip("numba")
        got = Session(load(model), kernels=kernels).run({"x": x})["y"]
        assert np.array_equal(np.isnan(got), np.isnan(want))
        close = np.isfinite(want)
        largest = 20 if op == "Gelu" else 1  # its last bit is that of x
        np.testing.assert_allclose(got[close], want[close], atol=8e-7 * largest, rtol=8e-7)
        if op != "Gelu":
            assert np.nanmax(np.abs(got)) <= 1.0
