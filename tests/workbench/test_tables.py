"""A table in a pipe is the table on a terminal, whatever the width and whatever its texts."""

from __future__ import annotations

import io
import string
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from workbench.render.console import console, draw
from workbench.render.layout import fitted, shown, told_apart
from workbench.render.plain import MOST_WRAPPED, lines
from workbench.render.table import Column, Table

WORDS = st.text(string.ascii_letters + "/_.0123456789 层é", max_size=40).map(str.strip)
SENTENCES = st.lists(st.text(string.ascii_letters + "…,", min_size=1, max_size=14), max_size=20).map(" ".join)
COLUMNS = (
    Column("name", "name", "name"),
    Column("what", "what", "name", wrap=True),
    Column("count", "count", "count"),
    Column("rest", "rest", "name", spare=1),
)


def on_a_terminal(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    draw(table, console(out, width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@given(
    st.lists(st.tuples(WORDS, SENTENCES, st.integers(0, 10**6), WORDS), min_size=1, max_size=4),
    SENTENCES,
    st.sampled_from([50, 80, 100, 160]),
)
def test_a_pipe_gets_what_a_terminal_shows(rows: list[tuple[str, str, int, str]], caption: str, width: int) -> None:
    table = Table("a title", COLUMNS, tuple(rows), caption)
    found = list(lines(table, width))
    assert found == on_a_terminal(table, width)
    assert max(map(cell_len, found)) <= width


@pytest.mark.parametrize("room", [200, 60, 40, 24])
def test_numbers_stay_whole_and_texts_give_way(room: int) -> None:
    widths = fitted([40, 9, 30, 7], [False, True, False, True], room)
    assert (widths[1], widths[3]) == (9, 7)
    assert sum(widths) + 6 <= max(room, 30)


def test_spare_columns_go_first_the_most_spare_before_the_others() -> None:
    columns = [Column("a", "a"), Column("b", "b", "count", spare=1), Column("c", "c", "count", spare=2)]
    assert shown(columns, [20, 8, 8], 40) == [0, 1, 2]
    assert shown(columns, [20, 8, 8], 30) == [0, 1]
    assert shown(columns, [20, 8, 8], 14) == [0]


def test_a_word_of_a_hundred_thousand_letters_is_cut_and_folded_at_once() -> None:
    began = process_time()
    said = list(lines(Table("", (), (), notes=("n" * 100_000,)), 100))
    assert [len(line) for line in said] == [100] * (MOST_WRAPPED // 100)
    assert "…" in "".join(said)
    assert process_time() - began < 1


def test_names_that_differ_in_the_middle_are_cut_at_both_ends() -> None:
    names = [f"/model/layers/layer.{k}/{part}/convolution/Conv" for k in range(3) for part in ("up", "down")]
    assert told_apart(names, 16)[:2] == ["…layer.0/up/con…", "…layer.0/down/c…"]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["/Relu_1_output_0", "/Relu_2_output_0"], ["/Relu_1_…", "/Relu_2_…"]),
        (["/blocks/blocks.1/up/Conv", "/blocks/blocks.1/down/Conv"], ["…/up/Conv", "…own/Conv"]),
        (["/Conv", "a sentence of some words"], ["/Conv", "a sentence of some words"]),
    ],
)
def test_names_are_cut_where_they_stay_different(names: list[str], wanted: list[str]) -> None:
    assert told_apart(names, 9) == wanted
