"""A SplitToSequence whose parts are read by position becomes a Split, in each form it may have."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from exec.ir import load
from exec.metrics import difference
from passes.base import Safety
from passes.optimize import dry_run, optimize
from passes.selftest import feeds_of, run

FORMS = {
    "equal parts": "<int64 n = {3}> { s = SplitToSequence <axis = 1> (x, n) ",
    "a shorter last part": "<int64 n = {5}> { s = SplitToSequence <axis = -1> (x, n) ",
    "listed lengths": "<int64[3] n = {1, 2, 3}> { s = SplitToSequence <axis = 1> (x, n) ",
    "one part": "<int64 n = {9}> { s = SplitToSequence <axis = 1> (x, n) ",
    "each by itself": "{ s = SplitToSequence <axis = 1> (x) ",
    "each by itself, axis gone": "{ s = SplitToSequence <axis = 1, keepdims = 0> (x) ",
}


def model(start: str, opset: int) -> onnx.ModelProto:
    shape = "A" if "keepdims = 0" in start else "A, B"
    body = f"g (float[4,6] x) => (float[{shape}] y, float[{shape}] z) {start} i = Constant <value = int64 {{0}}> ()  j = Constant <value = int64 {{-1}}> ()  y = SequenceAt (s, i)  z = SequenceAt (s, j) }}"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {body}')


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("form", FORMS)
def test_no_sequence_is_left_and_the_parts_are_the_same(form: str, opset: int) -> None:
    proto = model(FORMS[form], opset)
    after = optimize(load(proto), verify=False).model.to_proto()
    onnx.checker.check_model(after)
    assert not any("Sequence" in node.op_type for node in after.graph.node)
    feeds = feeds_of(proto)
    got = run(after, feeds)
    for name, want in run(proto, feeds).items():
        assert difference(want, got[name]).within(Safety.EXACT.tolerance(np.asarray(want).dtype)), name


KEPT = {
    "the size of axis 1 is not known": "g (float[4,N] x, int64 i) => (y) <int64 n = {3}> { s = SplitToSequence <axis = 1> (x, n)  j = Constant <value = int64 {0}> ()  y = SequenceAt (s, j) }",
    "its lengths are computed": "g (float[4,6] x, int64 n) => (y) { s = SplitToSequence <axis = 1> (x, n)  j = Constant <value = int64 {0}> ()  y = SequenceAt (s, j) }",
    "it has 300 parts, 256 are taken apart": "g (float[300] x) => (y) { s = SplitToSequence <axis = 0> (x)  j = Constant <value = int64 {0}> ()  y = SequenceAt (s, j) }",
    "the sequence is also read by SequenceLength": "g (float[4,6] x) => (y, n) <int64 n0 = {3}> { s = SplitToSequence <axis = 1> (x, n0)  j = Constant <value = int64 {0}> ()  y = SequenceAt (s, j)  n = SequenceLength (s) }",
    "the sequence is also read by SequenceAt": "g (float[4,6] x, int64 i) => (y) <int64 n = {3}> { s = SplitToSequence <axis = 1> (x, n)  y = SequenceAt (s, i) }",
}


@pytest.mark.parametrize("reason", KEPT)
def test_what_cannot_be_taken_apart_is_kept_and_says_why(reason: str) -> None:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {KEPT[reason]}')
    report = dry_run(load(proto))
    assert reason in {r.reason for r in report.refused if r.rule == "replace-split-to-sequence"}
