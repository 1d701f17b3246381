"""Regular expressions: quick ones are matched, those a backtracking matcher never finishes are refused."""

from __future__ import annotations

import numpy as np
import pytest

from exec.errors import BudgetExceeded, ExecutionError
from exec.kernels.text import regex_full_match
from exec.regexes import MOST_STEPS, for_names, most_steps

TEXT = np.array(["a" * 40 + "!"], object)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "((a|b)*c)*d", "a*a*a*a*a*a*a*b", "(?:a{1,9}){1,9}x"]
)
def test_what_may_never_end_is_refused(pattern: str) -> None:
    with pytest.raises(BudgetExceeded, match="for ever"):
        regex_full_match(TEXT, pattern=pattern)


@pytest.mark.parametrize(
    "pattern", [r"(\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$)", r"\d+\.\d+", "[a-z]*!", "a?b?c+", ""]
)
def test_ordinary_patterns_are_matched(pattern: str) -> None:
    assert most_steps(pattern, 200) < MOST_STEPS
    assert regex_full_match(TEXT, pattern=pattern).dtype == np.bool_


def test_short_texts_take_any_pattern() -> None:
    assert regex_full_match(np.array(["aaa"], object), pattern="(a+)+").tolist() == [True]


def test_no_pattern_is_an_error_that_shows_it() -> None:
    with pytest.raises(ExecutionError, match="no regular expression"):
        regex_full_match(TEXT, pattern="(a")


@pytest.mark.parametrize(("pattern", "said"), [("(a+)+$", "for ever"), ("(", "not a regular expression")])
def test_a_pattern_for_names_is_refused_before_it_is_used(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        for_names(pattern)
    assert for_names(r"layers\.\d+/").search("m/layers.3/attn")
