"""Plans: made once per signature, one arena, every value right however often and with whatever inputs they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from exec.ir import load
from exec.metrics import difference
from exec.session import MOST_FIXED, MOST_PLANS, Session

Open = Callable[..., Session]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def plan_of(session: Session, **feeds: Any) -> Any:
    with session.ready(feeds) as (plan, _):
        return plan


def steps_of(session: Session, **feeds: Any) -> int:
    return len(plan_of(session, **feeds).steps)


def test_one_plan_per_signature(session: Open) -> None:
    opened = session("g (float[N, M] x) => (float[N, M] y) { y = Neg(x) }")
    first = plan_of(opened, x=X)
    assert plan_of(opened, x=X + 1) is first
    assert plan_of(opened, x=X[:2]) is not first
    assert plan_of(opened, x=X) is first


def test_plans_of_many_signatures_do_not_pile_up(session: Open) -> None:
    opened = session("g (float[N, M] x) => (float[N, M] y) { y = Neg(x) }")
    for size in (*range(1, 40), 1, 2):
        x = np.ones((size, 2), np.float32)
        for _ in range(2):
            assert np.array_equal(opened.run({"x": x})["y"], -x)
    assert max(len(opened._plans), len(opened._traces), len(opened._again)) <= MOST_PLANS


def test_shape_arithmetic_costs_no_step(session: Open) -> None:
    text = """g (float[N, M] x) => (float[A, B] y) <int64[1] zero = {0}, int64[1] all = {-1}, int64 one = {1}>
    { s = Shape(x) m = Gather<axis = 0>(s, zero) mm = Mul(m, m) d = Div(mm, m) k = Concat<axis = 0>(d, all)
      r = Reshape(x, k) y = Exp(r) }"""
    opened = session(text)
    assert steps_of(opened, x=X) == 1
    for x in (X, X[:, :2], X):
        np.testing.assert_allclose(opened.run({"x": x})["y"], np.exp(x), rtol=1e-6)


def test_views_cost_no_step(session: Open) -> None:
    text = """g (float[3, 4] x) => (float[2, 6] y) <int64[2] s = {2, 6}, int64[1] a = {0}, int64[2] t = {4, 3}>
    { e = Exp(x) f = Flatten(e) u = Unsqueeze(f, a) q = Squeeze(u, a) r = Reshape(q, t) i = Identity(r) z = Reshape(i, s) y = Neg(z) }"""
    opened = session(text)
    assert steps_of(opened, x=X) <= 2
    np.testing.assert_allclose(opened.run({"x": X})["y"], -np.exp(X).reshape(2, 6), rtol=1e-6)


def test_constants_are_computed_once(session: Open) -> None:
    opened = session("g (float[N] x) => (float[N] y) <float c = {2}> { a = Exp(c) b = Sqrt(a) y = Mul(x, b) }")
    assert steps_of(opened, x=X[0]) == 1


def test_the_arena_is_used_again(session: Open) -> None:
    chain = " ".join(f"t{k + 1} = {'Exp' if k % 2 else 'Neg'}(t{k})" for k in range(30))
    text = f"g (float[N] x) => (float[N] y) {{ t0 = Softmax(x) {chain} y = Softmax(t30) }}"
    plan = plan_of(session(text, fuse=False), x=np.zeros(1000, np.float32))
    assert plan.arena_bytes <= 4 * 4096


def test_a_value_read_later_is_not_overwritten(session: Open, agree: Any, proto: Any) -> None:
    text = """g (float[3, 4] x) => (float[3, 4] y, float[3, 4] a, float[4, 3] v)
    { a = Exp(x) b = Neg(a) c = Add(b, a) v = Transpose(a) d = Relu(c) e = Mul(d, b) f = Add(e, x) y = Sub(f, a) }"""
    agree(proto(text), {"x": X}, engine="reference")


def test_an_input_that_is_also_read_late_is_left_alone(agree: Any, proto: Any) -> None:
    text = (
        "g (float[3, 4] x) => (float[3, 4] y, float[3, 4] z) { a = Relu(x) b = Neg(a) y = Add(b, x) z = Identity(x) }"
    )
    agree(proto(text), {"x": X}, engine="reference", more=[{"x": X * 2}])


def test_a_view_keeps_its_base_alive(agree: Any, proto: Any) -> None:
    text = """g (float[3, 4] x) => (float[4, 3] y) <int64[2] s = {4, 3}>
    { a = Exp(x) v = Reshape(a, s) b = Neg(a) c = Exp(b) d = Relu(c) e = Reshape(d, s) y = Add(v, e) }"""
    agree(proto(text), {"x": X}, engine="reference")


def test_an_output_under_two_names_is_given_twice(agree: Any, proto: Any) -> None:
    text = "g (float[3, 4] x) => (float[3, 4] y, float[3, 4] z, float[12] w) <int64[1] s = {12}> { y = Exp(x) z = Identity(y) w = Reshape(y, s) }"
    got = agree(proto(text), {"x": X}, engine="reference")
    assert not np.shares_memory(got["y"], got["z"])


@given(data=st.data(), seed=st.integers(0, 1 << 16))
def test_a_random_graph_of_small_ops_is_right(data: st.DataObject, seed: int, agree: Any, proto: Any) -> None:
    unary = ["Neg", "Exp", "Relu", "Sigmoid", "Tanh", "Abs", "Identity", "Softmax", "Erf", "HardSwish", "LeakyRelu"]
    binary = ["Add", "Sub", "Mul", "Max", "Min"]
    values, body = ["x", "w", "c"], []
    for k in range(data.draw(st.integers(1, 14))):
        name = f"v{k}"
        choice = data.draw(st.integers(0, 5))
        pick = st.sampled_from(values)
        if choice < 2:
            body.append(f"{name} = {data.draw(st.sampled_from(unary))}({data.draw(pick)})")
        elif choice < 4:
            body.append(f"{name} = {data.draw(st.sampled_from(binary))}({data.draw(pick)}, {data.draw(pick)})")
        elif choice == 4:
            body.append(f"{name}t = Transpose({data.draw(pick)}) {name} = Transpose({name}t)")
        else:
            body.append(
                f"{name}a, {name}b = Split<axis = 1, num_outputs = 2>({data.draw(pick)}) {name} = Concat<axis = 1>({name}b, {name}a)"
            )
        values.append(name)
    outputs = data.draw(st.lists(st.sampled_from(values[3:]), min_size=1, max_size=3, unique=True))
    tail = " ".join(f"{name}_out = Identity({name})" for name in outputs)
    results = ", ".join(f"float[4, 4] {name}_out" for name in outputs)
    rng = np.random.default_rng(seed)
    x, w, c = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 4), (4, 4), (4, 4)))
    model = proto(f"g (float[4, 4] x, float[4, 4] w) => ({results}) {{ {' '.join(body)} {tail} }}", c=c)
    with np.errstate(all="ignore"):
        agree(model, {"x": x, "w": w}, engine="reference", more=[{"x": w, "w": x}], fuse=(True,))


# What depends on data


def test_shapes_that_depend_on_data_may_change_every_run(agree: Any, proto: Any) -> None:
    text = """g (float[3, 4] x) => (float[K] y, int64 n) <int64[1] one = {-1}, float zero = {0}>
    { m = Greater(x, zero) f = Reshape(x, one) b = Reshape(m, one) k = Compress(f, b) e = Exp(k) y = Neg(e) n = Size(k) }"""
    agree(proto(text), {"x": X}, engine="reference", more=[{"x": X * 0}, {"x": -X}, {"x": X + 5}])


def test_static_work_around_data_dependent_work_is_planned(agree: Any, proto: Any) -> None:
    text = """g (float[3, 4] x) => (float[3, 4] y, int64[2, K] i)
    { a = Exp(x) r = Relu(x) i = NonZero(r) s = Shape(i) c = Cast<to = 1>(s) m = ReduceSum<keepdims = 0>(c) b = Mul(a, m) y = Neg(b) }"""
    agree(proto(text), {"x": X}, engine="reference", more=[{"x": -X}, {"x": X * 0}])


def branches(proto: Any) -> Any:
    text = "g (float[3, 4] x, bool c) => (float[3, 4] y) { a = Exp(x) y = Neg(a) }"
    model = proto(text)

    def branch(op: str) -> Any:
        nodes = [helper.make_node(op, ["a"], ["t"]), helper.make_node("Add", ["t", "x"], ["r"])]
        return helper.make_graph(nodes, op, [], [helper.make_tensor_value_info("r", 1, [3, 4])])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))
    del model.graph.node[1]
    model.graph.node.append(node)
    return model


def test_an_if_on_an_input_has_one_plan_per_branch_and_costs_nothing(agree: Any, proto: Any) -> None:
    model = branches(proto)
    yes, no = np.array(True), np.array(False)
    agree(model, {"x": X, "c": yes}, engine="reference", more=[{"x": X, "c": no}, {"x": X * 2, "c": yes}])
    opened = Session(load(model), kernels="numpy")
    assert {unit.op for unit in plan_of(opened, x=X, c=yes).units}.isdisjoint({"If"})


def test_an_if_on_data_takes_the_branch_of_the_day(agree: Any, proto: Any) -> None:
    model = branches(proto)
    del model.graph.input[1]
    condition = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("CastLike", ["s", "b"], ["c"]),
    ]
    model.graph.initializer.append(helper.make_tensor("b", 9, [], [True]))
    for node in reversed(condition):
        model.graph.node.insert(0, node)
    agree(model, {"x": X + 1}, engine="reference", more=[{"x": X * 0}, {"x": X + 1}])


def test_a_loop_sees_values_around_it(agree: Any, proto: Any) -> None:
    model = proto("g (float[3, 4] x, int64 n) => (float[3, 4] y, float[K, 3, 4] all) { w = Exp(x) }")
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["state", "half"], ["t"]),
            helper.make_node("Add", ["t", "w"], ["next"]),
            helper.make_node("Identity", ["go"], ["still"]),
            helper.make_node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("state", 1, [3, 4])],
        [helper.make_tensor_value_info("still", 9, []), helper.make_tensor_value_info("next", 1, [3, 4]),
         helper.make_tensor_value_info("seen", 1, [3, 4])],
        [helper.make_tensor("half", 1, [], [0.5])],
    )  # fmt: skip
    model.graph.node.append(helper.make_node("Loop", ["n", "", "x"], ["y", "all"], body=body))
    feeds = [{"x": X * k, "n": np.array(n)} for k, n in ((1, 3), (2, 3), (1, 0), (1, 5))]
    agree(model, feeds[0], more=feeds[1:])


def test_scalar_inputs_get_plans_of_their_own_until_there_are_too_many(session: Open) -> None:
    text = "g (float[3, 4] x, int64 n) => (float[3, K] y) <int64[1] one = {1}, int64[1] zero = {0}> { m = Reshape(n, one) y = Slice(x, zero, m, one) }"
    opened = session(text)
    for n in [*range(5)] * 3:
        assert np.array_equal(opened.run({"x": X, "n": np.array(n)})["y"], X[:, :n])
    assert len(opened._seen["n"]) == MOST_FIXED


def test_a_shape_that_changes_against_the_plan_is_found_out(session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from exec import trace

    # An op whose shape depends on data and that the table does not know.
    table = {name: where for name, where in trace.SHAPED_BY.items() if name != "Compress"}
    monkeypatch.setattr(trace, "SHAPED_BY", table)
    text = "g (float[4] x, bool[4] m) => (float[K] y) { a = Exp(x) k = Compress(a, m) y = Neg(k) }"
    opened = session(text)
    for mask in ([1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]):
        m = np.array(mask, bool)
        np.testing.assert_allclose(opened.run({"x": X[0], "m": m})["y"], -np.exp(X[0][m]), rtol=1e-6)


# Sharing and memory


def test_plans_of_two_sizes_share_packed_weights(session: Open) -> None:
    w = np.ones((64, 8, 3, 3), np.float32)
    opened = session("g (float[N, 8, H, H] x) => (float[N, 64, K, K] y) { y = Conv(x, w) }", w=w)
    plan_of(opened, x=np.ones((1, 8, 9, 9), np.float32))
    packed = opened.packs.nbytes
    plan_of(opened, x=np.ones((2, 8, 9, 9), np.float32))
    assert opened.packs.nbytes == packed > 0


def test_live_bytes_know_what_is_alive_at_each_step(session: Open) -> None:
    opened = session(
        "g (float[256] x) => (float[256] y) { a = Softmax(x) b = Exp(a) c = Softmax(b) y = Add(c, a) }", fuse=False
    )
    plan = plan_of(opened, x=np.zeros(256, np.float32))
    assert len(plan.live_bytes) == len(plan.steps)
    assert max(plan.live_bytes) <= plan.arena_bytes
    assert min(plan.live_bytes) >= 1024


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_after_every_step(dtype: str, session: Open, proto: Any) -> None:
    text = f"g ({dtype}[64] x, {dtype}[64] w) => ({dtype}[64] y) {{ a = Mul(x, w) b = Add(a, w) c = Sub(b, x) y = Identity(c) }}"
    kind = np.dtype(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=64).astype(kind) for _ in range(2))
    want = ((x * w).astype(kind) + w).astype(kind) - x
    for kernels in ("numpy", "auto"):
        alone, fused = (session(text, kernels=kernels, fuse=fuse) for fuse in (False, True))
        for _ in range(2):
            assert np.array_equal(alone.run({"x": x, "w": w})["y"], want)
            got = fused.run({"x": x, "w": w})["y"]
            assert got.dtype == kind
            assert difference(want, got).within(float(ml_dtypes.finfo(kind).eps))


def test_special_floats_go_through_fused_steps(agree: Any, proto: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-40], np.float32)
    for op in ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "HardSigmoid", "HardSwish", "LeakyRelu", "Gelu"):
        text = f"g (float[8] x) => (float[8] y) <float one = {{1}}> {{ a = {op}(x) y = Mul(a, one) }}"
        agree(proto(text), {"x": x}, engine="reference")
