"""Graphs that are not graphs: names twice, cycles, loose ends, wrong attributes, wrong opsets; and legal ones that look wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import helper as h
from onnx import numpy_helper as nh

from corpus.case import CLEAN, ERROR, FINE, PLAIN, WARN, Case, built, text

Change = Callable[[onnx.ModelProto], object]

UNTYPED = (
    'RegexFullMatch<pattern = "a">',
    'ai.onnx.ml.DictVectorizer<string_vocabulary = ["a"]>',
    'ai.onnx.ml.LabelEncoder<keys_strings = ["a"], values_int64s = [1]>',
    "ai.onnx.ml.TreeEnsemble<nodes_splits = float[1] {1}, nodes_featureids = [0], nodes_modes = uint8[1] {0}, "
    "nodes_truenodeids = [0], nodes_falsenodeids = [0], nodes_trueleafs = [1], nodes_falseleafs = [1], "
    "tree_roots = [0], leaf_targetids = [0], leaf_weights = float[1] {1}>",
)


def node(op: str, inputs: list[str], outputs: list[str], **attributes: object) -> Change:
    return lambda proto: proto.graph.node.append(h.make_node(op, inputs, outputs, **attributes))


def constant(*attributes: onnx.AttributeProto) -> Change:
    def change(proto: onnx.ModelProto) -> None:
        proto.graph.node[0].CopyFrom(onnx.NodeProto(op_type="Constant", output=["y"], attribute=attributes))

    return change


def sparse(indices: list[float]) -> onnx.AttributeProto:
    values = nh.from_array(np.ones(len(indices), np.float32), "v")
    return h.make_attribute("sparse_value", h.make_sparse_tensor(values, nh.from_array(np.array(indices), "i"), [4]))


def many_outputs(count: int) -> Change:
    def change(proto: onnx.ModelProto) -> None:
        proto.graph.node.extend([h.make_node("Neg", ["x"], [f"o{k}"]) for k in range(count)])
        proto.graph.output.extend([h.make_tensor_value_info(f"o{k}", 1, [2, 3]) for k in range(count)])

    return change


def chain(length: int) -> Change:
    def change(proto: onnx.ModelProto) -> None:
        del proto.graph.node[:]
        names = ["x", *(f"v{i}" for i in range(length - 1)), "y"]
        proto.graph.node.extend(h.make_node("Abs", [a], [b]) for a, b in itertools.pairwise(names))

    return change


def diamonds(length: int) -> Change:
    """2^length paths from input to output."""

    def change(proto: onnx.ModelProto) -> None:
        del proto.graph.node[:]
        names = ["x", *(f"v{i}" for i in range(length - 1)), "y"]
        proto.graph.node.extend(h.make_node("Max", [a, a], [b]) for a, b in itertools.pairwise(names))

    return change


def attribute(**fields: object) -> Change:
    def change(proto: onnx.ModelProto) -> None:
        made = proto.graph.node[0].attribute.add()
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(made, name).extend(value)
            else:
                setattr(made, name, value)

    return change


def opsets(*pairs: tuple[str, int]) -> Change:
    def change(proto: onnx.ModelProto) -> None:
        del proto.opset_import[:]
        proto.opset_import.extend(h.make_opsetid(domain, version) for domain, version in pairs)

    return change


SOFTMAX = "g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"


def cases() -> Iterator[Case]:
    yield from _broken()
    yield from _odd()


def _broken() -> Iterator[Case]:
    def wrong(name: str, make: Callable[[], bytes], says: str = "") -> Case:
        return Case(f"graph/{name}", make, ERROR, ERROR, says)

    yield wrong("no graph", built(lambda p: p.ClearField("graph")))
    yield wrong("no opset", built(opsets()), "opset")
    yield wrong("opset 0", built(opsets(("", 0))), "version")
    yield wrong("opset -3", built(opsets(("", -3))), "version")
    yield wrong("opset twice, two versions", built(opsets(("", 13), ("ai.onnx", 21))), "versions")
    yield wrong("IR version 0", built(lambda p: p.ClearField("ir_version")), "ir")
    yield wrong("one value produced twice", built(node("Neg", ["x"], ["y"])), "y")
    yield wrong("an input produced again", built(node("Neg", ["y"], ["x"])), "x")
    yield wrong("an initializer produced again", built(lambda p: p.graph.initializer.append(nh.from_array(np.ones(6, np.float32), "y"))), "y")  # fmt: skip
    yield wrong("a node reads itself", text("g (float[2] x) => (float[2] y) { y = Add(x, y) }"), "y")
    yield wrong("a cycle of three", text("g (float[2] x) => (float[2] y) { a = Add(x, c) b = Neg(a) c = Neg(b) y = Neg(c) }"))  # fmt: skip
    yield wrong("reads what nobody makes", text("g (float[2] x) => (float[2] y) { y = Add(x, ghost) }"), "ghost")
    yield wrong("output nobody makes", built(lambda p: p.graph.output.add(name="ghost")), "ghost")
    yield wrong("input twice", built(lambda p: p.graph.input.append(p.graph.input[0])), "x")
    yield wrong("initializer twice", built(lambda p: p.graph.initializer.extend([nh.from_array(np.ones(6, np.float32), "w")] * 2)), "w")  # fmt: skip
    yield wrong("initializer without a name", built(lambda p: p.graph.initializer.append(nh.from_array(np.ones(6, np.float32), ""))))  # fmt: skip
    yield wrong("no op type", built(lambda p: p.graph.node[0].ClearField("op_type")))
    yield wrong("too many inputs", built(lambda p: p.graph.node[0].input.extend("xxx")), "Relu")
    yield wrong("too few inputs", built(lambda p: p.graph.node[0].ClearField("input")), "Relu")
    yield wrong("too many outputs", built(lambda p: p.graph.node[0].output.append("z")), "Relu")
    yield wrong("attribute twice", built(lambda p: (attribute(name="axis", type=2, i=1)(p), attribute(name="axis", type=2, i=0)(p)), SOFTMAX), "axis")  # fmt: skip
    yield wrong("attribute of the wrong type", built(attribute(name="axis", type=3, s=b"one"), SOFTMAX), "axis")
    yield wrong("attribute without a type", built(attribute(name="axis", i=1), SOFTMAX), "axis")
    yield wrong("attribute nobody knows", built(attribute(name="axes", type=2, i=1), SOFTMAX), "axes")
    yield wrong("a split into a billion parts", text("g (float[6] x) => (float[3] y, float[3] z) { y, z = Split<num_outputs = 2000000000>(x) }"), "num_outputs")  # fmt: skip
    yield wrong("a split into fewer parts than outputs", text("g (float[6] x) => (float[6] y, float[3] z) { y, z = Split<num_outputs = 1>(x) }"), "num_outputs")  # fmt: skip
    yield wrong("batch dims below zero", text("g (float[2,3] x, int64[1] i) => (float[N] y) { y = GatherND<batch_dims = -7>(x, i) }"), "batch_dims")  # fmt: skip
    yield wrong("an axis beyond int32", text("g (float[2,3] x, float[3] s) => (float[2,3] y) { y, m = LayerNormalization<axis = 2147483648>(x, s) }"), "axis")  # fmt: skip
    yield wrong("required attribute missing", text("g (float[2] x) => (int64[2] y) { y = Cast(x) }"), "to")
    yield wrong("attribute refers to a function's, in no function", built(attribute(name="axis", type=2, ref_attr_name="a"), SOFTMAX), "axis")  # fmt: skip
    yield wrong("input without a name", built(lambda p: p.graph.input.add()), "name")
    yield wrong("input and its default differ in type", built(lambda p: p.graph.initializer.append(nh.from_array(np.ones((2, 3), np.int64), "x"))), "x")  # fmt: skip
    yield wrong("attribute with two values", built(lambda p: p.graph.node[0].attribute.add(name="axis", type=2, i=1, f=2), SOFTMAX), "axis")  # fmt: skip
    yield wrong("Constant of nothing", built(constant()), "value")
    yield wrong("Constant of two", built(constant(h.make_attribute("value_int", 1), h.make_attribute("value_float", 2.0))), "value_float")  # fmt: skip
    yield wrong("Constant of an absent tensor", built(constant(onnx.AttributeProto(name="value", type=4))), "value")
    yield wrong("Constant sparse outside", built(constant(sparse([0, 9]))), "sparse_value")
    yield wrong("Constant sparse by floats", built(constant(sparse([0.0, 2.0]))), "sparse_value")
    yield wrong("op newer than its opset", text(PLAIN.replace("Relu", "Gelu"), opset=13), "Gelu")


def _odd() -> Iterator[Case]:
    def odd(name: str, make: Callable[[], bytes], look: str = FINE, work: str = FINE) -> Case:
        return Case(f"graph/{name}", make, look, work)

    yield odd(
        "Constant that is sparse", built(constant(sparse([0, 2])), "g (float[2] x) => (float[4] y) { y = Neg(x) }")
    )
    yield odd("ten thousand outputs", built(many_outputs(10_000)))
    yield odd("ten thousand inputs", built(lambda p: p.graph.input.extend([h.make_tensor_value_info(f"i{k}", 1, [2]) for k in range(10_000)])))  # fmt: skip
    yield odd("two nodes with one name", built(lambda p: (setattr(p.graph.node[0], "name", "n"), node("Neg", ["x"], ["z"], name="n")(p))), CLEAN, CLEAN)  # fmt: skip
    yield odd("unsorted", text("g (float[2] x) => (float[2] y) { y = Neg(b) b = Neg(a) a = Neg(x) }"))
    yield odd("five thousand in a row", built(chain(5000)))
    yield odd("2^60 paths", built(diamonds(60)))
    yield odd("no outputs", built(lambda p: p.graph.ClearField("output")), WARN, CLEAN)
    yield odd("output twice", built(lambda p: p.graph.output.append(p.graph.output[0])), CLEAN, CLEAN)
    yield odd("output is an input", text("g (float[2] x) => (float[2] x) { }"), CLEAN, CLEAN)
    yield odd("output is a weight", built(lambda p: (p.graph.initializer.append(nh.from_array(np.ones((2, 3), np.float32), "w")), setattr(p.graph.output[0], "name", "w"))))  # fmt: skip
    yield odd("op of nobody", text(PLAIN.replace("Relu", "Frobnicate")), WARN, CLEAN)
    for op in UNTYPED:
        yield odd(f"what an op of nobody makes, read by {op.partition('<')[0]}", built(lambda p: p.opset_import.add(domain="ai.onnx.ml", version=5), f"g (float[2] x) => (float[N] y) {{ s = Frobnicate(x) m = {op}(s) y = Cast<to = 1>(m) }}"), WARN, CLEAN)  # fmt: skip
    yield odd("op that a later opset dropped", text("g (float[2,3] x) => (float[2,3] y) { i = Constant<value = int64[1,1] {0}>() u = Constant<value = float[1,1] {0}>() y = Scatter(x, i, u) }", opset=13), WARN, CLEAN)  # fmt: skip
    yield odd("op of a strange domain", built(lambda p: (setattr(p.graph.node[0], "domain", "acme"), p.opset_import.add(domain="acme", version=1))), FINE, CLEAN)  # fmt: skip
    yield odd("domain not imported", built(lambda p: setattr(p.graph.node[0], "domain", "acme")), WARN, CLEAN)
    yield odd("opset of the future", built(opsets(("", 99))), WARN, CLEAN)
    yield odd("IR of the future", built(lambda p: setattr(p, "ir_version", 99)), WARN, CLEAN)
    yield odd("imports it does not use", built(lambda p: p.opset_import.add(domain="acme", version=3)))
    yield odd("domain spelled ai.onnx", built(lambda p: setattr(p.graph.node[0], "domain", "ai.onnx")))
    yield odd("value_info for nobody", built(lambda p: p.graph.value_info.append(h.make_tensor_value_info("ghost", 1, [2]))))  # fmt: skip
    yield odd("value_info that lies", built(lambda p: (node("Neg", ["y"], ["z"])(p), p.graph.value_info.append(h.make_tensor_value_info("z", 7, [9, 9])))), CLEAN, CLEAN)  # fmt: skip
    yield odd("output shape that lies", text("g (float[2,3] x) => (float[7,7] y) { y = Relu(x) }"), WARN, CLEAN)
    yield odd("value_info twice", built(lambda p: p.graph.value_info.extend([h.make_tensor_value_info("q", 1, [2])] * 2)), CLEAN, CLEAN)  # fmt: skip
    yield odd("optional inputs left out", text("g (float[2] x) => (float[2] y) { lo = Constant<value = float {0}>() y = Clip(x, lo, ) }"))  # fmt: skip
    yield odd("outputs nobody wants", built(lambda p: (p.graph.node.add(op_type="Dropout", input=["x"], output=["d", ""]))))  # fmt: skip
    yield odd("a thousand inputs", built(lambda p: (p.graph.ClearField("node"), p.graph.node.add(op_type="Sum", input=["x"] * 1000, output=["y"]))))  # fmt: skip
    yield odd("no nodes, a weight as output", built(lambda p: (p.graph.ClearField("node"), p.graph.initializer.append(nh.from_array(np.ones((2, 3), np.float32), "y")))))  # fmt: skip
    yield odd("input with a default", built(lambda p: p.graph.initializer.append(nh.from_array(np.ones((2, 3), np.float32), "x"))))  # fmt: skip
    yield odd("input and its default differ in shape", built(lambda p: p.graph.initializer.append(nh.from_array(np.ones((9, 9), np.float32), "x"))), CLEAN, CLEAN)  # fmt: skip
    yield odd("training info", built(lambda p: p.training_info.add()), CLEAN, CLEAN)
    yield odd("quantization annotation for nobody", built(lambda p: p.graph.quantization_annotation.add(tensor_name="ghost")))  # fmt: skip
    yield odd("opset 1", text("g (float[2,3] x) => (float[2,3] y) { y = Relu<consumed_inputs = [0]>(x) }", opset=1, ir=3), CLEAN, CLEAN)  # fmt: skip
