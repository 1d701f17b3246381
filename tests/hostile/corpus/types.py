"""Inputs and outputs that are not tensors, or not quite."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx
from onnx import TensorProto as T
from onnx import helper as h

from corpus.case import CLEAN, ERROR, FINE, WARN, Case, built, text


def typed(make: Callable[[], onnx.TypeProto]) -> Callable[[], bytes]:
    """`y = Identity(x)` where both have one type."""

    def change(proto: onnx.ModelProto) -> None:
        for info in (*proto.graph.input, *proto.graph.output):
            info.type.CopyFrom(make())

    return built(change, "g (float[2] x) => (float[2] y) { y = Identity(x) }")


def deep(levels: int) -> onnx.TypeProto:
    inner = h.make_tensor_type_proto(T.FLOAT, [2])
    for _ in range(levels):
        inner = h.make_sequence_type_proto(inner)
    return inner


def cases() -> Iterator[Case]:
    tensor = h.make_tensor_type_proto(T.FLOAT, [2])
    yield Case("types/sequence", typed(lambda: h.make_sequence_type_proto(tensor)))
    yield Case("types/optional", typed(lambda: h.make_optional_type_proto(tensor)))
    yield Case("types/optional sequence", typed(lambda: h.make_optional_type_proto(h.make_sequence_type_proto(tensor))))
    yield Case("types/map", typed(lambda: h.make_map_type_proto(T.INT64, tensor)), FINE, CLEAN)
    yield Case("types/sparse tensor", typed(lambda: h.make_sparse_tensor_type_proto(T.FLOAT, [2])), FINE, CLEAN)
    yield Case("types/string", typed(lambda: h.make_tensor_type_proto(T.STRING, [2])))
    yield Case("types/complex", typed(lambda: h.make_tensor_type_proto(T.COMPLEX64, [2])), FINE, CLEAN)
    yield Case("types/thirty sequences deep", typed(lambda: deep(30)), FINE, CLEAN)
    yield Case("types/element type 0", typed(lambda: h.make_tensor_type_proto(0, [2])), ERROR, ERROR, "x")
    yield Case("types/element type 999", typed(lambda: h.make_tensor_type_proto(999, [2])), ERROR, ERROR, "x")
    yield Case("types/no type", typed(onnx.TypeProto), WARN, CLEAN)
    yield Case("types/no shape", typed(lambda: h.make_tensor_type_proto(T.FLOAT, None)))
    yield Case("types/sequence of nothing", typed(lambda: onnx.TypeProto(sequence_type=onnx.TypeProto.Sequence())), ERROR, ERROR)  # fmt: skip
    yield Case("types/map keyed by float", typed(lambda: h.make_map_type_proto(T.FLOAT, tensor)), ERROR, ERROR)
    yield Case("types/a dim of 2^60", text("g (float[1152921504606846976] x) => (float[N] y) { y = Relu(x) }"), FINE, "budget")  # fmt: skip
    yield Case("types/a dim of -1", typed(lambda: h.make_tensor_type_proto(T.FLOAT, [-1])), WARN, FINE)
    yield Case("types/a dim of 0", typed(lambda: h.make_tensor_type_proto(T.FLOAT, [0])))
    yield Case("types/sequence ops", text("g (float[2] x) => (float[2] y) { s = SequenceConstruct(x, x) i = Constant<value = int64 {1}>() y = SequenceAt(s, i) }"))  # fmt: skip
    yield Case("types/sequence index outside", text("g (float[2] x) => (float[2] y) { s = SequenceConstruct(x, x) i = Constant<value = int64 {7}>() y = SequenceAt(s, i) }"), FINE, ERROR)  # fmt: skip
    yield Case("types/a sequence negated", text("g (float[2] x) => (float[2] y) { s = SequenceConstruct(x, x) y = Neg(s) }"), ERROR, ERROR)  # fmt: skip
    yield Case("types/a tensor read as a sequence", text("g (float[2] x) => (float[2] y) { i = Constant<value = int64 {0}>() y = SequenceAt(x, i) }"), ERROR, ERROR)  # fmt: skip
    yield Case("types/thirty dims of 2^62", typed(lambda: h.make_tensor_type_proto(T.FLOAT, [1 << 62] * 30)), FINE, CLEAN)  # fmt: skip
    yield Case("types/element of an empty optional", text("g (float[2] x) => (float[2] y) { o = Optional<type = float[2]>() y = OptionalGetElement(o) }"), FINE, "clean")  # fmt: skip
    yield Case("types/a mode nobody knows", text('g (float[2] x) => (float[2] y) { y = Gelu<approximate = "roughly">(x) }'), ERROR, ERROR, "roughly")  # fmt: skip
    yield Case("types/a loop on a number", text("g (float[2] x) => (float[2] y) { m = Constant<value = int64 {2}>() c = Constant<value = float {1}>() y = Loop(m, c, x) <body = b (int64 i, float k, float[2] v) => (float d, float[2] w) { d = Identity(k) w = Neg(v) }> }"), CLEAN, ERROR)  # fmt: skip
    yield Case("types/a scan in direction 7", text("g (float[2] x) => (float[2] y) { z = Constant<value = float {0}>() f, y = Scan<num_scan_inputs = 1, scan_input_directions = [7], body = b (float a, float v) => (float s, float t) { s = Add(a, v) t = Neg(v) }>(z, x) }"), CLEAN, ERROR)  # fmt: skip
    yield Case("types/strings added", text("g (string[2] x) => (string[2] y) { y = Add(x, x) }"), CLEAN, CLEAN)
    yield Case(
        "types/declared as float, is int64", text("g (float[2] x) => (float[1] y) { y = Shape(x) }"), WARN, CLEAN
    )
