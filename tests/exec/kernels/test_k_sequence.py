"""Sequences and optionals."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from exec.errors import ExecutionError
from exec.ir import load
from exec.session import Session

TENSORS = [np.arange(3, dtype=np.float32), np.arange(4, dtype=np.float32), np.arange(2, dtype=np.float32)]


def test_a_sequence_is_made_and_measured(compute: Any) -> None:
    (made,) = compute("SequenceConstruct", *TENSORS)
    assert [x.shape for x in made] == [(3,), (4,), (2,)]
    assert compute("SequenceEmpty")[0] == []
    (length,) = compute("SequenceLength", made)
    assert (length.dtype, length.shape, length.item()) == (np.int64, (), 3)


@pytest.mark.parametrize("position", [-3, -1, 0, 2])
def test_positions_count_from_both_ends(check: Any, position: int) -> None:
    check("SequenceAt", TENSORS, np.array(position))
    check("SequenceErase", TENSORS, np.array(position))
    check("SequenceInsert", TENSORS, np.zeros(5, np.float32), np.array(position))


def test_without_a_position_it_is_the_end(check: Any) -> None:
    check("SequenceErase", TENSORS)
    check("SequenceInsert", TENSORS, np.zeros(5, np.float32))


def test_an_op_on_a_sequence_leaves_it_alone(compute: Any) -> None:
    before = list(TENSORS)
    compute("SequenceErase", before)
    compute("SequenceInsert", before, np.zeros(1, np.float32))
    assert len(before) == 3


@pytest.mark.parametrize(
    ("op", "position"), [("SequenceAt", 3), ("SequenceAt", -4), ("SequenceErase", 3), ("SequenceInsert", 4)]
)
def test_a_position_outside_says_so(compute: Any, op: str, position: int) -> None:
    extra = [np.zeros(1, np.float32)] if op == "SequenceInsert" else []
    with pytest.raises(ExecutionError, match="outside a sequence of 3"):
        compute(op, TENSORS, *extra, np.array(position))


@pytest.mark.parametrize("split", [np.array(2), np.array(5), np.array([1, 4, 1])])
@pytest.mark.parametrize("axis", [0, -1])
def test_split_to_sequence_by_lengths_keeps_the_axis(check: Any, split: Any, axis: int) -> None:
    x = np.arange(36, dtype=np.float32).reshape(6, 6)
    (kept,) = check("SplitToSequence", x, split, axis=axis, engines=["onnxruntime"])
    (same,) = check("SplitToSequence", x, split, axis=axis, keepdims=0, engines=[])
    assert [part.shape for part in same] == [part.shape for part in kept]


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_split_to_sequence_into_single_indices(check: Any, axis: int, keepdims: int) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check("SplitToSequence", x, axis=axis, keepdims=keepdims, engines=["onnxruntime"])


def test_a_split_that_does_not_add_up_says_so(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="add up to 3, the axis has 4"):
        compute("SplitToSequence", np.zeros(4, np.float32), np.array([1, 2]))


@pytest.mark.parametrize("new_axis", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_from_sequence(check: Any, new_axis: int, axis: int) -> None:
    parts = [np.full((2, 3), k, np.float32) for k in range(3)]
    check("ConcatFromSequence", parts, axis=axis, new_axis=new_axis)


MAP = """<ir_version: 9, opset_import: ["": 19]>
g (float[N] a, float[M] b, float[1] w) => (float[K] y, int64[L] z) {
    s = SequenceConstruct (a, b)
    p, q = SequenceMap (s, w) <body = body (float[D] x, float[1] v) => (float[D] u, int64[1] n) { u = Mul (x, v)  n = Shape (x) }>
    y = ConcatFromSequence <axis = 0> (p)
    z = ConcatFromSequence <axis = 0> (q)
}"""


def test_a_body_runs_on_every_element_of_a_sequence() -> None:
    session = Session(load(onnx.parser.parse_model(MAP)))
    got = session.run({"a": np.ones(2, np.float32), "b": np.ones(3, np.float32), "w": np.array([5], np.float32)})
    assert got["y"].tolist() == [5] * 5
    assert got["z"].tolist() == [2, 3]


def test_an_optional_has_its_value_or_none(compute: Any) -> None:
    x = np.ones(2, np.float32)
    assert compute("Optional", x)[0] is x
    assert compute("OptionalGetElement", x)[0] is x
    assert compute("OptionalHasElement", x)[0].item() is True
    assert compute("OptionalHasElement", TENSORS)[0].item() is True
    assert compute("OptionalHasElement", None)[0].item() is False
    assert compute("OptionalHasElement")[0].item() is False
    with pytest.raises(ExecutionError, match="no element to get"):
        compute("OptionalGetElement", None)
