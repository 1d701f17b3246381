"""Every rewrite, by its own BEFORE and AFTER."""

from __future__ import annotations

import pytest

from passes.base import HEADINGS, Rewrite
from passes.catalog import rules
from passes.selftest import check

ALL = list(rules().values())


@pytest.mark.parametrize("kind", ALL, ids=[k.id for k in ALL])
def test_before_becomes_after_with_equal_numbers_and_can_be_undone(kind: type[Rewrite]) -> None:
    check(kind)


@pytest.mark.parametrize("kind", ALL, ids=[k.id for k in ALL])
def test_its_page_has_every_heading(kind: type[Rewrite]) -> None:
    page = kind.page()
    assert set(HEADINGS) <= set(page), set(HEADINGS) - set(page)
    assert page[""].endswith(".")
    assert kind.safety.name in page["Safety"]
