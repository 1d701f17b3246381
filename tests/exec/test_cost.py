"""What nodes cost: counted by hand here, from shapes there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import defs

from exec.cost import cost_of
from exec.trace import Spec

F = np.dtype(np.float32)


def spec(*shape: int, dtype: Any = F) -> Spec:
    return Spec(shape, np.dtype(dtype))


def cost(
    op: str,
    inputs: list[Spec | None],
    outputs: list[Spec],
    constants: tuple[bool, ...] = (),
    domain: str = "",
    **a: Any,
) -> Any:
    return cost_of(op, a, inputs, outputs, constants, domain)


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attributes", "macs"),
    [
        ("Conv", [(1, 3, 224, 224), (64, 3, 7, 7)], (1, 64, 112, 112), {"strides": [2, 2]}, 64 * 112 * 112 * 3 * 49),
        ("Conv", [(2, 32, 14, 14), (32, 1, 3, 3)], (2, 32, 14, 14), {"group": 32}, 2 * 32 * 14 * 14 * 9),
        ("ConvTranspose", [(1, 8, 5, 5), (8, 4, 2, 2)], (1, 4, 10, 10), {"strides": [2, 2]}, 8 * 25 * 4 * 4),
        ("MatMul", [(2, 5, 7), (7, 3)], (2, 5, 3), {}, 2 * 5 * 3 * 7),
        ("MatMul", [(2, 4, 5, 7), (2, 4, 7, 3)], (2, 4, 5, 3), {}, 8 * 5 * 3 * 7),
        ("Gemm", [(5, 7), (3, 7), (3,)], (5, 3), {"transB": 1}, 5 * 3 * 7),
        ("Gemm", [(7, 5), (7, 3)], (5, 3), {"transA": 1}, 5 * 3 * 7),
        ("LSTM", [(9, 2, 4), (1, 12, 4), (1, 12, 3)], (9, 1, 2, 3), {"hidden_size": 3}, 9 * 2 * 12 * (4 + 3)),
        ("QLinearConv", [(1, 3, 8, 8), (), (), (4, 3, 3, 3), (), (), (), ()], (1, 4, 6, 6), {}, 4 * 36 * 27),
        ("MatMulInteger", [(5, 7), (7, 3)], (5, 3), {}, 105),
        ("Add", [(5, 7), (7,)], (5, 7), {}, 0),
    ],
)  # fmt: skip
def test_multiply_adds(op: str, inputs: Any, outputs: Any, attributes: Any, macs: int) -> None:
    found = cost(op, [spec(*s) for s in inputs], [spec(*outputs)], **attributes)
    assert found.macs == macs
    assert found.flops >= 2 * macs


def test_bytes_are_those_of_inputs_and_outputs() -> None:
    found = cost("Add", [spec(5, 7), spec(7)], [spec(5, 7)])
    assert (found.bytes_read, found.bytes_written) == (4 * 42, 4 * 35)
    assert found.flops == 35


def test_a_view_moves_nothing() -> None:
    found = cost("Reshape", [spec(5, 7), spec(2, dtype=np.int64)], [spec(35)])
    assert (found.flops, found.bytes_read, found.bytes_written) == (0, 0, 0)


def test_a_gather_reads_what_it_takes_not_the_table() -> None:
    found = cost("Gather", [spec(50000, 64), spec(9, dtype=np.int64)], [spec(9, 64)])
    assert found.bytes_read < 3 * 9 * 64 * 4


def test_parameters_are_the_constant_inputs() -> None:
    found = cost("Gemm", [spec(5, 7), spec(7, 3), spec(3)], [spec(5, 3)], (False, True, True))
    assert (found.weight_elements, found.weight_bytes) == (24, 96)


def test_costs_add_up() -> None:
    one = cost("Add", [spec(5, 7), spec(7)], [spec(5, 7)])
    assert (one + one).flops == 70
    assert one.intensity == 35 / (4 * 77)


def test_what_has_no_shape_has_no_cost() -> None:
    assert cost_of("Add", {}, [spec(2), None], [None]) is None
    assert cost("Conv", [None, None], [spec(1, 2, 3, 3)]) is None


def test_every_op_has_a_cost_or_none_but_never_an_error() -> None:
    shapes: list[Spec | None] = [spec(2, 3, 4, 5)] * 6
    for schema in defs.get_all_schemas():
        for inputs in (shapes[: max(schema.min_input, 1)], [None], []):
            found = cost_of(schema.name, {}, inputs, shapes[:1], (), schema.domain)
            assert found is None or min(found.macs, found.flops, found.bytes_read, found.bytes_written) >= 0
