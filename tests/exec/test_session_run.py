"""What a session promises: outputs by name, any intermediate, feeds that are checked, inputs left alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, parser

from exec.budget import Budget, Limits
from exec.errors import BudgetExceeded, Cancelled, EngineMissing, ExecutionError, FeedError, OptionError, UnsupportedOp
from exec.ir import load
from exec.session import Session, chosen_kernels

Open = Callable[..., Session]
CHAIN = "g (float[N, 3] x) => (float[N, 3] z, float[N, 3] y) { a = Neg(x) y = Exp(a) z = Sqrt(y) }"
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def test_outputs_come_in_the_models_order(session: Open) -> None:
    got = session(CHAIN).run({"x": X})
    assert list(got) == ["z", "y"]
    np.testing.assert_allclose(got["y"], np.exp(-X), rtol=1e-6)


def test_any_value_can_be_asked_for_by_name(session: Open) -> None:
    opened = session(CHAIN)
    assert np.array_equal(opened.run({"x": X}, ["a"])["a"], -X)
    assert list(opened.run({"x": X}, ["y", "x", "a"])) == ["y", "x", "a"]
    assert list(opened.run({"x": X})) == ["z", "y"]


def test_an_unknown_output_is_an_error_that_knows_the_nearest(session: Open) -> None:
    with pytest.raises(OptionError, match="the model has no value 'zz'") as error:
        session(CHAIN).run({"x": X}, ["zz"])
    assert "z" in str(error.value.hint)


def test_outputs_belong_to_the_caller(session: Open) -> None:
    opened = session("g (float[2, 3] x) => (float[2, 3] y, float[2, 3] w) { y = Identity(x) w = Neg(x) }")
    first = opened.run({"x": X})
    kept = {name: value.copy() for name, value in first.items()}
    opened.run({"x": X + 1})
    assert all(np.array_equal(first[name], kept[name]) for name in kept)
    for value in first.values():
        value[...] = 7
    assert not np.shares_memory(first["y"], X)
    assert np.array_equal(opened.run({"x": X})["y"], X)


def test_a_constant_output_is_a_copy(session: Open) -> None:
    opened = session("g (float[1] x) => (float[2] y) <float[2] c = {1, 2}> { y = Neg(c) }")
    opened.run({"x": X[0, :1]})["y"][...] = 9
    assert opened.run({"x": X[0, :1]})["y"].tolist() == [-1, -2]


@pytest.mark.parametrize("layout", ["reversed", "transposed", "strided", "readonly"])
def test_an_input_may_lie_in_memory_as_it_likes(session: Open, layout: str) -> None:
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = {"reversed": base[::-1, ::-1][:2, :3], "transposed": base.T[:2, :3], "strided": base[::2, ::2]}.get(layout, X)
    x = x if layout != "readonly" else X.copy()
    x.flags.writeable = layout != "readonly"
    for _ in range(2):
        assert np.array_equal(session(CHAIN).run({"x": x}, ["a"])["a"], -x)


@pytest.mark.parametrize(
    ("feeds", "what", "why"),
    [
        ({}, "input 'x' is missing", "expected float32[N,3]; given: nothing"),
        ({"X": X}, "the model has no input 'X'", "its inputs are x"),
        ({"x": X.astype(np.float64)}, "input 'x' has another element type", "expected float32[N,3], got float64[2,3]"),
        ({"x": X[0]}, "input 'x' has another shape", "expected float32[N,3], got float32[3]"),
        ({"x": X.T}, "input 'x' has another shape", "expected float32[N,3], got float32[3,2]"),
        ({"x": "text"}, "input 'x' is no array", "expected float32[N,3], got str"),
    ],
)
def test_a_feed_that_does_not_fit_is_named(session: Open, feeds: dict[str, Any], what: str, why: str) -> None:
    with pytest.raises(FeedError) as error:
        session(CHAIN).run(feeds)
    assert (error.value.what, error.value.why) == (what, why)


def test_python_numbers_are_arrays_of_the_inputs_type(session: Open) -> None:
    assert session(CHAIN).run({"x": [[1, 2, 3]]}, ["a"])["a"].dtype == np.float32


def test_an_initializer_that_is_an_input_has_a_default(proto: Any) -> None:
    model = proto("g (float[2] x, float[2] w) => (float[2] y) { y = Mul(x, w) }", w=np.array([2, 3], np.float32))
    opened = Session(load(model), kernels="numpy")
    x = np.array([1, 1], np.float32)
    for _ in range(2):
        assert opened.run({"x": x})["y"].tolist() == [2, 3]
        assert opened.run({"x": x, "w": np.array([5, 7], np.float32)})["y"].tolist() == [5, 7]


def test_a_hook_sees_every_node_in_order(session: Open) -> None:
    opened = session(
        "g (float[2, 3] x) => (float[2, 3] z) <float c = {2}> { a, b = Dropout(x) d = Neg(c) y = Mul(a, d) z = Exp(y) }"
    )
    seen: list[tuple[str, list[str]]] = []
    values: dict[str, Any] = {}

    def hook(node: Any, outputs: Any) -> None:
        seen.append((node.op, list(outputs)))
        values.update({name: value.copy() for name, value in outputs.items()})

    got = opened.run({"x": X}, hook=hook)
    assert sorted(op for op, _ in seen) == ["Dropout", "Exp", "Mul", "Neg"]
    assert np.array_equal(values["y"], X * -2)
    assert np.array_equal(got["z"], values["z"])


def test_a_hook_sees_inside_functions_and_is_not_needed_again(session: Open) -> None:
    opened = session(CHAIN)
    seen: list[str] = []
    opened.run({"x": X}, hook=lambda node, outputs: seen.extend(outputs))
    opened.run({"x": X})
    assert seen == ["a", "y", "z"]


def test_values_come_one_by_one_in_the_order_they_are_made(session: Open) -> None:
    opened = session(CHAIN)
    got = list(opened.values({"x": X}, ["z", "a", "x"]))
    assert [name for name, _ in got] == ["x", "a", "z"]
    assert np.array_equal(got[1][1], -X)


def test_a_cancelled_run_stops(session: Open) -> None:
    with pytest.raises(Cancelled):
        session(CHAIN).run({"x": X}, cancel=lambda: True)


@pytest.mark.parametrize("kernels", ["numpy", "plain"])
def test_random_ops_draw_the_same_numbers_in_every_run(session: Open, kernels: str) -> None:
    text = "g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) { y = RandomNormalLike(x) z = RandomUniformLike(x) }"
    first = session(text, kernels=kernels).run({"x": X})
    opened = session(text, kernels=kernels)
    for _ in range(3):
        again = opened.run({"x": X})
        assert np.array_equal(first["y"], again["y"])
        assert np.array_equal(first["z"], again["z"])
    other = session(text, kernels=kernels, seed=1).run({"x": X})
    assert not np.array_equal(first["y"], other["y"])


def test_a_seed_in_the_node_decides(session: Open) -> None:
    text = "g (float[2, 3] x) => (float[2, 3] y) { y = RandomNormalLike <seed = 3.0> (x) }"
    first, second = session(text).run({"x": X})["y"], session(text, seed=5).run({"x": X})["y"]
    assert np.array_equal(first, second)


def test_a_graph_without_nodes_gives_its_input(session: Open) -> None:
    node = "g (float[2, 3] x) => (float[2, 3] y) { y = Identity(x) }"
    assert np.array_equal(session(node).run({"x": X})["y"], X)


def test_sequences_optionals_and_strings_are_python_values(proto: Any) -> None:
    model = proto("""g (seq(float[N]) s, optional(float[N]) o, string[N] t) => (seq(float[N]) r, bool b, string[N] u, float[N] e)
        { r = SequenceInsert(s, e) b = OptionalHasElement(o) u = Identity(t) i = Constant<value_int=0>() e = SequenceAt(s, i) }""")
    opened = Session(load(model), kernels="numpy")
    for optional, has in ((None, False), (X[0], True)):
        feeds = {"s": [X[0], X[1]], "o": optional, "t": np.array(["é", ""], object)}
        got = opened.run(feeds)
        assert [len(got["r"]), got["b"].item(), got["u"].tolist()] == [3, has, ["é", ""]]
        assert np.array_equal(got["e"], X[0])
        assert len(feeds["s"]) == 2


def test_an_op_nobody_knows_is_said_when_it_runs_with_what_is_known_nearby(proto: Any) -> None:
    model = proto("g (float[N] x) => (float[N] y) { y = com.microsoft.Geluu(x) }")
    with pytest.raises(UnsupportedOp) as error:
        Session(load(model)).run({"x": X[0]})
    assert "com.microsoft::Geluu" in error.value.what
    assert "Gelu" in str(error.value)


def test_a_node_that_fails_is_named(proto: Any) -> None:
    model = proto("g (float[N] x, float[M] w) => (float[K] y) { [bad] y = Add(x, w) }")
    with pytest.raises(ExecutionError) as error:
        Session(load(model), kernels="numpy").run({"x": X[0], "w": X[0, :2]})
    assert "bad" in str(error.value)
    assert "float32[3]" in str(error.value)


def test_kernels_are_chosen_by_name_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_kernels("numpy") == "numpy"
    monkeypatch.setenv("OWB_KERNELS", "plain")
    assert chosen_kernels("auto") == "plain"
    with pytest.raises(OptionError, match="no kernels called 'numba'"):
        chosen_kernels("numba")


def test_compiled_kernels_without_numba_are_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exec.session.available", lambda: False)
    monkeypatch.delenv("OWB_KERNELS", raising=False)
    assert chosen_kernels("auto") == "numpy"
    with pytest.raises(EngineMissing, match="numba"):
        chosen_kernels("compiled")


def test_threads_below_one_are_an_error(proto: Any) -> None:
    with pytest.raises(OptionError, match="threads is 0"):
        Session(load(proto(CHAIN)), threads=0)


FUNCTION = """
    <domain: "local", opset_import: ["" : 21]> Scaled <by> (x) => (y) { c = Constant <value_float: float = @by> () y = Mul(x, c) }
    <domain: "local", opset_import: ["" : 21, "local" : 1]> Twice (x) => (y) { a = local.Scaled <by = 2.0> (x) y = local.Scaled <by = 3.0> (a) }
