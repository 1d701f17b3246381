"""The picture of a graph: joined lines, boxes apart, long edges as stubs."""

from __future__ import annotations

import os
import time
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.cli.start import run
from workbench.drawing.dag import Box, draw
from workbench.drawing.layers import layered
from workbench.samples import sample


def boxes(count: int) -> list[Box]:
    return [Box((f"Node {k}",), f"n{k}") for k in range(count)]


def test_a_diamond_joins_at_both_ends() -> None:
    picture = draw(boxes(4), [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert picture.lines() == [
        "      ╭────────╮",
        "      │ Node 0 │",
        "      ╰────┬───╯",
        "     ╭─────┴─────╮",
        "╭────┴───╮  ╭────┴───╮",
        "│ Node 1 │  │ Node 2 │",
        "╰────┬───╯  ╰────┬───╯",
        "     ╰─────┬─────╯",
        "      ╭────┴───╮",
        "      │ Node 3 │",
        "      ╰────────╯",
    ]


def test_an_edge_over_many_layers_becomes_two_named_stubs() -> None:
    picture = draw(boxes(10), [*((k, k + 1) for k in range(9)), (0, 9)])
    text = "\n".join(picture.lines())
    assert "▸ n9" in text
    assert "▲ n0" in text


def test_a_cycle_is_drawn_and_not_followed_for_ever() -> None:
    assert layered(3, [(0, 1), (1, 2), (2, 0)]).cut


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 25).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=50))
    )
)
def test_no_two_boxes_touch_and_every_box_is_whole(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = case
    picture = draw(boxes(count), [(min(p), max(p)) for p in pairs if p[0] != p[1]])
    rows = picture.lines()
    for k, place in enumerate(picture.places):
        assert rows[place.top + 1][place.left + 2 :].startswith(f"Node {k}")
    for k, a in enumerate(picture.places):
        for b in picture.places[:k]:
            apart = (
                a.left >= b.left + b.width
                or b.left >= a.left + a.width
                or a.top >= b.top + b.height
                or b.top >= a.top + a.height
            )
            assert apart


def test_ten_thousand_nodes_take_no_minutes() -> None:
    edges = [(k, k + 1) for k in range(9_999)] + [(k, k + 4) for k in range(0, 9_990, 5)]
    started = time.process_time()
    picture = draw(boxes(10_000), edges)
    assert picture.height > 30_000
    assert time.process_time() - started < 60  # a guard against quadratic growth, not a benchmark


def test_what_hangs_on_no_input_stands_above_its_reader_and_not_in_one_row_at_the_top() -> None:
    # a chain 0 … 9, and for each of its boxes a pair beside it: a source and what is made of it
    chain = [(k, k + 1) for k in range(9)]
    beside = [e for k in range(2, 10) for e in ((10 + 2 * k, 11 + 2 * k), (11 + 2 * k, k))]
    plan = layered(30, [*chain, *beside])
    level = {box: k for k, layer in enumerate(plan.order) for box in layer}
    assert [level[k] for k in range(10)] == list(range(10))
    assert all(level[11 + 2 * k] == k - 1 and level[10 + 2 * k] == k - 2 for k in range(2, 10))
    assert not plan.cut


def test_on_a_terminal_a_wide_drawing_is_cut_at_its_edge_and_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(sample("digits_mobile.onnx"))
    assert run(["graph", model]) == 0
    whole = capsys.readouterr()
    assert not whole.err
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((12, 24)))
    assert run(["graph", model]) == 0
    narrow = capsys.readouterr()
    assert max(map(len, narrow.out.splitlines())) == 12
    assert "less -S" in narrow.err


def test_an_svg_is_well_formed_and_shows_the_same_picture(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(sample("digits_mobile.onnx"))
    assert run(["graph", model, "--format", "svg"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert run(["graph", model]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line]
    texts = [(t.text or "").replace("\u00a0", " ") for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == shown
