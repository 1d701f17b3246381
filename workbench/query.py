r"""The query language of `nodes`, `tensors`, quantization selection and the TUI.

    op:Conv attr.group>1 dtype:int8 shape:*x512 name:~layers\.\d+/attn in:mask time>2% macs>1e6 -op:Constant near:NODE,2

Terms stand side by side and must all hold; `-` or `!` before one negates it. A bare word is looked for in operator and name.

    field:text     equal, or with * and ? as wildcards; several by comma
    field:~regex   a regular expression, anywhere in the value
    field>number   also >= < <= =; numbers may end in k M G %, or ns us ms s for times
    "two words"    quotes keep spaces

Fields: op name scope domain dtype shape in out const near attr.<name> macs bytes params time.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exec.errors import OptionError, nearest
from exec.regexes import for_names

TEXT_FIELDS = ("op", "name", "scope", "domain", "dtype", "shape", "in", "out", "const", "near")
NUMBER_FIELDS = ("macs", "bytes", "params", "time")
_TERM = re.compile(
    r"""(?P<not>[-!]?)(?:(?P<field>[A-Za-z][\w.]*)(?P<op>:~|:|>=|<=|>|<|=))?(?P<value>"(?:[^"\\]|\\.)*"|\S*)"""
)
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True, slots=True)
class Term:
    """One condition.

    field     "" for a bare word
    operator  ":", ":~", ">", ">=", "<", "<=" or "="
    column    where it starts in the query, from 0
    """

    field: str
    operator: str
    value: str
    negated: bool
    column: int


def parse(query: str) -> tuple[Term, ...]:
    """Split a query into terms; raises `OptionError` that points at the column."""
    terms: list[Term] = []
    at = 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        match = _TERM.match(query, at)
        assert match is not None  # \S* matches anything
        terms.append(_term(query, at, match))
        at = match.end()
    return tuple(terms)


def _term(query: str, at: int, match: re.Match[str]) -> Term:
    field, operator, value = match["field"] or "", match["op"] or ":", match["value"]
    if value.startswith('"'):
        if len(value) < 2 or not value.endswith('"'):
            raise _error(query, match.start("value"), "a quote is not closed")
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    if field and not value:
        raise _error(query, match.end(), f"{field}{operator} needs a value")
    if not field and not value:
        raise _error(query, at, "nothing to negate")
    known = field in TEXT_FIELDS or field in NUMBER_FIELDS or field.startswith("attr.") or not field
    if not known:
        raise _error(query, at, f"no field {field!r}", nearest(field, (*TEXT_FIELDS, *NUMBER_FIELDS)))
    if field in NUMBER_FIELDS and operator not in (">", ">=", "<", "<=", "="):
        raise _error(query, match.start("op"), f"{field} is a number: use > >= < <= or =")
    if field in TEXT_FIELDS and operator not in (":", ":~", "="):
        raise _error(query, match.start("op"), f"{field} is a text: use : or :~")
    if operator == ":~":
        try:
            for_names(value)
        except ValueError as error:
            raise _error(query, match.start("value"), str(error)) from None
    if operator in (">", ">=", "<", "<="):
        number(value, query, match.start("value"))
    return Term(field, operator, value, bool(match["not"]), at)


def _error(query: str, column: int, what: str, hint: str = "") -> OptionError:
    return OptionError(f"query: {what}", f"column {column + 1} of {query!r}", hint=hint)


def number(text: str, query: str = "", column: int = 0) -> float:
    """ "2%" → 0.02, "1e6" → 1000000, "3ms" → 3000000 (nanoseconds), "5k" → 5000."""
    match = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%|[kMGT]|ns|us|µs|ms|s)?", text)
    if match is None:
        raise _error(query or text, column, f"{text!r} is no number")
    value = float(match[1])
    return value / 100 if match[2] == "%" else value * _UNITS[match[2] or ""]


def text_test(term: Term) -> Callable[[str], bool]:
    """A predicate on one text value for a `:` or `:~` term."""
    if term.operator == ":~":
        pattern = for_names(term.value)
        return lambda value: pattern.search(value) is not None
    alternatives = term.value.split(",")
    if any(c in term.value for c in "*?["):
        compiled = [re.compile(fnmatch.translate(a), re.IGNORECASE) for a in alternatives]
        return lambda value: any(p.match(value) for p in compiled)
    wanted = {a.lower() for a in alternatives}
    return lambda value: value.lower() in wanted


def number_test(term: Term) -> Callable[[float | None], bool]:
    """A predicate on one number; an unknown value satisfies nothing."""
    limit = number(term.value)
    match term.operator:
        case ">":
            return lambda value: value is not None and value > limit
        case ">=":
            return lambda value: value is not None and value >= limit
        case "<":
            return lambda value: value is not None and value < limit
        case "<=":
            return lambda value: value is not None and value <= limit
        case _:
            return lambda value: value is not None and value == limit


def is_share(term: Term) -> bool:
    """Whether the number is a share of the whole model (`time>2%`)."""
    return term.value.endswith("%")


def any_text(test: Callable[[str], bool]) -> Callable[[Sequence[str]], bool]:
    """A predicate that holds when one of several values passes."""
    return lambda values: any(map(test, values))