"""


def test_functions_of_the_model_run_with_the_callers_attributes(proto: Any) -> None:
    model = proto(
        "g (float[N, 3] x) => (float[N, 3] y) { y = local.Twice(x) }", imports=', "local" : 1', functions=FUNCTION
    )
    for kernels in ("numpy", "plain"):
        np.testing.assert_allclose(Session(load(model), kernels=kernels).run({"x": X})["y"], X * 6, rtol=1e-6)


def test_overloads_of_a_function_are_told_apart() -> None:
    def function(overload: str, op: str) -> onnx.FunctionProto:
        made = helper.make_function(
            "local", "F", ["x"], ["y"], [helper.make_node(op, ["x"], ["y"])], [helper.make_opsetid("", 21)]
        )
        made.overload = overload
        return made

    nodes = [helper.make_node("F", ["x"], [name], domain="local", overload=name) for name in ("n", "e")]
    info = [helper.make_tensor_value_info(name, 1, [2, 3]) for name in ("x", "n", "e")]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    model = helper.make_model(graph, functions=[function("n", "Neg"), function("e", "Exp")], opset_imports=imports)
    got = Session(load(model), kernels="numpy").run({"x": X})
    assert np.array_equal(got["n"], -X)
    np.testing.assert_allclose(got["e"], np.exp(X), rtol=1e-6)


def test_the_same_session_serves_many_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {CHAIN}')
    opened = Session(load(model), kernels="numpy")
    inputs = [X * k for k in range(16)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: opened.run({"x": x})["y"], inputs))
    for x, y in zip(inputs, results, strict=True):
        np.testing.assert_allclose(y, np.exp(-x), rtol=1e-6)


def test_memory_the_system_does_not_give_is_an_error_that_names_the_node(
    session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session("g (float[N] x) => (float[N] y) { [big] y = Selu(x) }")
    binding = opened.interpreter.binding(opened.program.operations[0])

    def refused(*_: Any) -> Any:
        raise MemoryError("Unable to allocate 8.00 EiB")

    monkeypatch.setattr(opened.interpreter, "binding", lambda _: replace(binding, call=refused))
    with pytest.raises(BudgetExceeded) as error:
        opened.run({"x": np.ones(3, np.float32)})
    assert "8.00 EiB" in error.value.why
    assert "big" in error.value.where


def test_a_plan_that_would_need_more_than_the_limit_is_refused_before_it_is_made(proto: Any) -> None:
    model = load(proto("g (float[N] x) => (float[N, N] y) { c = Unsqueeze(x, one) y = Mul(x, c) }", one=np.array([1])))
    budget = Budget(Limits(bytes_alive=1 << 20))
    feeds = {"x": np.ones(1 << 10, np.float32)}
    with pytest.raises(BudgetExceeded) as error:
        Session(model, kernels="numpy", budget=budget).run(feeds)
    assert "--max-memory" in error.value.hint
