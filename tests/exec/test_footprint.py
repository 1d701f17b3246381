"""What a run may take follows from what goes in: growth by doubling ends long before the machine's memory does."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from exec.budget import Budget, Limits
from exec.errors import BudgetExceeded
from exec.footprint import Footprint
from exec.ir import load
from exec.session import Session


def session(body: str, budget: Budget | None = None) -> Session:
    text = f'<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[M] y) {{ {body} }}'
    return Session(load(parser.parse_model(text)), budget=budget)


DOUBLINGS = (
    "a0 = Identity(x) " + "".join(f"a{k + 1} = Concat<axis = 0>(a{k}, a{k}) " for k in range(60)) + "y = Neg(a60)"
)
LOOP = (
    "m = Constant<value = int64 {60}>() go = Constant<value = bool {1}>() "
    "y = Loop(m, go, x) <body = b (int64 i, bool c, float[K] v) => (bool d, float[L] w) "
    "{ d = Identity(c) w = Concat<axis = 0>(v, v) }>"
)
OUTER = "s = Constant<value = int64[2] {-1, 1}>() c = Reshape(x, s) p = Mul(c, x) t = Constant<value = int64[1] {-1}>() y = Reshape(p, t)"
FEED = {"x": np.ones(2, np.float32)}


@pytest.mark.parametrize("body", [DOUBLINGS, LOOP], ids=["sixty nodes", "sixty rounds"])
def test_doubling_is_stopped_by_the_size_of_what_goes_in(body: str) -> None:
    with pytest.raises(BudgetExceeded) as caught:
        session(body).run(FEED)
    assert "--max-memory" in caught.value.hint
    assert "node" in caught.value.where


def test_an_outer_product_is_refused_before_it_is_made() -> None:
    with pytest.raises(BudgetExceeded):
        session(OUTER).run({"x": np.ones(200_000, np.float32)})


def test_a_chosen_limit_is_the_only_one() -> None:
    doubled = "a = Concat<axis = 0>(x, x) y = Concat<axis = 0>(a, a)"
    tight = Budget(Limits(bytes_alive=1000, growth=None))
    with pytest.raises(BudgetExceeded):
        session(doubled, tight).run({"x": np.ones(100, np.float32)})
    assert session(doubled).run({"x": np.ones(100, np.float32)})["y"].size == 400


def test_values_that_are_gone_no_longer_count() -> None:
    """A hundred values of 8 MiB, one at a time alive, in a loop and in a row."""
    rows = "a0 = Neg(x) " + "".join(f"a{k + 1} = Neg(a{k}) " for k in range(100)) + "y = Neg(a100)"
    feed = {"x": np.ones(1 << 21, np.float32)}
    assert session(rows).run(feed)["y"].size == 1 << 21
    loop = LOOP.replace("Concat<axis = 0>(v, v)", "Neg(v)").replace("{60}", "{500}")
    assert session(loop).run({"x": np.ones(1 << 17, np.float32)})["y"].size == 1 << 17


def test_a_view_of_new_memory_counts_until_the_last_view_is_gone() -> None:
    held, given = Footprint(), np.ones(10, np.float32)
    fresh = np.ones((4, 5), np.float64).reshape(20)
    assert held.made([fresh], [given]) == 160
    other = fresh[2:9]
    assert held.made([other, given[3:]], [fresh, given]) == 0
    held.gone(fresh)
    assert held.alive == 160
    held.gone(other)
    held.gone(given)
    assert held.alive == 0
    with held.aside():
        assert held.made([[np.ones(3), np.ones(2)], np.array(["ab", "c"], object)]) == 40 + 16 + 3
    assert held.alive == 0


@pytest.mark.parametrize(
    "body",
    [
        OUTER.replace("y =", "z =") + " y = Einsum<equation = \"i->i\">(z)",
        "".join(f"a{k} = Neg(x) b{k} = Transpose<perm = [0]>(a{k}) " for k in range(40)) + f"y = Sum({', '.join(f'b{k}' for k in range(40))})",
        'y = Einsum<equation = "' + ",".join("abcdefghijklmnopqrstuvwxyz") + '->abcdefghijklmnopqrstuvwxyz">(' + ", ".join(["x"] * 26) + ")",
    ],
    ids=["an outer product", "forty views", "a product of 26 letters"],
)  # fmt: skip
def test_memory_behind_a_view_is_counted(body: str) -> None:
    limit = Budget(Limits(bytes_alive=100 << 20, growth=None))
    with pytest.raises(BudgetExceeded, match="memory"):
        session(body, limit).run({"x": np.ones(2 if "abc" in body else 1 << 20, np.float32)})
