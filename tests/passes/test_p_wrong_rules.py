"""Twenty rewrites that are wrong on purpose: verification must catch each, undo it and name it, and leave the right ones in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from exec.ir import Node, load
from exec.session import Session
from passes.base import Rewrite, Safety
from passes.optimize import optimize
from passes.patch import Patch
from passes.pattern import ANY, Match, any_, const, op
from passes.region import Region
from passes.selftest import feeds_of, model_of
from passes.write import squeeze, transpose

NET = """ g (float[1,3,8,8] x) => (float[1,4] y) <float[4,3,3,3] w, float[4] wb, float[4] scale, float[4] b, float[4] mean, float[4] var,
    float[4,4,1,1] w2, float[4] b2, float[16,4] fc, float[4] fb, int64[2] flat = {1, 16}, float half = {0.5}> {
    c = Conv (x, w, wb)  n = BatchNormalization (c, scale, b, mean, var)  p = MaxPool <kernel_shape = [3, 3], strides = [3, 3]> (n)
    d = Conv (p, w2, b2)  r = Relu (d)  e = Add (r, d)  t = Tanh (e)  u = Transpose <perm = [0, 1, 3, 2]> (t)  s = Sigmoid (u)  m = Mul (s, half)
    f = Reshape (m, flat)  o = MatMul (f, fc)  a = Add (o, fb)  v = Exp (a)  k = ReduceSum <keepdims = 1> (v)  y = Div (v, k) } """


class Wrong(Rewrite):
    """The common part: each wrong rule overrides `at` or `rewrite`."""

    safety = Safety.ROUNDING


def wrong(name: str, roots: str) -> Any:
    """A rule class from a function that writes the patch."""

    def make(function: Any) -> type[Rewrite]:
        class Rule(Wrong):
            id = name

            def at(self, node: Node, region: Region) -> Patch | None:
                return function(self, node, region)  # type: ignore[no-any-return]

        Rule.roots = tuple(roots.split("|"))
        return Rule

    return make


def conv_bn(self: Rewrite, node: Node, region: Region, arrays: Any) -> Patch | None:
    conv = region.producer(node.inputs[0], "Conv")
    if conv is None:
        return None
    w, wb = region.constant(conv.inputs[1]), region.constant(conv.inputs[2])
    params = [region.constant(t) for t in node.inputs[1:5]]
    patch = self.patch(region, node, conv)
    weight, bias = arrays(w, wb, *params)
    inputs = [conv.inputs[0], patch.constant(weight.astype(np.float32), "w_new")]
    if bias is not None:
        inputs.append(patch.constant(bias.astype(np.float32), "b_new"))
    patch.add("Conv", inputs, conv.attrs, out=node.outputs[0])
    return patch


def column(a: Any) -> Any:
    return a.reshape(-1, 1, 1, 1)


@wrong("drops-the-bias", "BatchNormalization")
def drops_the_bias(self: Rewrite, node: Node, region: Region) -> Patch | None:
    return conv_bn(self, node, region, lambda w, wb, g, b, m, v: (w * column(g / np.sqrt(v + 1e-5)), None))


@wrong("forgets-the-root", "BatchNormalization")
def forgets_the_root(self: Rewrite, node: Node, region: Region) -> Patch | None:
    return conv_bn(
        self, node, region, lambda w, wb, g, b, m, v: (w * column(g / (v + 1e-5)), (wb - m) * g / (v + 1e-5) + b)
    )


@wrong("scales-the-wrong-axis", "BatchNormalization")
def scales_the_wrong_axis(self: Rewrite, node: Node, region: Region) -> Patch | None:
    def arrays(w: Any, wb: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
        s = g / np.sqrt(v + 1e-5)
        return w * s[:3].reshape(1, 3, 1, 1), (wb - m) * s + b

    return conv_bn(self, node, region, arrays)


@wrong("forgets-the-mean", "BatchNormalization")
def forgets_the_mean(self: Rewrite, node: Node, region: Region) -> Patch | None:
    return conv_bn(
        self,
        node,
        region,
        lambda w, wb, g, b, m, v: (w * column(g / np.sqrt(v + 1e-5)), wb * g / np.sqrt(v + 1e-5) + b),
    )


@wrong("ignores-the-conv-bias", "BatchNormalization")
def ignores_the_conv_bias(self: Rewrite, node: Node, region: Region) -> Patch | None:
    return conv_bn(
        self,
        node,
        region,
        lambda w, wb, g, b, m, v: (w * column(g / np.sqrt(v + 1e-5)), -m * g / np.sqrt(v + 1e-5) + b),
    )


@wrong("removes-relu", "Relu")
def removes_relu(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.replace(node.outputs[0], node.inputs[0])
    return patch


@wrong("relu-becomes-abs", "Relu")
def relu_becomes_abs(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.add("Abs", [node.inputs[0]], out=node.outputs[0])
    return patch


@wrong("pool-becomes-average", "MaxPool")
def pool_becomes_average(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.add("AveragePool", [node.inputs[0]], node.attrs, out=node.outputs[0])
    return patch


@wrong("removes-a-square-transpose", "Transpose")
def removes_a_square_transpose(self: Rewrite, node: Node, region: Region) -> Patch | None:
    # the shapes agree, so only the numbers can tell
    patch = self.patch(region, node)
    patch.replace(node.outputs[0], node.inputs[0])
    return patch


@wrong("transposes-other-axes", "Transpose")
def transposes_other_axes(self: Rewrite, node: Node, region: Region) -> Patch | None:
    if node.attrs["perm"] != [0, 1, 3, 2]:
        return None
    patch = self.patch(region, node)
    patch.add("Flip", [node.inputs[0]], out=node.outputs[0])
    return patch


@wrong("sigmoid-becomes-hard", "Sigmoid")
def sigmoid_becomes_hard(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.add("HardSigmoid", [node.inputs[0]], out=node.outputs[0])
    return patch


@wrong("drops-a-factor", "Mul")
def drops_a_factor(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.replace(node.outputs[0], node.inputs[0])
    return patch


@wrong("adds-the-bias-twice", "Add")
def adds_the_bias_twice(self: Rewrite, node: Node, region: Region) -> Patch | None:
    array = region.constant(node.inputs[1])
    if array is None or "twice" in node.inputs[1].name:
        return None
    patch = self.patch(region, node)
    patch.add("Add", [node.inputs[0], patch.constant(array * 2, "twice")], out=node.outputs[0])
    return patch


@wrong("gemm-without-c", "Add")
def gemm_without_c(self: Rewrite, node: Node, region: Region) -> Patch | None:
    product = region.producer(node.inputs[0], "MatMul")
    if product is None:
        return None
    patch = self.patch(region, node, product)
    patch.add("Gemm", list(product.inputs), out=node.outputs[0])
    return patch


@wrong("swaps-the-division", "Div")
def swaps_the_division(self: Rewrite, node: Node, region: Region) -> Patch | None:
    if "swapped" in node.attrs or region.producer(node.inputs[1], "ReduceSum") is None:
        return None
    patch = self.patch(region, node)
    patch.add("Mul", [node.inputs[0], node.inputs[1]], out=node.outputs[0])
    return patch


@wrong("sum-becomes-mean", "ReduceSum")
def sum_becomes_mean(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.add("ReduceMean", [node.inputs[0]], node.attrs, out=node.outputs[0])
    return patch


@wrong("loses-an-axis", "ReduceSum")
def loses_an_axis(self: Rewrite, node: Node, region: Region) -> Patch | None:
    # a stale shape: the value that keeps its name has two axes, not one
    patch = self.patch(region, node)
    squeeze(patch, node.inputs[0], [0], out=node.outputs[0])
    return patch


@wrong("writes-an-attribute-of-the-future", "Softmax|Exp")
def writes_an_attribute_of_the_future(self: Rewrite, node: Node, region: Region) -> Patch | None:
    patch = self.patch(region, node)
    patch.add("Swish", [node.inputs[0]], out=node.outputs[0])
    return patch


@wrong("reorders-the-elements", "Reshape")
def reorders_the_elements(self: Rewrite, node: Node, region: Region) -> Patch | None:
    if region.producer(node.inputs[0], "Transpose") is not None:
        return None
    patch = self.patch(region, node)
    turned = transpose(patch, node.inputs[0], [0, 3, 1, 2])
    patch.add("Reshape", [turned, node.inputs[1]], out=node.outputs[0])
    return patch


class HalvesTheWeight(Wrong):
    """A weight that was scaled but whose output was not."""

    id = "halves-the-weight"
    pattern = op("MatMul", ANY, const("w"))

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        if match["w"].name.startswith("halved"):
            return None
        patch = self.patch(region, match.root)
        half = patch.constant(match.array("w") * np.float32(0.5), "halved")
        patch.add("MatMul", [match.root.inputs[0], half], out=match.root.outputs[0])
        return patch


class SquaresInsteadOfTanh(Wrong):
    """Another function of the right shape."""

    id = "squares-instead-of-tanh"
    pattern = op("Tanh", any_("x"))

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        patch = self.patch(region, match.root)
        patch.add("Mul", [match["x"], match["x"]], out=match.root.outputs[0])
        return patch


RULES: list[type[Rewrite]] = [
    drops_the_bias, forgets_the_root, scales_the_wrong_axis, forgets_the_mean, ignores_the_conv_bias, removes_relu, relu_becomes_abs,
    pool_becomes_average, removes_a_square_transpose, transposes_other_axes, sigmoid_becomes_hard, drops_a_factor, adds_the_bias_twice,
    gemm_without_c, swaps_the_division, sum_becomes_mean, loses_an_axis, writes_an_attribute_of_the_future, reorders_the_elements,
    HalvesTheWeight, SquaresInsteadOfTanh,
]  # fmt: skip


@pytest.fixture(scope="module")
def net() -> onnx.ModelProto:
    return model_of(NET, 17)


def test_there_are_at_least_twenty() -> None:
    assert len({rule.id for rule in RULES}) >= 20


@pytest.mark.parametrize("kind", RULES, ids=[r.id for r in RULES])
def test_a_wrong_rule_is_caught_undone_and_named(kind: type[Rewrite], net: onnx.ModelProto) -> None:
    model = load(net)
    result = optimize(model, "remove-dead-code", rules=[kind()])
    assert {u.rule for u in result.report.undone} == {kind.id}
    assert all(u.reason for u in result.report.undone)
    assert not result.report.of(kind.id)
    feeds = feeds_of(net)
    want, got = Session(model).run(feeds)["y"], Session(result.model).run(feeds)["y"]
    assert np.array_equal(np.asarray(want), np.asarray(got))


def test_right_rules_stay_when_a_wrong_one_is_undone(net: onnx.ModelProto) -> None:
    result = optimize(load(net), "fuse-conv-bn,fuse-matmul-add", rules=[removes_relu()])
    assert [u.rule for u in result.report.undone] == ["removes-relu"]
    assert len(result.report.of("fuse-conv-bn")) == 1
    assert len(result.report.of("fuse-matmul-add")) == 1
    assert result.report.verification.scope == "whole"
    assert result.report.verification.worst <= result.report.verification.tolerance
