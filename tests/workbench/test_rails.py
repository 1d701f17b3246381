"""Rails: one line a node, the wires at its left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.drawing.rails import BEYOND, MOST, NODE, rails


def test_a_chain_is_one_rail() -> None:
    assert rails([[], [0], [1]]) == ["●", "●", "●"]


def test_a_skip_runs_beside_its_chain_and_ends_where_it_is_read() -> None:
    assert rails([[], [0], [1], [2, 0]]) == ["●", "├─●", "│ ●", "●─╯"]


def test_a_value_read_twice_is_tapped_then_ended() -> None:
    assert rails([[], [0], [0], [1, 2]]) == ["●", "├─●", "● │", "●─╯"]


def test_a_crossing_is_not_a_joint() -> None:
    lines = rails([[], [], [], [0, 2], [1, 3]])
    assert lines[3] == "●─┼─╯"


def test_rails_beyond_the_most_share_a_column() -> None:
    lines = rails([[] for _ in range(20)] + [list(range(20))], most=4)
    assert max(map(len, lines)) == 2 * 4 + 1
    assert BEYOND in lines[-1]
    assert lines[10].endswith(NODE)


@given(st.lists(st.lists(st.integers(0, 40), max_size=4), max_size=40))
def test_every_node_has_one_line_with_one_dot(reads: list[list[int]]) -> None:
    lines = rails([[r for r in row if r < k] for k, row in enumerate(reads)])
    assert len(lines) == len(reads)
    assert all(line.count(NODE) == 1 for line in lines)
    assert all(len(line) <= 2 * MOST + 1 for line in lines)


def test_a_hundred_thousand_nodes_take_moments() -> None:
    lines = rails([[k - 1, max(k - 5, 0)] if k else [] for k in range(100_000)])
    assert len(lines) == 100_000
