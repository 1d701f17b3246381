"""Names after a rewrite: what was a Conv is known by the Conv's name."""

from __future__ import annotations

from exec.ir import load
from passes.optimize import optimize
from workbench.samples import sample


def test_a_fused_conv_keeps_the_name_of_the_conv() -> None:
    model = load(sample("digits_cnn.onnx"))
    before = {n.name: n.op for n in model.graph.nodes}
    model = optimize(model).model
    after = {n.name: n.op for n in model.graph.nodes}
    assert "BatchNormalization" not in after.values()
    assert {name: before[name] for name in after if name in before} == after
