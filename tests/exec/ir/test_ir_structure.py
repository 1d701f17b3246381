"""What breaks the specification is refused with the element named; what is only odd is a note."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from exec.errors import InvalidModel
from exec.ir import load
from exec.ir.notes import KEPT_PER_CODE

Build = Callable[[], onnx.ModelProto]
INFO = h.make_tensor_value_info
N = h.make_node


def model(
    nodes: list[onnx.NodeProto],
    opsets: tuple[tuple[str, int], ...] = (("", 21), ("loc", 1)),
    inits: tuple[T, ...] = (),
    **options: object,
) -> onnx.ModelProto:
    graph = h.make_graph(nodes, "g", [INFO("x", T.FLOAT, [2])], [INFO("y", T.FLOAT, [2])], list(inits))
    return h.make_model(graph, opset_imports=[h.make_opsetid(*entry) for entry in opsets], ir_version=10, **options)


def branch(nodes: list[onnx.NodeProto], output: str) -> onnx.GraphProto:
    return h.make_graph(nodes, "branch", [], [INFO(output, T.FLOAT, [2])])


def function(name: str, nodes: list[onnx.NodeProto], opset: bool = True) -> onnx.FunctionProto:
    return h.make_function(
        "loc", name, ["a"], ["b"], nodes, [h.make_opsetid("", 21), h.make_opsetid("loc", 1)] if opset else []
    )


def call(*functions: onnx.FunctionProto) -> onnx.ModelProto:
    return model([N("F", ["x"], ["y"], domain="loc", name="call")], functions=list(functions))


C = nh.from_array(np.array(True), "c")
RELU = [N("Relu", ["x"], ["y"])]
DATA = T(name="w", data_type=T.FLOAT, dims=[2], raw_data=bytes(7))


def tensor(**values: object) -> onnx.ModelProto:
    return model(
        [N("Add", ["x", "w"], ["y"])], inits=(T(**{"name": "w", "data_type": T.FLOAT, "dims": [2], **values}),)
    )


def conditional(then: onnx.GraphProto, **more: onnx.GraphProto) -> onnx.ModelProto:
    return model([N("If", ["c"], ["y"], name="choose", then_branch=then, **more)], inits=(C,))


ERRORS: dict[str, tuple[Build, str, str]] = {
    "dangling": (lambda: model([N("Add", ["x", "gone"], ["y"])]), "value 'gone'", "nothing produces it"),
    "dangling output": (lambda: model([N("Relu", ["x"], ["z"])]), "output 'y'", "nothing produces it"),
    "two producers": (lambda: model([*RELU, N("Neg", ["x"], ["y"])]), "value 'y'", "two nodes produce it"),
    "node output is an input": (lambda: model([*RELU, N("Neg", ["y"], ["x"])]), "value 'x'", "an input or initializer"),
    "two initializers": (lambda: model(RELU, inits=(C, C)), "initializer 'c'", "two initializers"),
    "cycle": (
        lambda: model([N("Add", ["x", "b"], ["a"], name="first"), N("Relu", ["a"], ["b"]), N("Neg", ["b"], ["y"])]),
        "in graph 'g'",
        "its own output",
    ),
    "cycle through a subgraph": (
        lambda: conditional(branch([N("Neg", ["y"], ["p"])], "p"), else_branch=branch([N("Relu", ["x"], ["q"])], "q")),
        "node 'choose'",
        "its own output",
    ),
    "shadowed": (
        lambda: conditional(branch([N("Neg", ["c"], ["x"])], "x"), else_branch=branch([N("Relu", ["x"], ["q"])], "q")),
        "value 'x' of graph 'branch'",
        "a value of this name",
    ),
    "no else": (lambda: conditional(branch([N("Neg", ["x"], ["p"])], "p")), "node 'choose'", "no else_branch"),
    "conflicting opsets": (lambda: model(RELU, (("", 21), ("ai.onnx", 17))), "model", "versions 21 and 17"),
    "opset zero": (lambda: model(RELU, (("", 0),)), "model", "at version 0"),
    "no opset": (lambda: model(RELU, ()), "model", "no operator set"),
    "recursion": (lambda: call(function("F", [N("F", ["a"], ["b"], domain="loc")])), "function loc::F", "calls itself"),
    "mutual recursion": (
        lambda: call(
            function("F", [N("G", ["a"], ["b"], domain="loc")]), function("G", [N("F", ["a"], ["b"], domain="loc")])
        ),
        "function loc::",
        "calls itself",
    ),
    "two functions": (
        lambda: call(function("F", [N("Neg", ["a"], ["b"])]), function("F", [N("Abs", ["a"], ["b"])])),
        "function loc::F",
        "two functions",
    ),
    "function without opset": (
        lambda: call(function("F", [N("Neg", ["a"], ["b"])], opset=False)),
        "function loc::F",
        "no operator set",
    ),
    "function output": (
        lambda: call(function("F", [N("Neg", ["a"], ["c"])])),
        "value 'b' in function 'F'",
        "nothing produces it",
    ),
    "arity": (
        lambda: model(
            [N("F", ["x", "x"], ["y"], domain="loc", name="call")], functions=[function("F", [N("Neg", ["a"], ["b"])])]
        ),
        "node 'call'",
        "2 inputs",
    ),
    "short data": (lambda: tensor(raw_data=bytes(7)), "initializer 'w'", "7 bytes of data where float32[2] needs 8"),
    "long data": (lambda: tensor(raw_data=bytes(9)), "initializer 'w'", "9 bytes of data"),
    "short typed data": (lambda: tensor(float_data=[1.0]), "initializer 'w'", "1 values in float_data"),
    "no data": (lambda: tensor(), "initializer 'w'", "0 values in float_data"),
    "two kinds of data": (
        lambda: tensor(raw_data=bytes(8), float_data=[1.0, 2.0]),
        "initializer 'w'",
        "raw data and typed data",
    ),
    "negative dim": (lambda: tensor(dims=[-2], raw_data=bytes(8)), "initializer 'w'", "[-2]"),
    "unknown type": (lambda: tensor(data_type=99, raw_data=bytes(8)), "initializer 'w'", "element type is 99"),
    "undefined type": (lambda: tensor(data_type=0, raw_data=bytes(8)), "initializer 'w'", "element type is 0"),
    "out of range": (lambda: tensor(data_type=T.INT8, int32_data=[1, 300]), "initializer 'w'", "no int8"),
    "raw strings": (lambda: tensor(data_type=T.STRING, raw_data=b"ab"), "initializer 'w'", "strings"),
    "dims that overflow": (lambda: tensor(dims=[1 << 62, 4], raw_data=bytes(8)), "initializer 'w'", "needs"),
    "attribute tensor": (
        lambda: model([N("Constant", [], ["y"], value=DATA)]),
        "attribute 'value': tensor 'w'",
        "7 bytes of data",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_model_that_breaks_the_specification_is_refused_with_the_element_named(name: str, tmp_path: Path) -> None:
    build, where, why = ERRORS[name]
    proto = build()
    path = tmp_path / "broken.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert where in caught.value.where
    assert why in caught.value.what
    assert "broken.onnx" in caught.value.where
    lenient = load(path, strict=False)
    assert any(note.is_error and where in note.where and why in note.message for note in lenient.notes)
    assert lenient.to_proto() == proto


def endless(*inputs: str, body_condition: str = "going") -> onnx.ModelProto:
    body = h.make_graph(
        [N("Identity", [body_condition], ["on"]), N("Relu", ["v"], ["w"])],
        "body",
        [INFO("i", T.INT64, []), INFO("going", T.BOOL, []), INFO("v", T.FLOAT, [2])],
        [INFO("on", T.BOOL, []), INFO("w", T.FLOAT, [2])],
    )
    many = nh.from_array(np.array(1 << 40), "many")
    return model([N("Loop", [*inputs, "x"], ["y"], body=body, name="loop")], inits=(C, many))


def laughs() -> onnx.ModelProto:
    doubling = [
        function(
            f"F{i}" if i else "F",
            [N(f"F{i + 1}", ["a"], ["m"], domain="loc"), N(f"F{i + 1}", ["m"], ["b"], domain="loc")],
        )
        for i in range(30)
    ]
    return call(*doubling, function("F30", [N("Relu", ["a"], ["b"])]))


def chained(count: int) -> onnx.ModelProto:
    parts = [function(f"F{i}" if i else "F", [N(f"F{i + 1}", ["a"], ["b"], domain="loc")]) for i in range(count)]
    return call(*parts, function(f"F{count}", [N("Relu", ["a"], ["b"])]))


def shadowing() -> onnx.ModelProto:
    relu = h.make_function("ai.onnx", "Relu", ["a"], ["b"], [N("Neg", ["a"], ["b"])], [h.make_opsetid("", 21)])
    return model(RELU, functions=[relu])


def newer_ir() -> onnx.ModelProto:
    proto = model(RELU)
    proto.ir_version = 99
    return proto


NOTES: dict[str, tuple[Build, str, str]] = {
    "unsorted": (lambda: model([N("Neg", ["t"], ["y"]), N("Relu", ["x"], ["t"])]), "unsorted", "graph 'g'"),
    "newer opset": (lambda: model(RELU, (("", 999),)), "newer-opset", "model"),
    "newer ml opset": (lambda: model(RELU, (("", 21), ("ai.onnx.ml", 999))), "newer-opset", "model"),
    "no import of a domain": (lambda: model([N("Op", ["x"], ["y"], domain="com.x")]), "domain-not-imported", "model"),
    "newer IR": (newer_ir, "newer-ir", "model"),
    "terminal codes": (lambda: model([N("Relu", ["x"], ["y"], name="a\x1b]0;b\x07")]), "odd-name", "node"),
    "right to left": (
        lambda: model([N("Relu", ["x"], ["t\u202e"]), N("Neg", ["t\u202e"], ["y"])]),
        "odd-name",
        "value",
    ),
    "markup": (lambda: model([N("Relu", ["x"], ["y"], name="[bold]")]), "odd-name", "node"),
    "long name": (lambda: model([N("Relu", ["x"], ["y"], name="n" * 5000)]), "odd-name", "node"),
    "endless": (lambda: endless("", ""), "endless-loop", "node 'loop'"),
    "endless with a condition": (lambda: endless("", "c"), "endless-loop", "node 'loop'"),
    "long": (lambda: endless("many", "c"), "long-loop", "node 'loop'"),
    "explosion": (laughs, "explosion", "model"),
    "function for an operator": (shadowing, "function-hides-op", "function ai.onnx::Relu"),
}


@pytest.mark.parametrize("name", NOTES)
def test_what_is_only_odd_is_noted(name: str) -> None:
    build, code, where = NOTES[name]
    proto = build()
    opened = load(proto)
    assert [note for note in opened.notes if note.code == code and where in note.where and not note.is_error]
    assert opened.to_proto() == proto


def test_an_ordinary_model_has_no_notes() -> None:
    assert load(model(RELU)).notes == ()
    assert load(call(function("F", [N("Relu", ["a"], ["b"])]))).notes == ()


def test_a_branch_may_use_a_name_that_a_later_node_gives_again() -> None:
    then, other = branch([N("Neg", ["x"], ["p"])], "p"), branch([N("Relu", ["x"], ["q"])], "q")
    choose = N("If", ["c"], ["chosen"], name="choose", then_branch=then, else_branch=other)
    proto = model([choose, N("Abs", ["chosen"], ["p"]), N("Neg", ["p"], ["y"])], inits=(C,))
    assert load(proto).notes == ()


def test_functions_that_call_each_other_in_a_long_chain_are_walked() -> None:
    assert load(chained(3000)).notes == ()


def test_the_size_after_inlining_is_told_without_inlining() -> None:
    note = next(note for note in load(laughs()).notes if note.code == "explosion")
    assert "1,073,741,824 nodes" in note.message


def test_of_one_kind_only_the_first_few_are_told() -> None:
    broken = model([N("Add", [f"gone{i}", "x"], [f"v{i}" if i else "y"]) for i in range(200)])
    assert len(load(broken, strict=False).notes) == KEPT_PER_CODE


def test_a_loop_that_its_condition_may_stop_is_not_called_endless() -> None:
    data_dependent = endless("", "", body_condition="go_on")
    data_dependent.graph.node[0].attribute[0].g.node.insert(0, N("Less", ["i", "i"], ["go_on"]))
    assert load(data_dependent).notes == ()
