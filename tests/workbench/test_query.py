"""The query language: what matches, and where an error points."""

from __future__ import annotations

import pytest

from exec.errors import OptionError
from workbench import load
from workbench.nodes import node_table, select
from workbench.query import number, parse
from workbench.samples import sample
from workbench.shapes import inferred


@pytest.fixture(scope="module")
def table():  # type: ignore[no-untyped-def]
    model = load(sample("digits_cnn.onnx"))
    return node_table(model, shapes=inferred(model))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 13), ("op:Conv", 3), ("-op:Conv", 10), ("op:Conv,Relu", 6), ("op:*Pool", 2), ("name:~conv", 3), ("relu", 3), ("op:Conv attr.group=1", 3),
        ("shape:*x64x8x8", 3), ("params>1000", 3), ("const:yes", 7), ("dtype:float32", 13), ("dtype:int8", 0), ("in:image", 1), ("out:logits", 1), ("op:Gemm attr.transB>0", 1),
    ],
)  # fmt: skip
def test_a_query_selects(table, query: str, count: int) -> None:  # type: ignore[no-untyped-def]
    assert len(select(table, query)) == count


def test_near_follows_wires_both_ways(table) -> None:  # type: ignore[no-untyped-def]
    label = table.label(1)
    assert len(select(table, f'near:"{label},1"')) == 3


@pytest.mark.parametrize(
    ("query", "column", "reason"),
    [("op:", 4, "needs a value"), ("foo:1", 1, "no field"), ("macs:3", 5, "is a number"), ("op>3", 3, "is a text"), ("name:~(", 7, "regular expression"), ("macs>x", 6, "is no number"), ('"a', 1, "quote")],
)  # fmt: skip
def test_an_error_points_at_its_column(query: str, column: int, reason: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse(query)
    assert f"column {column} " in caught.value.where
    assert reason in caught.value.what


@pytest.mark.parametrize(("text", "value"), [("2%", 0.02), ("5k", 5000), ("1e6", 1e6), ("3ms", 3e6), ("-1.5", -1.5)])
def test_numbers_take_units(text: str, value: float) -> None:
    assert number(text) == pytest.approx(value)
