"""Patterns say why they nearly matched; patches change nothing before they are applied and put everything back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exec.errors import RewriteError
from exec.ir import Model, Node, Variable, load
from passes.base import Rewrite
from passes.invariants import check_model, check_patch
from passes.optimize import optimize
from passes.patch import VALUE, Patch, merging
from passes.pattern import ANY, any_, const, either, number, op, optional, scalar
from passes.region import Region, Workspace
from passes.selftest import model_of


def opened(text: str, opset: int = 17) -> tuple[Model, Region]:
    model = load(model_of(text, opset))
    return model, Workspace(model).main


def node(region: Region, name: str) -> Any:
    return next(n for n in region.graph.nodes if n.outputs[0].name == name)


def test_a_commutative_op_matches_in_either_order() -> None:
    _, region = opened(" g (float[2] x) => (float[2] y) <float k = {2}> { a = Relu (x)  b = Mul (k, a)  y = Neg (b) } ")
    match = op("Mul", op("Relu", any_("x"), as_="relu"), scalar("k")).match(node(region, "b"), region)
    assert match is not None
    assert match["relu"].op == "Relu"
    assert match.number("k") == 2
    assert match.objection is None


def test_one_name_means_one_value() -> None:
    _, region = opened(
        " g (float[2] x, float[2] z) => (float[2] y, float[2] w) { a = Sigmoid (x)  y = Mul (x, a)  w = Mul (z, a) } "
    )
    pattern = op("Mul", any_("x"), op("Sigmoid", any_("x"), shared=True))
    assert pattern.match(node(region, "y"), region) is not None
    assert pattern.match(node(region, "w"), region) is None


def test_a_value_read_inside_the_match_twice_is_no_objection() -> None:
    _, region = opened(" g (float[2] x) => (float[2] y) { d = Abs (x)  s = Mul (d, d)  y = Div (d, s) } ")
    inner = op("Abs", any_("x"), as_="d")
    match = op("Div", inner, op("Mul", inner, inner)).match(node(region, "y"), region)
    assert match is not None
    assert match.objection is None


def test_near_misses_say_who_is_in_the_way() -> None:
    _, region = opened(
        " g (float[2] x, float[2] k) => (float[2] y, float[2] z) { a = Relu (x)  y = Mul (a, k)  z = Neg (a) } "
    )
    match = op("Mul", op("Relu", ANY), ANY).match(node(region, "y"), region)
    assert match is not None
    assert match.objection is not None
    assert match.objection.reason == "the output of Relu_0 is also read by Neg_2"
    match = op("Mul", op("Relu", ANY, shared=True), const("k")).match(node(region, "y"), region)
    assert match is not None
    assert match.objection is not None
    assert match.objection.reason == "k is not a constant"


def test_a_value_that_is_a_graph_output_is_an_objection() -> None:
    _, region = opened(" g (float[2] x) => (float[2] y, float[2] a) { a = Relu (x)  y = Neg (a) } ")
    match = op("Neg", op("Relu", ANY)).match(node(region, "y"), region)
    assert match is not None
    assert match.objection is not None
    assert match.objection.reason == "the output of Relu_0 is also a graph output"


def test_numbers_optional_parts_and_alternatives() -> None:
    _, region = opened(
        " g (float[1,1,3,3] x) => (float[1,1,3,3] y) <float k = {0.5}, float[1,1,1,1] w> { a = Conv (x, w)  y = Mul (a, k) } "
    )
    conv = op("Conv", ANY, const("w"), optional(const("b")), as_="conv")
    match = op("Mul", conv, either(number(2.0), number(0.5))).match(node(region, "y"), region)
    assert match is not None
    assert match.get("b") is None
    assert op("Mul", conv, number(2.0)).match(node(region, "y"), region) is None


CHAIN = " g (float[2] x) => (float[2] y) { a = Identity (x)  b = Relu (a)  c = Identity (b)  y = Neg (c) } "


def test_nothing_changes_before_a_patch_is_applied() -> None:
    model, region = opened(CHAIN)
    before = model.to_proto().SerializeToString(deterministic=True)
    anchor = node(region, "b")
    patch = Patch("test", region, anchor)
    patch.add("Abs", [anchor.inputs[0], patch.constant(np.zeros(3), "k")], out=anchor.outputs[0])
    assert "+ b = Abs(a, k)" in patch.preview()
    assert model.to_proto().SerializeToString(deterministic=True) == before


def test_an_applied_patch_takes_over_the_value_and_buries_the_dead() -> None:
    model, region = opened(CHAIN)
    before = model.to_proto().SerializeToString(deterministic=True)
    anchor = node(region, "y")
    patch = Patch("test", region, anchor, (node(region, "c"), anchor))
    patch.add("Abs", [model.graph.inputs[0]], out=anchor.outputs[0])
    done = patch.apply()
    check_patch(done)
    nodes = list(region.graph.nodes)
    region.flush()
    assert [n.op for n in model.graph.nodes] == ["Abs"]
    assert len(done.gone) == 4
    check_model(model)
    done.undo()
    region.graph.nodes[:] = nodes
    assert model.to_proto().SerializeToString(deterministic=True) == before


def test_a_patch_is_stale_once_its_place_has_changed() -> None:
    _, region = opened(CHAIN)
    anchor = node(region, "b")
    first, second = (Patch("test", region, anchor) for _ in range(2))
    for patch in (first, second):
        patch.add("Abs", [anchor.inputs[0]], out=anchor.outputs[0])
    first.apply()
    with pytest.raises(RewriteError, match="out of date"):
        second.apply()


def test_how_two_values_become_one_depends_on_who_hands_them_out() -> None:
    model, region = opened(
        " g (float[2] x) => (float[2] o1, float[2] o2, float[2] o3) { a = Exp (x)  o1 = Identity (a)  o2 = Identity (x)  o3 = Identity (a)  b = Identity (a) } "
    )
    x, a = model.graph.inputs[0], node(region, "a").outputs[0]
    values = {n.outputs[0].name: n.outputs[0] for n in model.graph.nodes}
    assert merging(region, values["b"], a) == "redirect"
    assert merging(region, values["o1"], a) == "rename"
    assert merging(region, values["o2"], x) == ""
    assert merging(region, values["o1"], values["o3"]) == ""


def test_a_changed_type_or_shape_or_unknown_attribute_is_refused() -> None:
    for write, message in (
        (lambda p, x, y: p.add("Cast", [x], {"to": 11}, out=y), "changed a value's type"),
        (lambda p, x, y: p.add("Unsqueeze", [x, p.ints([0], "ax")], out=y), "changed a value's shape"),
        (lambda p, x, y: p.add("Relu", [x], {"alpha": 1.0}, out=y), "Relu has no attribute 'alpha' in opset 17"),
        (lambda p, x, y: p.add("Swish", [x], out=y), "Swish does not exist in opset 17"),
        (lambda p, x, y: p.add("Relu", [x, x], out=y), "Relu takes 1 to 1 inputs"),
    ):
        _, region = opened(CHAIN)
        anchor = node(region, "b")
        patch = Patch("test", region, anchor)
        write(patch, anchor.inputs[0], anchor.outputs[0])
        done = patch.apply()
        with pytest.raises(RewriteError, match=message):
            check_patch(done)


def test_fresh_values_can_say_what_they_equal() -> None:
    _, region = opened(CHAIN)
    anchor = node(region, "b")
    patch = Patch("test", region, anchor)
    narrow = patch.add("Cast", [anchor.inputs[0]], {"to": 11}, hint="a_wide")
    patch.equals(narrow, anchor.inputs[0], "cast")
    wide = patch.add("Relu", [narrow])
    patch.add("Cast", [wide], {"to": 1}, out=anchor.outputs[0])
    patch.apply()
    assert narrow.metadata[VALUE] == '{"of": "a", "how": "cast"}'


def test_two_previews_of_one_name_do_not_collide() -> None:
    model, region = opened(" g (float[2] x) => (float[2] y, float[2] z) { y = Neg (x)  z = Neg (y) } ")
    patches = []
    for name in ("y", "z"):
        anchor = node(region, name)
        patch = Patch("test", region, anchor)
        patch.add("Mul", [anchor.inputs[0], patch.constant(np.float32([-1]), "minus")], out=anchor.outputs[0])
        patches.append(patch)
    for patch in patches:
        patch.apply()
    region.flush()
    check_model(model)
    assert len({n.inputs[1].name for n in model.graph.nodes}) == 2


def test_one_fresh_value_can_stand_for_two_outputs() -> None:
    text = """g (uint8[N,4] c) => (uint8[N,4] y, uint8[N,4] z) { a = Transpose <perm = [1, 0]> (c)  b = Abs (a)
        y = Transpose <perm = [1, 0]> (b)  z = Transpose <perm = [1, 0]> (b) }"""
    result = optimize(load(model_of(text, 17)), "move-transpose-down", verify=False)
    check_model(result.model)
    assert result.report.applied
    assert [t.name for t in result.model.graph.outputs] == ["y", "z"]


def test_a_patch_that_reads_what_nobody_makes_is_undone() -> None:
    class Dangles(Rewrite):
        id = "dangles"
        roots = ("Abs",)

        def at(self, node: Node, region: Region) -> Patch:
            patch = self.patch(region, node)
            patch.add("Relu", [Variable("nowhere", np.float32, [4])], out=node.outputs[0])
            return patch

    report = optimize(
        load(model_of("g (float[4] x) => (float[4] y) { y = Abs (x) }", 17)), "safe", rules=[Dangles()]
    ).report
    assert [u.rule for u in report.undone] == ["dangles"]
    assert "reads what nobody makes" in report.undone[0].reason
