"""Every finding has a page that says what, why and what to do; the commands in its example exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

import quantize
from quantize.findings import PAGES as TITLES
from quantize.pages import PAGES, page
from workbench.cli.group import owb
from workbench.explain import explain

SOURCES = [
    p.read_text(encoding="utf-8")
    for p in Path(str(quantize.__file__)).parent.glob("*.py")
    if p.stem not in ("findings", "pages")
]
WRITTEN = {code for text in SOURCES for code in re.findall(r'"(Q0\d\d)"', text)}
EXAMPLES = [
    part.split("#")[0].strip()
    for p in PAGES.values()
    for part in p.example.split("&&")
    if part.strip().startswith("owb ")
]


def test_every_finding_that_is_written_and_no_other_has_a_title_and_a_page() -> None:
    assert set(TITLES) == set(PAGES)
    assert set(PAGES) == WRITTEN


@pytest.mark.parametrize("code", PAGES)
def test_a_page_says_what_why_and_what_to_do(code: str) -> None:
    assert all(len(part) > 1 for part in PAGES[code])
    assert explain(code.lower()) == f"{code}  {TITLES[code]}\n\n{page(code)}"


@pytest.mark.parametrize("line", dict.fromkeys(EXAMPLES))
def test_the_commands_of_examples_exist_with_their_options(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = owb.get_command(click.Context(owb), name)
    assert command is not None
    known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    assert {a for a in arguments if a.startswith("-")} <= known
