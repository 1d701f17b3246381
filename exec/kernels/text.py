"""Kernels of ONNX family text. String tensors are object arrays of str."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import BudgetExceeded, ExecutionError
from exec.kernels.growth import ask
from exec.kernels.registry import kernel
from exec.regexes import MOST_STEPS, most_steps


@kernel("StringConcat", since=20)
def string_concat(a: Array, b: Array, /) -> Array:
    """a followed by b, broadcast."""
    longest = max((len(text) for text in a.reshape(-1)), default=0) + max(
        (len(text) for text in b.reshape(-1)), default=0
    )
    ask(longest * max(a.size, b.size))
    return np.asarray(np.add(a.astype(object), b.astype(object)), object)


_PART = 80  # bytes of a short string, and of its places in a list and in the result


@kernel("StringSplit", since=20)
def string_split(x: Array, /, *, delimiter: str = "", maxsplit: int | None = None) -> tuple[Array, Array]:
    """Each string cut at the delimiter (at runs of whitespace, without one), at most `maxsplit` times; and how many parts.

    Shapes  x (d…) → (d…, most parts), filled up with empty strings, and (d…).
    """
    texts = x.reshape(-1).tolist()
    ask(_PART * sum((text.count(delimiter) if delimiter else len(text) // 2) + 1 for text in texts))
    rows = [text.split(delimiter or None, -1 if maxsplit is None else maxsplit) for text in texts]
    counts = np.array([len(row) for row in rows], np.int64)
    parts = np.full((len(rows), int(np.max(counts, initial=0))), "", object)
    for row, given in zip(parts, rows, strict=True):
        row[: len(given)] = given
    return parts.reshape(*x.shape, parts.shape[1]), counts.reshape(x.shape)


@kernel("StringNormalizer", since=10)
def string_normalizer(
    x: Array,
    /,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str | None = None,
    stopwords: Sequence[str] = (),
) -> Array:
    """x without the stop words, in lower or upper case if asked; one empty string if nothing is left.

    Shapes  x (c) or (1, c).
    Types   Python's Unicode case mapping, whatever the locale.
    """
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ExecutionError(f"StringNormalizer takes shape [C] or [1, C], it got {list(x.shape)}")
    changes: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}
    change = changes.get(case_change_action)
    if change is None:
        raise ExecutionError(f"the case change '{case_change_action}' is unknown", why="known: NONE, LOWER, UPPER")
    key: Callable[[str], str] = str if is_case_sensitive else str.lower
    stops = {key(word) for word in stopwords}
    kept = [change(word) for word in x.reshape(-1).tolist() if key(word) not in stops] or [""]
    return np.array(kept, object).reshape((1, -1) if x.ndim == 2 else -1)


@kernel("RegexFullMatch", since=20)
def regex_full_match(x: Array, /, *, pattern: str = "") -> Array:
    """Where the whole string matches; RE2's syntax, which is a part of Python's.

    Python's matcher goes back and tries again, RE2's never does: a pattern and texts for which that could take for ever are refused.
    """
    try:
        matches = re.compile(pattern).fullmatch
    except (re.error, RecursionError, OverflowError) as error:
        raise ExecutionError(f"the pattern '{pattern}' is no regular expression: {error}") from error
    texts = x.reshape(-1).tolist()
    longest = max(map(len, texts), default=0)
    if most_steps(pattern, longest) * len(texts) > MOST_STEPS:
        raise BudgetExceeded(
            f"the pattern '{pattern}' could take for ever on a text of {longest} characters",
            why="it repeats what repeats, or repeats very often",
            hint="a pattern without repeats in repeats, or shorter texts; `--engine onnxruntime` matches in linear time",
        )
    return np.array([matches(text) is not None for text in texts], np.bool_).reshape(x.shape)
