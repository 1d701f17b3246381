"""The guilty rewrite and the guilty node are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from exec.errors import OptionError
from workbench import Model, Session, bisect, load
from workbench.bisection import reduce_difference, reduce_error
from workbench.cli.start import run

CHAIN = "g (float[4] x) => (float[4] y) { a = Exp(x) b = Neg(a) c = %s(b) d = Abs(c) y = Sqrt(d) }"


def model(text: str) -> Model:
    return load(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))


def test_a_right_optimization_has_no_culprit() -> None:
    assert bisect(model(CHAIN % "Relu")) == ()


def test_the_first_node_that_differs_is_all_that_is_left() -> None:
    found = reduce_difference(model(CHAIN % "Sin"), model(CHAIN % "Cos"))
    assert [n.op for n in found.model.graph.nodes] == ["Cos"]
    assert (found.nodes, found.of) == (1, 5)
    np.testing.assert_allclose(
        Session(found.model).run(found.inputs)["c"], np.cos(np.asarray(found.inputs["b"])), rtol=1e-5
    )


def test_two_models_that_agree_cannot_be_reduced() -> None:
    with pytest.raises(OptionError):
        reduce_difference(model(CHAIN % "Sin"), model(CHAIN % "Sin"))


def test_the_node_that_fails_is_cut_out_with_its_inputs(tmp_path: Path) -> None:
    broken = model("g (float[4] x) => (float[N] y) <int64[1] s = {3}> { a = Exp(x) b = Neg(a) y = Reshape(b, s) }")
    found = reduce_error(broken)
    assert [n.op for n in found.model.graph.nodes] == ["Reshape"]
    assert list(found.inputs) == ["b"]
    source = tmp_path / "broken.onnx"
    onnx.save(broken.to_proto(), source)
    assert run(["reduce", str(source), "-o", str(tmp_path / "part.onnx")]) == 0
    assert (tmp_path / "part.npz").exists()


def test_an_operator_nobody_knows_is_cut_out_of_a_model_with_open_sizes() -> None:
    head = '<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]> '
    unknown = load(parser.parse_model(head + "g (float[N,M] x) => (float[N,M] y) { a = Exp(x) y = my.ops.Swirl(a) }"))
    found = reduce_error(unknown)
    assert [n.op for n in found.model.graph.nodes] == ["Swirl"]
    assert found.shows == "no kernel for my.ops::Swirl, opset 1"
