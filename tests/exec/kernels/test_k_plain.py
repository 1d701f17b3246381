"""Plain kernels: the same bits whatever the shape, the layout and the neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.kernels.registry import find, registered
from passes.base import Safety

SEEDS = st.integers(0, 1 << 16)
OPSET = 21
SUMS = ["ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp"]


def plain(op: str, *inputs: Any, **attributes: Any) -> Any:
    entry = find("", op, OPSET, "plain")
    assert entry is not None
    return entry.function(*inputs, **attributes)


def drawn(seed: int, *shape: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(np.float32)


@given(rows=st.integers(1, 40), depth=st.integers(1, 300), columns=st.integers(1, 40), seed=SEEDS)
def test_a_row_has_the_bits_it_has_alone(rows: int, depth: int, columns: int, seed: int) -> None:
    a, b = drawn(seed, 3, rows, depth), drawn(seed + 1, depth, columns)
    whole = plain("MatMul", a, b)
    assert np.array_equal(whole[1, rows // 2], plain("MatMul", a[1, rows // 2], b))
    assert np.array_equal(whole.reshape(-1, columns), plain("MatMul", a.reshape(-1, depth), b))
    assert np.array_equal(whole[..., :1], plain("MatMul", a, b[:, :1]))


@given(seed=SEEDS)
def test_a_layout_changes_no_bit(seed: int) -> None:
    a, b = drawn(seed, 7, 65), drawn(seed + 1, 65, 9)
    want = plain("MatMul", a, b)
    assert np.array_equal(want, plain("MatMul", np.asfortranarray(a), np.asfortranarray(b)))
    assert np.array_equal(want.T, plain("MatMul", b.T, a.T))
    assert np.array_equal(want, plain("Gemm", a, np.ascontiguousarray(b.T), transB=1))
    assert np.array_equal(want, plain("Einsum", a, b, equation="ij,jk->ik"))


@given(alpha=st.sampled_from([1.0, 0.3]), beta=st.sampled_from([1.0, 0.7]), seed=SEEDS)
def test_a_gemm_has_the_bits_of_its_parts(alpha: float, beta: float, seed: int) -> None:
    a, b, c = drawn(seed, 7, 33), drawn(seed + 1, 33, 9), drawn(seed + 2, 9)
    parts = plain("MatMul", a, b) * np.float32(alpha) + c * np.float32(beta)
    assert np.array_equal(plain("Gemm", a, b, c, alpha=alpha, beta=beta), parts)


@pytest.mark.parametrize("op", SUMS)
@given(seed=SEEDS)
def test_a_sum_does_not_know_the_order_of_its_axes(op: str, seed: int) -> None:
    x = drawn(seed, 5, 12, 31)
    want = plain(op, x, np.array([0, 2]), keepdims=0)
    assert np.array_equal(want, plain(op, x.transpose(2, 1, 0), np.array([2, 0]), keepdims=0))
    assert np.array_equal(want, plain(op, np.asfortranarray(x), np.array([2, 0]), keepdims=0))
    assert np.array_equal(want, plain(op, x.transpose(1, 0, 2).reshape(12, -1), np.array([1]), keepdims=0))
    assert np.array_equal(want[4], plain(op, x[:, 4], keepdims=0))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@given(seed=SEEDS)
def test_a_softmax_does_not_know_its_axis(op: str, seed: int) -> None:
    x = drawn(seed, 4, 3, 50)
    want = plain(op, x, axis=2)
    assert np.array_equal(want, plain(op, np.ascontiguousarray(x.transpose(2, 0, 1)), axis=0).transpose(1, 2, 0))
    assert np.array_equal(want[1, 2], plain(op, x[1, 2], axis=0))


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_nothing_is_zero(shape: tuple[int, int]) -> None:
    assert np.array_equal(
        plain("MatMul", np.zeros(shape, np.float32), np.zeros((shape[1], 2), np.float32)), np.zeros((shape[0], 2))
    )
    assert plain("ReduceSum", np.zeros((0, 3), np.float32), np.array([0])).tolist() == [[0.0, 0.0, 0.0]]


def test_every_plain_kernel_is_near_its_fast_twin() -> None:
    x = np.abs(drawn(0, 6, 6)) + np.float32(0.1)
    given_inputs = {"MatMul": (x, x), "Gemm": (x, x), "Einsum": (x, x)}
    for entry in registered():
        if (
            entry.variant == "plain"
            and not entry.domain
            and entry.op in (*given_inputs, *SUMS, "Softmax", "LogSoftmax", "ReduceLogSum")
        ):
            fast = find("", entry.op, entry.since)
            assert fast is not None
            options = {"equation": "ij,jk->ik"} if entry.op == "Einsum" else {}
            inputs = given_inputs.get(entry.op, (x,))
            want, got = fast.function(*inputs, **options), entry.function(*inputs, **options)
            bound = Safety.ROUNDING.tolerance(want.dtype) * float(np.abs(want).max())
            np.testing.assert_allclose(got, want, rtol=0, atol=bound)
