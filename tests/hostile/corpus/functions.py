"""Functions, branches and loops that recurse, explode, never end, or merely nest deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx
from onnx import helper as h

from corpus.case import BUDGET, CLEAN, ERROR, FINE, WARN, Case, built, text

CALL = "g (float[2] x) => (float[2] y) { y = local.f(x) }"


def function(name: str, body: str, outputs: str = "y") -> str:
    return f'<domain: "local", opset_import: ["" : 21, "local" : 1]>\n{name} (x) => ({outputs}) {{ {body} }}'


def nested(levels: int, op: str = "If") -> Callable[[onnx.ModelProto], None]:
    def branch(level: int) -> onnx.GraphProto:
        inner = [h.make_node("Identity", ["x"], [f"r{level}"])]
        if level < levels:
            inner = [h.make_node(op, ["c"], [f"r{level}"], then_branch=branch(level + 1), else_branch=other(level))]
        return h.make_graph(inner, f"b{level}", [], [h.make_tensor_value_info(f"r{level}", 1, [2])])

    def other(level: int) -> onnx.GraphProto:
        return h.make_graph([h.make_node("Neg", ["x"], [f"e{level}"])], f"e{level}", [], [h.make_tensor_value_info(f"e{level}", 1, [2])])  # fmt: skip

    def change(proto: onnx.ModelProto) -> None:
        proto.graph.node[0].CopyFrom(h.make_node(op, ["c"], ["y"], then_branch=branch(0), else_branch=other(-1)))

    return change


def loop(count: int, go: int = 1, body: str = "v = Identity(x)") -> Callable[[], bytes]:
    constants = f"m = Constant<value = int64 {{{count}}}>() go = Constant<value = bool {{{go}}}>()"
    inner = f"(int64 i, bool c, float[2] v0) => (bool c1, float[2] v) {{ c1 = Identity(c) {body} }}"
    return text(f"g (float[2] x) => (float[2] y) {{ {constants} y = Loop(m, go, x) <body = b {inner}> }}")


def cases() -> Iterator[Case]:
    def wrong(name: str, make: Callable[[], bytes], says: str = "") -> Case:
        return Case(f"function/{name}", make, ERROR, ERROR, says)

    doubling = "\n".join(function(f"f{i}", f"a = local.f{i + 1}(x) y = local.f{i + 1}(a)") for i in range(40))
    yield Case("function/right", text(CALL, more=function("f", "y = Neg(x)")))
    yield Case("function/2^40 when inlined", text(CALL.replace("local.f", "local.f0"), more=doubling + "\n" + function("f40", "y = Neg(x)")), WARN, BUDGET)  # fmt: skip
    yield Case("function/hundred calls deep", text(CALL.replace("local.f", "local.f0"), more="\n".join(function(f"f{i}", f"y = local.f{i + 1}(x)") for i in range(100)) + "\n" + function("f100", "y = Neg(x)")), CLEAN, CLEAN)  # fmt: skip
    yield wrong("calls itself", text(CALL, more=function("f", "y = local.f(x)")))
    yield wrong("calls the one that calls it", text(CALL, more=function("f", "y = local.h(x)") + "\n" + function("h", "y = local.f(x)")))  # fmt: skip
    yield wrong("makes no output", text(CALL, more=function("f", "z = Neg(x)")))
    yield wrong("two outputs of one name", text("g (float[2] x) => (float[2] y) { y, z = local.f(x) }", more=function("f", "y = Neg(x)", "y, y")), "name")  # fmt: skip
    yield wrong("has no name", built(lambda p: p.functions.add(domain="local", input=["x"], opset_import=p.opset_import)), "name")  # fmt: skip
    yield Case("function/five hundred calls deep", text(CALL.replace("local.f", "local.f0"), more="\n".join(function(f"f{i}", f"y = local.f{i + 1}(x)") for i in range(500)) + "\n" + function("f500", "y = Neg(x)")), CLEAN, BUDGET)  # fmt: skip
    yield Case("if/no condition", built(lambda p: p.graph.node[0].input.__setitem__(0, ""), "g (bool c, float[2] x) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }> }"), ERROR, ERROR, "condition")  # fmt: skip
    yield wrong("called with three inputs", text(CALL.replace("(x)", "(x, x, x)"), more=function("f", "y = Neg(x)")))
    yield wrong(
        "twice under one name", text(CALL, more=function("f", "y = Neg(x)") + "\n" + function("f", "y = Abs(x)"))
    )
    yield wrong("reads a value of the caller", text("g (float[2] x) => (float[2] y) { q = Neg(x) y = local.f(q) }", more=function("f", "y = Add(x, q)")), "q")  # fmt: skip
    yield Case("function/nobody calls it, and it is wrong", text("g (float[2] x) => (float[2] y) { y = Neg(x) }", more=function("f", "y = local.f(x)")), ERROR, CLEAN)  # fmt: skip
    yield Case("if/twenty deep", built(nested(20), "g (bool c, float[2] x) => (float[2] y) { y = Identity(x) }"))
    yield Case("if/condition of two", text("g (bool[2] c, float[2] x) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }> }"), CLEAN, CLEAN)  # fmt: skip
    yield wrong("branches of different counts", built(_uneven, "g (bool c, float[2] x) => (float[2] y) { y = Identity(x) }"))  # fmt: skip
    yield Case("loop/a thousand rounds", loop(1000, body="v = Add(v0, x)"))
    yield Case("loop/2^62 rounds", loop(1 << 62, body="v = Add(v0, x)"), WARN, BUDGET)
    yield Case("loop/negative rounds", loop(-5))
    yield Case("loop/not once", loop(7, go=0))
    yield Case("loop/grows by doubling", text("g (float[2] x) => (float[N] y) { m = Constant<value = int64 {60}>() go = Constant<value = bool {1}>() y = Loop(m, go, x) <body = b (int64 i, bool c, float[K] v0) => (bool c1, float[L] v) { c1 = Identity(c) v = Concat<axis = 0>(v0, v0) }> }"), FINE, BUDGET)  # fmt: skip
    yield Case("function/three hundred thousand of nothing", _empty_functions, ERROR, ERROR, "300,000")
    yield Case("loop/scan output of terabytes", _scan(), FINE, BUDGET)  # fmt: skip


def _empty_functions() -> bytes:
    return text("g (float[2] x) => (float[2] y) { y = Neg(x) }")() + b"\xca\x01\x00" * 300_000


def _uneven(proto: onnx.ModelProto) -> None:
    one = h.make_graph([h.make_node("Neg", ["x"], ["a"])], "t", [], [h.make_tensor_value_info("a", 1, [2])])
    two = h.make_graph([h.make_node("Abs", ["x"], ["b"]), h.make_node("Neg", ["x"], ["d"])], "e", [], [h.make_tensor_value_info(n, 1, [2]) for n in "bd"])  # fmt: skip
    proto.graph.node[0].CopyFrom(h.make_node("If", ["c"], ["y"], then_branch=one, else_branch=two))


def _scan() -> Callable[[], bytes]:
    return text(
        "g (float[1] x) => (float[A,B] y) { m = Constant<value = int64 {100000}>() go = Constant<value = bool {1}>() "
        "f, y = Loop(m, go, x) <body = b (int64 i, bool c, float[1] v0) => (bool c1, float[1] v, float[M] s) "
        "{ c1 = Identity(c) v = Identity(v0) n = Constant<value = int64[1] {10000000}>() s = Expand(v0, n) }> }"
    )
