"""What a run may compute follows from what goes in, too: small values can make long work."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from exec.budget import Budget, Limits
from exec.effort import CALL, ELEMENT, work_of
from exec.engines.embedded import EmbeddedEngine
from exec.errors import BudgetExceeded
from exec.ir import load
from exec.session import Session

FEED = {"x": np.ones(2, np.float32)}
ENDLESS = (
    "m = Constant<value = int64 {9223372036854775807}>() go = Constant<value = bool {1}>() "
    "y = Loop(m, go, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Neg(v) }>"
)


def shape(name: str, *dims: int) -> str:
    return f"{name} = Constant<value = int64[{len(dims)}] {{{', '.join(map(str, dims))}}}>() "


def session(body: str, budget: Budget | None = None) -> Session:
    text = f'<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[N] y) {{ q = ReduceSum<keepdims = 0>(x) {body} }}'
    return Session(load(parser.parse_model(text)), budget=budget, kernels="numpy")


LONG = {
    "a view that is summed": shape("s", 100_000, 100_000) + "e = Expand(q, s) y = ReduceSum(e)",
    "a product of integers": shape("s", 2000, 2000) + "e = Expand(q, s) i = Cast<to = 7>(e) p = MatMul(i, i) y = Cast<to = 1>(p)",
    "a convolution": shape("s", 1, 1, 2000, 2000) + shape("t", 1, 1, 900, 900) + "a = Expand(q, s) b = Expand(q, t) y = Conv(a, b)",
    "a pool": shape("s", 1, 1, 2000, 2000) + "a = Expand(q, s) y = MaxPool<kernel_shape = [900, 900]>(a)",
    "boxes": shape("s", 1, 20000, 4) + shape("t", 1, 50, 20000)
    + "a = Expand(q, s) b = Expand(q, t) m = Constant<value = int64 {9}>() i = NonMaxSuppression(a, b, m) y = Cast<to = 1>(i)",
    "a long sequence": shape("s", 9_000_000, 1, 1) + shape("t", 1, 4, 1)
    + "a = Expand(q, s) b = Expand(q, t) y = LSTM<hidden_size = 1>(a, b, b)",
    "an endless loop": ENDLESS,
    "a loop in a loop": "m = Constant<value = int64 {20000}>() go = Constant<value = bool {1}>() "
    "y = Loop(m, go, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c) "
    "w = Loop(m, c, v) <body = b2 (int64 i2, bool c2, float[2] v2) => (bool d2, float[2] w2) { d2 = Identity(c2) w2 = Neg(v2) }> }>",
}  # fmt: skip


@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
def test_long_work_of_a_small_model_is_refused_before_it_begins(body: str) -> None:
    with pytest.raises(BudgetExceeded) as caught:
        session(body).run(FEED)
    assert "node" in caught.value.where


def test_a_loop_that_may_stop_is_run_until_it_does() -> None:
    stops = ENDLESS.replace("d = Identity(c)", "k = Constant<value = int64 {40}>() d = Less(i, k)")
    assert session(stops).run(FEED)["y"].tolist() == [-1.0, -1.0]


def test_a_chosen_number_of_multiply_adds_is_the_only_limit() -> None:
    view = shape("s", 1000, 1000) + "e = Expand(q, s) y = ReduceSum(e)"
    with pytest.raises(BudgetExceeded, match="multiply-adds"):
        session(view, Budget(Limits(multiply_adds=1000))).run(FEED)
    assert session(view, Budget(Limits(effort=None))).run(FEED)["y"].reshape(()) == 2e6


def test_each_lap_of_a_profile_has_the_limits_of_a_run() -> None:
    """A loop of 40,000 steps takes a fifth of what a run may: seven laps are seven runs."""
    loop = ENDLESS.replace(str(2**63 - 1), "40000")
    profile = EmbeddedEngine(session(loop).model, kernels="numpy").measure(FEED, 3)
    assert profile.runs == 3


def test_time_is_looked_at_between_operations() -> None:
    budget = Budget(Limits(seconds=0.0))
    with pytest.raises(BudgetExceeded, match="time"):
        session("y = Neg(x)", budget).run(FEED)


def test_work_is_a_number_per_call_per_element_and_per_multiply_add() -> None:
    a, b = np.zeros((2, 3, 4), np.float32), np.zeros((4, 5), np.float32)
    assert work_of("Relu", [a], {}) == CALL + 24 * ELEMENT
    assert work_of("MatMul", [a, b], {}) == CALL + 44 * ELEMENT + 2 * 3 * 4 * 5
    assert work_of("Gemm", [b, b], {"transB": 1}) == CALL + 40 * ELEMENT + 4 * 5 * 4
    x, w = np.zeros((1, 8, 10, 10), np.float32), np.zeros((16, 4, 3, 3), np.float32)
    assert work_of("Conv", [x, w], {"group": 2}) == CALL + (800 + 576) * ELEMENT + 576 * 8 * 8
    assert work_of("MatMul", [a.astype(np.int64), b], {}) > 30 * 2 * 3 * 4 * 5


def test_inputs_an_op_cannot_take_are_left_to_its_kernel() -> None:
    assert work_of("Conv", [np.zeros(3, np.float32)], {}) == CALL + 3 * ELEMENT
