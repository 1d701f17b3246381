"""docs/screens/README.md names, for each of the 25 points, pictures that the scripts draw and tests that exist."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "screens"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
POINTS = re.findall(r"^\| (\d+) (.+?) \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)
ELSEWHERE = {"session"}
"""Drawn by docs/session.py."""


@pytest.fixture(scope="module")
def shots() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = importlib.util.spec_from_file_location("screens_script", ROOT / "docs" / "screens.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["screens_script"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return module


def drawn(shots: ModuleType) -> set[str]:
    """Every picture the scripts make."""
    groups = (shots.ATTENTION, shots.CNN, shots.C2F, shots.HEAVY, shots.HOSTILE, shots.FOREIGN, shots.DETECTOR)
    found = [s for group in groups for s in group]
    return {s.name for s in found} | {f"{s.name}-{sight}" for s in found for sight in s.sight} | ELSEWHERE


def test_all_twenty_five_points_stand_in_order() -> None:
    assert [int(number) for number, *_ in POINTS] == list(range(1, 26))


@pytest.mark.parametrize("point", POINTS, ids=lambda p: p[0])
def test_a_point_has_a_picture_or_a_test_and_they_are_there(point: tuple[str, ...], shots: ModuleType) -> None:
    _, _, pictures, tests = point
    named = re.findall(r"\]\(([\w-]+)\.svg\)", pictures)
    checked = re.findall(r"`(test_\w+)\.py::(test_\w+)`", tests)
    assert named or checked
    for name in named:
        assert name in drawn(shots), name
        assert (FOLDER / f"{name}.svg").is_file(), name
    for file, test in checked:
        text = (ROOT / "tests" / "tui" / f"{file}.py").read_text(encoding="utf-8")
        assert f"def {test}(" in text, test


def test_every_picture_in_the_folder_is_drawn_by_a_script_and_the_other_way_round(shots: ModuleType) -> None:
    assert {p.stem for p in FOLDER.glob("*.svg")} == drawn(shots)


def test_every_link_of_the_page_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (FOLDER / target).exists(), target
