"""Recurrent layers lose the zeros they start at, and keep every state that is not 0 or not known."""

from __future__ import annotations

import pytest

from exec.ir import load
from passes.optimize import optimize
from passes.selftest import model_of

SIZES = "s = Shape <start = 1, end = 2> (x)  d = Concat <axis = 0> (two, s, two)"
HEAD = "g (float[5,N,3] x, float[1,N,2] given) => (float[1,N,2] y) <float[1,8,3] w, float[1,8,2] r, int64[1] two = {2}, int64[2] parts = {1, 1}>"


def inputs_after(body: str) -> list[str]:
    """Which inputs the LSTM has in the end."""
    result = optimize(load(model_of(f"{HEAD} {{ {body} }}", 17)))
    assert result.report.verification.scope == "whole"
    assert not result.report.undone
    layer = next(n for n in result.model.graph.nodes if n.op == "LSTM")
    return [t.name for t in layer.inputs]


def test_zeros_split_between_two_states_go_with_the_shapes_that_were_computed_for_them() -> None:
    body = f"{SIZES}  z = ConstantOfShape (d)  h, c = Split <axis = 0> (z, parts)  q, y = LSTM <hidden_size = 2> (x, w, r, , , h, c)"
    assert inputs_after(body) == ["x", "w", "r"]


def test_an_output_that_is_left_out_stays_left_out() -> None:
    body = f"{SIZES}  z = ConstantOfShape (d)  h, c = Split <axis = 0> (z, parts)  , , y = LSTM <hidden_size = 2> (x, w, r, , , h, c)"
    assert inputs_after(body) == ["x", "w", "r"]


def test_a_state_that_is_given_stays_beside_one_of_zeros() -> None:
    body = f"{SIZES}  z = ConstantOfShape (d)  h, c = Split <axis = 0> (z, parts)  q, y = LSTM <hidden_size = 2> (x, w, r, , , h, given)"
    assert inputs_after(body) == ["x", "w", "r", "", "", "", "given"]


@pytest.mark.parametrize("filled", ["ConstantOfShape <value = float[1] {0.5}> (d)", "Expand (half, d)"])
def test_a_state_of_another_number_stays(filled: str) -> None:
    body = f"half = Constant <value = float[1] {{0.5}}> ()  {SIZES}  z = {filled}  h, c = Split <axis = 0> (z, parts)  q, y = LSTM <hidden_size = 2> (x, w, r, , , h, given)"
    assert len(inputs_after(body)) == 7
    assert inputs_after(body)[5]
