"""What counts as equal: a share of the value's range, and when that is the function's own range it is said."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from exec.errors import FeedError
from workbench import compare, load


def sigmoid_of(offset: float) -> onnx.ModelProto:
    text = f"g (float[4] x) => (float[4] y) <float[1] k = {{{offset}}}> {{ z = Add(x, k) y = Sigmoid(z) }}"
    proto: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    return proto


FEEDS = {"x": np.float32([0.0, 0.1, -0.2, 0.3])}


def test_what_stays_near_one_end_of_a_sigmoid_is_measured_by_its_span_and_says_so() -> None:
    result = compare(load(sigmoid_of(-12.0)), load(sigmoid_of(-11.0)), FEEDS)
    (output,) = result.outputs
    assert output.within
    assert output.max_of_range > 0.5
    assert "Sigmoid spans" in output.note


def test_a_tolerance_that_was_asked_for_is_kept_to() -> None:
    result = compare(load(sigmoid_of(-12.0)), load(sigmoid_of(-11.0)), FEEDS, tolerance=1e-2)
    assert not result.equal
    assert result.first is not None


def test_a_sigmoid_in_its_middle_is_measured_by_its_values() -> None:
    assert not compare(load(sigmoid_of(0.0)), load(sigmoid_of(0.5)), FEEDS).equal


def test_outputs_are_paired_by_name() -> None:
    def two(first: str, second: str, body: str) -> onnx.ModelProto:
        text = f"g (float[4] x) => (float[4] {first}, float[4] {second}) {{ {body} }}"
        proto: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
        return proto

    before = load(two("y", "z", "y = Relu(x) z = Neg(x)"))
    assert compare(before, load(two("z", "y", "y = Relu(x) z = Neg(x)")), FEEDS).equal
    assert not compare(before, load(two("z", "y", "z = Relu(x) y = Neg(x)")), FEEDS).equal


def test_models_of_different_inputs_are_told_apart_before_anything_runs() -> None:
    def named(name: str) -> onnx.ModelProto:
        text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[4] {name}) => (float[4] y) {{ y = Relu({name}) }}'
        proto: onnx.ModelProto = parser.parse_model(text)
        return proto

    with pytest.raises(FeedError, match="B has inputs that A has not: image") as caught:
        compare(load(named("x")), load(named("image")), FEEDS)
    assert "A has x" in caught.value.where
