"""Rewrites that are right nearly everywhere: wrong for a sign, a size, an attribute, a special value, a branch. Each is caught, undone and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exec.ir import Constant, Graph, Node, load
from exec.session import Session
from passes.base import Rewrite, Safety
from passes.optimize import optimize
from passes.patch import Patch
from passes.region import Region
from passes.report import Report
from passes.selftest import model_of

Write = Callable[[Patch, Node, Region], Any]


def rule(name: str, root: str, write: Write, safety: Safety = Safety.ROUNDING) -> Rewrite:
    """A rewrite of `root` that adds what `write` says, once: what it writes is not the root op or differs in attributes."""

    class Wrong(Rewrite):
        id = name

        def at(self, node: Node, region: Region) -> Patch | None:
            patch = self.patch(region, node)
            return None if write(patch, node, region) is False else patch

    Wrong.roots, Wrong.safety = (root,), safety
    return Wrong()


def forwards(patch: Patch, node: Node, region: Region) -> None:
    """The node does nothing, it says."""
    patch.replace(node.outputs[0], node.inputs[0])


def becomes(op: str, *extra: Any, **attrs: Any) -> Write:
    """Another op on the first input."""

    def write(patch: Patch, node: Node, region: Region) -> None:
        more = [patch.constant(np.asarray(a), f"k{k}") for k, a in enumerate(extra)]
        patch.add(op, [node.inputs[0], *more], attrs, out=node.outputs[0])

    return write


def without(*names: str) -> Write:
    """The same node without some attributes."""

    def write(patch: Patch, node: Node, region: Region) -> bool:
        if not set(names) & node.attrs.keys():
            return False
        attrs = {k: v for k, v in node.attrs.items() if k not in names}
        patch.add(node.op, node.inputs, attrs, out=node.outputs[0])
        return True

    return write


def reads(*inputs: int) -> Write:
    """The same node with some of its inputs only."""

    def write(patch: Patch, node: Node, region: Region) -> bool:
        if len(node.inputs) == len(inputs):
            return False
        patch.add(node.op, [node.inputs[k] for k in inputs], node.attrs, out=node.outputs[0])
        return True

    return write


def inner_product(patch: Patch, node: Node, region: Region) -> bool:
    """(a · 2) / 2 is a, among integers without end."""
    made = region.producer(node.inputs[0], "Mul")
    if made is None:
        return False
    patch.replace(node.outputs[0], made.inputs[0])
    return True


def filled(value: float) -> Write:
    """A constant number in the shape of the input."""

    def write(patch: Patch, node: Node, region: Region) -> None:
        dtype = region.dtype(node.inputs[0])
        shape = patch.add("Shape", [node.inputs[0]])
        patch.add(
            "ConstantOfShape", [shape], {"value": patch.constant(np.array([value], dtype), "v")}, out=node.outputs[0]
        )

    return write


def window(size: int) -> Write:
    """The first elements of axis 1: all, for the sizes the author tried."""

    def write(patch: Patch, node: Node, region: Region) -> bool:
        if region.producer(node.inputs[0], "Slice") is not None:
            return False
        bounds = [patch.ints([v], n) for v, n in ((0, "start"), (size, "end"), (1, "axis"))]
        cut = patch.add("Slice", [node.inputs[0], *bounds])
        patch.add(node.op, [cut, *node.inputs[1:]], node.attrs, out=node.outputs[0])
        return True

    return write


def naive_softmax(patch: Patch, node: Node, region: Region) -> None:
    powers = patch.add("Exp", [node.inputs[0]])
    total = patch.add("ReduceSum", [powers, patch.ints([-1], "axis")], {"keepdims": 1})
    patch.add("Div", [powers, total], out=node.outputs[0])


def rounds_up(patch: Patch, node: Node, region: Region) -> None:
    up = patch.add("Add", [node.inputs[0], patch.constant(np.float32(0.5), "half")])
    patch.add("Floor", [up], out=node.outputs[0])


def shifted(patch: Patch, node: Node, region: Region) -> bool:
    if len(node.inputs) < 3 or node.inputs[1].name:
        return False
    patch.add(node.op, [node.inputs[0], node.inputs[2]], node.attrs, out=node.outputs[0])
    return True


def strict(patch: Patch, node: Node, region: Region) -> None:
    patch.add("Greater", node.inputs, out=node.outputs[0])


def nearly(patch: Patch, node: Node, region: Region) -> bool:
    if node.attrs:
        return False
    patch.add("Gelu", node.inputs, {"approximate": "tanh"}, out=node.outputs[0])
    return True


def uncut(patch: Patch, node: Node, region: Region) -> bool:
    first = region.producer(node.inputs[0], "Cast")
    if first is None:
        return False
    patch.replace(node.outputs[0], first.inputs[0])
    return True


def flattened(patch: Patch, node: Node, region: Region) -> bool:
    target = region.constant(node.inputs[1])
    if target is None or int(target[0]) == 1:
        return False
    patch.add("Reshape", [node.inputs[0], patch.ints([1, -1], "target")], out=node.outputs[0])
    return True


CASES: dict[str, tuple[str, Rewrite]] = {
    "only for negative images": (
        "g (float[1,3,8,8] x) => (float[1,3,8,8] y) { a = Abs (x)  y = Exp (a) }",
        rule("drops-abs", "Abs", forwards),
    ),
    "only for negative integers": (
        "g (int64[4] x) => (int64[4] y) <int64 two = {2}> { a = Abs (x)  y = Mul (a, two) }",
        rule("drops-integer-abs", "Abs", forwards),
    ),
    "only where integers overflow": (
        "g (int32[64] x) => (int32[64] y) <int32 two = {2}> { a = Mul (x, two)  y = Div (a, two) }",
        rule("cancels-factors", "Div", inner_product, Safety.EXACT),
    ),
    "only where bytes wrap": (
        "g (uint8[64] x) => (uint8[64] y) <uint8 two = {2}> { a = Mul (x, two)  y = Div (a, two) }",
        rule("cancels-byte-factors", "Div", inner_product, Safety.EXACT),
    ),
    "only for a batch of several": (
        "g (float[N,6] x) => (float[M,K] y) <int64[2] s = {0, -1}> { a = Reshape (x, s)  y = Tanh (a) }",
        rule("forgets-the-batch", "Reshape", flattened),
    ),
    "only for lengths beyond the usual": (
        "g (float[1,S,4] x) => (float[1,T,4] y) { a = Tanh (x)  y = Exp (a) }",
        rule("keeps-sixteen", "Tanh", window(16)),
    ),
    "only for other anonymous lengths": (
        "g (float[1,unk__7,4] x) => (float[1,unk__8,4] y) { a = Tanh (x)  y = Exp (a) }",
        rule("keeps-sixteen-unknown", "Tanh", window(16)),
    ),
    "only for NaN": (
        "g (float[4,8] x) => (float[4,8] y) { a = Sub (x, x)  y = Exp (a) }",
        rule("difference-is-zero", "Sub", filled(0.0)),
    ),
    "only for infinities": (
        "g (float[4,8] x) => (float[4,8] y) <float lo = {-1e30}, float hi = {1e30}> { a = Clip (x, lo, hi)  y = Neg (a) }",
        rule("drops-a-wide-clip", "Clip", forwards),
    ),
    "only for zeros": (
        "g (float[4,8] x) => (float[4,8] y) { a = Div (x, x)  y = Exp (a) }",
        rule("quotient-is-one", "Div", filled(1.0)),
    ),
    "only where exponentials overflow": (
        "g (float[8,8] x) => (float[8,8] y) { a = Softmax (x)  y = Neg (a) }",
        rule("naive-softmax", "Softmax", naive_softmax),
    ),
    "only on ties of rounding": (
        "g (float[8,8] x) => (float[8,8] y) { a = Round (x)  y = Neg (a) }",
        rule("rounds-halves-up", "Round", rounds_up, Safety.EXACT),
    ),
    "only where both are equal": (
        "g (float[8,8] x) => (bool[8,8] y) <float zero = {0}> { a = GreaterOrEqual (x, zero)  y = Not (a) }",
        rule("forgets-or-equal", "GreaterOrEqual", strict),
    ),
    "only where the largest stands twice": (
        "g (float[16,12] x) => (int64[16] y) { a = Clip (x)  b = Round (a)  y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (b) }",
        rule("forgets-which-of-two", "ArgMax", without("select_last_index")),
    ),
    "a stride": (
        "g (float[1,2,9,9] x) => (float[1,2,A,B] y) { a = MaxPool <kernel_shape = [1, 1], strides = [2, 2]> (x)  y = Exp (a) }",
        rule("forgets-strides", "MaxPool", without("strides")),
    ),
    "a slope": (
        "g (float[4,4] x) => (float[4,4] y) { a = LeakyRelu <alpha = 0.2> (x)  y = Exp (a) }",
        rule("forgets-alpha", "LeakyRelu", without("alpha")),
    ),
    "an axis": (
        "g (float[4,4] x) => (float[4,4] y) { a = Softmax <axis = 0> (x)  y = Exp (a) }",
        rule("forgets-the-axis", "Softmax", without("axis")),
    ),
    "a transposition of a square": (
        "g (float[4,4] x) => (float[4,4] y) <float[4,4] w> { a = Gemm <transB = 1> (x, w)  y = Exp (a) }",
        rule("forgets-transB", "Gemm", without("transB")),
    ),
    "how padding counts": (
        "g (float[1,2,6,6] x) => (float[1,2,6,6] y) { a = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (x)  y = Exp (a) }",
        rule("forgets-padding-counts", "AveragePool", without("count_include_pad")),
    ),
    "an order": (
        "g (float[4,6] x) => (float[4,2] y) <int64[1] k = {2}> { a, i = TopK <largest = 0> (x, k)  y = Exp (a) }",
        rule("forgets-the-order", "TopK", lambda p, n, r: _smallest(p, n)),
    ),
    "a remainder's sign": (
        "g (int32[64] x) => (int32[64] y) <int32 three = {3}> { a = Mod <fmod = 1> (x, three)  y = Neg (a) }",
        rule("forgets-fmod", "Mod", without("fmod")),
    ),
    "an empty input": (
        "g (float[4,4] x) => (float[4,4] y) <float top = {0.5}> { a = Clip (x, , top)  y = Exp (a) }",
        rule("moves-an-input-up", "Clip", shifted),
    ),
    "an input that may be left out": (
        "g (float[1,2,4,4] x) => (float[1,2,2,2] y) <float[2,2,3,3] w, float[2] b> { a = Conv (x, w, b)  y = Exp (a) }",
        rule("forgets-an-input", "Conv", reads(0, 1)),
    ),
    "a formula that is only near": (
        "g (float[16,16] x) => (float[16,16] y) { a = Gelu (x)  y = Neg (a) }",
        rule("another-gelu", "Gelu", nearly),
    ),
    "a type": (
        "g (float[8] x) => (float[8] y) { a = Cast <to = 7> (x)  b = Cast <to = 1> (a)  y = Neg (b) }",
        rule("forgets-to-cut", "Cast", uncut),
    ),
    "a branch not taken": (
        """g (float[4] x, bool c) => (float[4] y) { y = If (c) <
            then_branch = t () => (float[4] p) { a = Abs (x)  p = Exp (a) },
            else_branch = e () => (float[4] q) { b = Sigmoid (x)  q = Exp (b) } > }""",
        rule("only-in-the-other-branch", "Sigmoid", becomes("HardSigmoid")),
    ),
    "a branch taken, captured from outside": (
        """g (float[4] x, bool c) => (float[4] y) { s = Neg (x)  y = If (c) <
            then_branch = t () => (float[4] p) { a = Abs (s)  p = Exp (a) },
            else_branch = e () => (float[4] q) { b = Abs (s)  q = Exp (b) } > }""",
        rule("forgets-the-capture", "Abs", forwards),
    ),
    "behind a saturated output": (
        "g (float[4,8] x) => (float[4,8] y) <float big = {200}> { a = Tanh (x)  b = Add (a, big)  y = Sigmoid (b) }",
        rule("hidden-by-saturation", "Tanh", becomes("Erf")),
    ),
    "behind an output without a number": (
        "g (float[4,8] x) => (float[4,8] y) <float none = {-9}> { a = Tanh (x)  b = Add (a, none)  y = Log (b) }",
        rule("hidden-by-nan", "Tanh", becomes("Erf")),
    ),
    "behind a choice": (
        "g (float[2,8] x) => (int64[2] y) { a = Sigmoid (x)  y = ArgMax <axis = 1, keepdims = 0> (a) }",
        rule("hidden-by-argmax", "Sigmoid", becomes("HardSigmoid")),
    ),
    "one of many integers": (
        "g (float[1,64] x) => (int64[64] y) <int64[1] s = {64}, int64[64] k> { a = Reshape (x, s)  b = Cast <to = 7> (a)  y = Add (b, k) }",
        rule("one-element-off", "Add", lambda p, n, r: _one_off(p, n, r)),
    ),
}  # fmt: skip


def _smallest(patch: Patch, node: Node) -> bool:
    if "largest" not in node.attrs:
        return False
    patch.add("TopK", node.inputs, {}, out=node.outputs[0], outputs=2)
    return True


def _one_off(patch: Patch, node: Node, region: Region) -> bool:
    values = region.constant(node.inputs[1])
    if values is None or node.inputs[1].name.startswith("off"):
        return False
    other = values.copy()
    other[17] += 1
    patch.add("Add", [node.inputs[0], patch.constant(other, "off")], out=node.outputs[0])
    return True


def outcome(text: str, wrong: Rewrite) -> Report:
    return optimize(load(model_of(text, 20)), "remove-dead-code", rules=[wrong]).report


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_somewhere_is_caught_and_named(case: str) -> None:
    text, wrong = CASES[case]
    report = outcome(text, wrong)
    assert {u.rule for u in report.undone} == {wrong.id}, report
    assert not report.of(wrong.id)


class Edits(Rewrite):
    """Changes the graph where it is only asked."""

    id = "edits-the-graph"
    roots = ("Softmax",)

    def at(self, node: Node, region: Region) -> Patch | None:
        node.attrs["axis"] = 0
        return None


class DropsAnInput(Rewrite):
    """Takes away an input nobody reads: the numbers stay, callers break."""

    id = "drops-an-input"
    roots = ("Neg",)

    def at(self, node: Node, region: Region) -> Patch | None:
        region.graph.inputs[:] = [t for t in region.graph.inputs if t.outputs]
        return None


class SwapsOutputs(Rewrite):
    """Gives the outputs in another order."""

    id = "swaps-outputs"
    roots = ("Neg",)

    def at(self, node: Node, region: Region) -> Patch | None:
        region.graph.outputs.sort(key=lambda t: str(t.name), reverse=True)
        return None


NET = """g (float[4,4] x, float[2] unused) => (float[4,4] y, float[4,4] z)
    { a = Identity (x)  b = Softmax <axis = 1> (a)  y = Neg (b)  z = Exp (b) }"""


@pytest.mark.parametrize("wrong", [Edits(), DropsAnInput(), SwapsOutputs()], ids=lambda r: str(r.id))
def test_a_rule_that_edits_the_graph_itself_is_left_out_and_named(wrong: Rewrite) -> None:
    model = load(model_of(NET, 17))
    before = model.to_proto().SerializeToString(deterministic=True)
    result = optimize(model, "eliminate-identity", rules=[wrong])
    assert [u.rule for u in result.report.undone] == [wrong.id]
    assert [a.rule for a in result.report.applied] == ["eliminate-identity"]
    assert model.to_proto().SerializeToString(deterministic=True) == before
    assert result.model.inputs == model.inputs
    assert result.model.outputs == model.outputs
    assert [n.attrs.get("axis") for n in result.model.graph.nodes if n.op == "Softmax"] == [1]


def test_an_edit_without_any_patch_changes_nothing() -> None:
    model = load(model_of("g (float[4,4] x) => (float[4,4] y) { y = Softmax <axis = 1> (x) }", 17))
    result = optimize(model, "remove-dead-code", rules=[Edits()])
    assert result.model.graph.nodes[0].attrs["axis"] == 1


class Fails(Rewrite):
    """Meets what its author did not think of."""

    id = "fails"
    roots = ("Neg",)

    def at(self, node: Node, region: Region) -> Patch | None:
        raise KeyError("axes")


def test_a_rule_that_fails_is_named_and_the_others_go_on() -> None:
    result = optimize(load(model_of(NET, 17)), "eliminate-identity", rules=[Fails()])
    assert [(u.rule, u.node) for u in result.report.undone] == [("fails", "Neg_2")]
    assert "KeyError" in result.report.undone[0].reason
    assert [a.rule for a in result.report.applied] == ["eliminate-identity"]


def test_only_the_guilty_one_of_two_applications_goes() -> None:
    def but_late(patch: Patch, node: Node, region: Region) -> None:
        op = "Identity" if region.producer(node.inputs[0], "Abs") is not None else "HardSigmoid"
        patch.add(op, [node.inputs[0]], out=node.outputs[0])

    text = "g (float[4] x) => (float[4] y) { a = Abs (x)  b = Relu (a)  c = Relu (x)  y = Add (b, c) }"
    report = outcome(text, rule("right-once", "Relu", but_late))
    assert [(u.rule, u.node) for u in report.undone] == [("right-once", "Relu_2")]
    assert [(a.rule, a.node) for a in report.applied] == [("right-once", "Relu_1")]


def test_two_wrong_rules_are_both_named() -> None:
    text = "g (float[4,4] x) => (float[4,4] y) { a = Abs (x)  b = Softmax <axis = 0> (a)  y = Exp (b) }"
    wrong = [rule("first", "Abs", forwards), rule("second", "Softmax", without("axis"))]
    report = optimize(load(model_of(text, 17)), "remove-dead-code", rules=wrong).report
    assert {u.rule for u in report.undone} == {"first", "second"}


def test_what_the_inputs_cannot_show_is_said() -> None:
    saturated = "g (float[4,8] x) => (float[4,8] y, float[4,8] z) <float big = {200}> { a = Identity (x)  b = Add (a, big)  y = Sigmoid (b)  z = Neg (b) }"
    check = outcome_of(saturated)
    assert check.verification.scope == "whole"
    assert check.verification.unproven == ("y",)
    nothing = (
        "g (float[4,8] x) => (float[4,8] y) <float none = {-900}> { a = Identity (x)  b = Add (a, none)  y = Log (b) }"
    )
    assert outcome_of(nothing).verification.unproven == ("y",)


def test_an_output_that_depends_on_no_input_needs_no_other_inputs() -> None:
    text = "g (float[2,3] x) => (float[2] y, int64[2] s) <float[2] k = {1, 1}> { a = Identity (k)  y = Neg (a)  s = Shape (x) }"
    assert outcome_of(text).verification.unproven == ()


def outcome_of(text: str) -> Report:
    return optimize(load(model_of(text, 17)), "eliminate-identity").report


def test_a_tie_that_rounding_decides_is_no_mistake_and_a_clear_choice_is() -> None:
    text = """g (float[4,64] x) => (int64[4] y) <float[64,64] w, float[64] b>
        { a = MatMul (x, w)  c = Add (a, b)  y = ArgMax <axis = 1, keepdims = 0> (c) }"""
    model = load(model_of(text, 17))
    w = next(t for n in model.graph.nodes for t in n.inputs if isinstance(t, Constant) and t.name == "w")
    values = np.array(w.values)
    values[:, 1] = values[:, 0]
    model.graph.nodes[0].inputs[1] = Constant("w2", values)
    bias = np.zeros(64, np.float32)
    bias[:2] = 100
    model.graph.nodes[1].inputs[1] = Constant("b2", bias)

    def nudge(by: float) -> Rewrite:
        def write(patch: Patch, node: Node, region: Region) -> bool:
            if node.inputs[1].name.startswith("moved"):
                return False
            moved = bias + np.where(np.arange(64) == 1, np.float32(by), np.float32(0))
            patch.add("Add", [node.inputs[0], patch.constant(moved, "moved")], out=node.outputs[0])
            return True

        return rule("moves-the-second", "Add", write)

    kept = optimize(model, "remove-dead-code", rules=[nudge(2e-5)]).report
    assert not kept.undone
    assert kept.applied
    undone = optimize(model, "remove-dead-code", rules=[nudge(5.0)]).report
    assert [u.rule for u in undone.undone] == ["moves-the-second"]


def test_results_equal_the_original_where_the_wrong_rule_was_wrong() -> None:
    text, wrong = CASES["only for negative images"]
    model = load(model_of(text, 20))
    result = optimize(model, "remove-dead-code", rules=[wrong])
    x = np.linspace(-3, 3, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    assert np.array_equal(Session(model).run({"x": x})["y"], Session(result.model).run({"x": x})["y"])  # type: ignore[arg-type]


def test_bodies_are_graphs_of_their_own() -> None:
    text, _ = CASES["a branch not taken"]
    model = load(model_of(text, 20))
    assert any(isinstance(v, Graph) for n in model.graph.nodes for v in n.attrs.values())
