"""The path a run must wait for, and what it would save if a node of it cost nothing."""

from __future__ import annotations

import pytest
from onnx import parser

from workbench import load
from workbench.criticalpath import critical_path, saved_by
from workbench.lookup import Lookup
from workbench.measured import Measured, Timed

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y)
  { [top] a = Neg (x) [slow] b = Exp (a) [quick] c = Abs (a) [join] y = Add (b, c) }"""
TIMES = {"top": 5.0, "slow": 10.0, "quick": 8.0, "join": 1.0}


@pytest.fixture
def lookup() -> Lookup:
    measured = Measured(tuple(Timed(name, "", -1, ns) for name, ns in TIMES.items()))
    return Lookup(load(parser.parse_model(TEXT)), measured)


def test_the_longer_branch_is_on_the_path_and_the_other_may_wait(lookup: Lookup) -> None:
    found = critical_path(lookup)
    assert [lookup.table.name[r] for r in found.path] == ["top", "slow", "join"]
    assert (found.length_ns, found.total_ns) == (16.0, 24.0)
    assert {lookup.table.name[r]: ns for r, ns in found.slack_ns.items() if ns} == {"quick": 2.0}


def test_a_node_saves_no_more_than_the_next_path_leaves(lookup: Lookup) -> None:
    saved = saved_by(lookup, range(4))
    assert {lookup.table.name[r]: ns for r, ns in saved.items()} == {"top": 5.0, "slow": 2.0, "quick": 0.0, "join": 1.0}
