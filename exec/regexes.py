"""How long a backtracking matcher may take on a regular expression, from its parse tree."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import cache
from re import _parser as parser  # type: ignore[attr-defined]  # the only parser of Python's own syntax
from typing import Any

MOST_STEPS = 10**9

# Six repeats in a row on a name of this length are the last that end at once; a repeat in a repeat may never.
_LONG_NAME, _PATIENCE = 80, 10**11

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


@cache
def for_names(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, for names of a model; `ValueError` where it is none, or could take for ever on a long name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # "[[a]" means today what it always meant
            compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if most_steps(pattern, _LONG_NAME) > _PATIENCE:
        raise ValueError("this pattern could take for ever: it repeats what repeats")
    return compiled


def most_steps(pattern: str, length: int) -> int:
    """An upper bound of the steps on a text of `length` characters, capped far above `MOST_STEPS`.

    Each repeat in a row multiplies by the length, a repeat that holds another one or a choice doubles with each character.
    """
    row, deep = _repeats(parser.parse(pattern))
    if deep:
        return int(2 ** min(length, 64) * max(length, 1) ** min(row, 16))
    return int(max(length, 1) ** min(row, 16))


def _repeats(items: Iterable[Any]) -> tuple[int, bool]:
    """How many repeats stand in a row, and whether one of them holds another or a choice."""
    row, deep = 0, False
    for operator, argument in items:
        inner = list(_inside(argument))
        below = [_repeats(part) for part in inner]
        deep = deep or any(found for _, found in below)
        most = max((count for count, _ in below), default=0)
        name = str(operator)
        if name in _REPEATS and argument[1] > 1:
            deep = deep or most > 0 or any(_chooses(part) for part in inner)
            row += 1
        else:
            row += most
    return row, deep


def _inside(argument: Any) -> Iterable[Any]:
    """The parsed parts of an operator's argument."""
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for item in argument:
            yield from _inside(item)


def _chooses(items: Iterable[Any]) -> bool:
    return any(str(op) == "BRANCH" or any(_chooses(part) for part in _inside(argument)) for op, argument in items)
