"""What more allowed growth brings: never more nodes than less of it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from exec.ir import load
from passes.ledger import Ledger
from passes.optimize import optimize
from passes.selftest import model_of

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.mark.parametrize("name", ["light_resnet50", "light_shufflenet"])
def test_more_allowed_growth_never_gives_more_nodes(name: str) -> None:
    path = LIGHT / f"{name}.onnx"
    if not path.exists():
        pytest.skip("this onnx comes without its light models")
    model = load(path)
    counts = [
        optimize(model, verify=False, grow=grow).report.after.nodes for grow in (0, 4_000, 100_000, 1_000_000, 1 << 28)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def test_a_normalization_of_one_number_repeated_leaves_its_conv_one_number() -> None:
    text = """ g (float[1,16,4,4] x) => (float[1,128,4,4] y) <int64[4] s = {128, 16, 3, 3}, float[128] one, float[128] two> {
        w = ConstantOfShape <value = float[1] {2}> (s)  c = Conv <pads = [1, 1, 1, 1]> (x, w)  y = BatchNormalization (c, one, two, two, one) } """
    proto = model_of(text, 15)
    for tensor, number in zip(proto.graph.initializer[1:], (1.0, 2.0), strict=True):
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * 0 + number, tensor.name))
    report = optimize(load(proto)).report
    assert report.after.by_op == {"ConstantOfShape": 1, "Conv": 1}
    assert report.verification.scope == "whole"


def test_a_ledger_without_a_limit_is_spent_at_once() -> None:
    ledger = Ledger(100)
    assert ledger.last
    assert not ledger.affords(101)
    assert not ledger.widen()


def test_a_ledger_rises_in_steps_and_only_if_something_had_to_wait() -> None:
    ledger = Ledger(1000, 10_000)
    assert not ledger.widen()
    seen = []
    while not ledger.affords(1 << 40) and ledger.widen():
        seen.append((ledger.allowance, ledger.last))
    assert seen == [(4000, False), (10_000, False), (10_000, True)]
