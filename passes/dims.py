"""Dimensions as small integer expressions: `3`, `N`, `2*N + 1`, `(H - 1)//2 + 1`.

A known dimension is a plain `int`; an unknown one is an `Expr`, a polynomial with integer coefficients over atoms. An atom is a
symbol (a named or an anonymous dimension) or an operation that does not expand (`floordiv`, `max`, `min`, `mod`). Equal polynomials
are equal objects in value and hash, so two dimensions computed on different ways compare equal when the algebra says so; what
it cannot prove is neither equal nor different.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Union

from exec.ir.tensorcheck import MOST_DIMS

_serial = itertools.count()


class Atom:
    """What a polynomial is over: a symbol (`args` empty) or an operation on expressions.

    minimum  a lower bound of its value; dimensions are never negative
    """

    __slots__ = ("_hash", "_text", "args", "minimum", "name")

    def __init__(self, name: str, args: tuple[Dim, ...] = (), minimum: int | None = None) -> None:
        self.name, self.args, self.minimum = name, args, minimum
        self._hash = hash((name, args))
        if not args:
            self._text = name
        elif name == "floordiv":
            self._text = f"{_wrapped(args[0])}//{_wrapped(args[1])}"
        else:
            self._text = f"{name}({', '.join(map(str, args))})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Atom)
            and self._hash == other._hash
            and self.name == other.name
            and self.args == other.args
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


Monomial = tuple[Atom, ...]


def _order(atom: Atom) -> str:
    return atom._text


class Expr:
    """A polynomial with at least one atom; immutable."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms: dict[Monomial, int] = dict(terms)
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        terms = dict(self.terms)
        for mono, coefficient in _terms(other):
            terms[mono] = terms.get(mono, 0) + coefficient
        return _build(terms)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return Expr({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: Dim) -> Dim:
        return (-self) + other

    def __mul__(self, other: Dim) -> Dim:
        terms: dict[Monomial, int] = {}
        for (m1, c1), (m2, c2) in itertools.product(self.terms.items(), _terms(other)):
            mono = tuple(sorted(m1 + m2, key=_order)) if m1 and m2 else m1 or m2
            terms[mono] = terms.get(mono, 0) + c1 * c2
        return _build(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Dim) -> Dim:
        return floordiv(other, self)

    def __str__(self) -> str:
        parts: list[str] = []
        for mono, c in sorted(self.terms.items(), key=lambda item: (not item[0], [str(a) for a in item[0]])):
            factors = [str(a) if not a.args or a.name != "floordiv" else f"({a})" for a in mono]
            text = "*".join(([] if abs(c) == 1 and factors else [str(abs(c))]) + factors)
            parts.append(("-" if c < 0 else "") + text if not parts else (" - " if c < 0 else " + ") + text)
        return "".join(parts)

    __repr__ = __str__


Dim = Union[int, Expr]  # noqa: UP007 - a runtime alias that is read before `Expr` is complete
Shape = tuple[Dim, ...]


def symbol(name: str, minimum: int | None = 0) -> Expr:
    """The dimension called `name`: equal to every other of that name."""
    return Expr({(Atom(name, (), minimum),): 1})


def fresh(minimum: int | None = 0) -> Expr:
    """An unknown that is equal to nothing but itself."""
    return symbol(f"?{next(_serial)}", minimum)


def unknowns(rank: object) -> Shape | None:
    """A shape of `rank` unknowns; None for what is no rank, or more than any array has (a model may declare 2^30)."""
    return tuple(fresh() for _ in range(rank)) if isinstance(rank, int) and 0 <= rank <= MOST_DIMS else None


def is_anonymous(dim: Dim) -> bool:
    """Whether `dim` reads a symbol that `fresh` made."""
    return isinstance(dim, Expr) and any(a.name.startswith("?") for m in dim.terms for a in m)


def _terms(dim: Dim) -> Iterable[tuple[Monomial, int]]:
    return dim.terms.items() if isinstance(dim, Expr) else (((), int(dim)),)


def _build(terms: dict[Monomial, int]) -> Dim:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Expr(kept)


def _wrapped(dim: Dim) -> str:
    text = str(dim)
    return (
        f"({text})"
        if isinstance(dim, Expr) and (len(dim.terms) > 1 or " " in text or "/" in text or "*" in text)
        else text
    )


def floordiv(a: Dim, b: Dim) -> Dim:
    """`a // b` rounded down; exact where the polynomial divides."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b else fresh(None)
    if b == 1:
        return a
    if a == b and minimum(b, 0) > 0:
        return 1
    exact = divide(a, b)
    if exact is not None and (isinstance(b, int) or minimum(b, 0) > 0):
        return exact
    if isinstance(a, Expr) and isinstance(b, int) and b > 0:
        # (b*p + r) // b = p + r // b: the multiples of b leave the division, so equal sizes get equal forms
        whole = {m: c // b for m, c in a.terms.items() if c % b == 0 or not m}
        rest = {m: c for m, c in a.terms.items() if m and c % b}
        constant = a.terms.get((), 0)
        if () in whole:
            whole[()], rest[()] = divmod(constant, b)
        if any(whole.values()):
            return _build(whole) + _opaque("floordiv", _build(rest), b)
    return _opaque("floordiv", a, b)


def _opaque(name: str, a: Dim, b: Dim) -> Dim:
    if name == "floordiv" and isinstance(a, int) and isinstance(b, int):
        return a // b
    low: int | None = None
    if name == "floordiv":
        low_a = lower(a)
        low = low_a // b if isinstance(b, int) and b > 0 and low_a is not None else None
        if low is None and low_a is not None and low_a >= 0 and minimum(b, -1) >= 0:
            low = 0
    elif name == "max":
        known = [x for x in (lower(a), lower(b)) if x is not None]
        low = max(known) if known else None
    elif name == "min":
        low_a, low_b = lower(a), lower(b)
        low = min(low_a, low_b) if low_a is not None and low_b is not None else None
    elif name == "mod":
        low = 0 if minimum(b, 0) > 0 else None
    return Expr({(Atom(name, (a, b), low),): 1})


def divide(a: Dim, b: Dim) -> Dim | None:
    """The polynomial `q` with `q * b == a`, or None. `b` is a single term."""
    if b == 0 or (isinstance(b, Expr) and len(b.terms) != 1):
        return 1 if a == b != 0 else None
    ((mono, factor),) = _terms(b)
    result: dict[Monomial, int] = {}
    for m, c in _terms(a):
        if c % factor:
            return None
        left = list(m)
        for atom in mono:
            if atom not in left:
                return 0 if a == 0 else None
            left.remove(atom)
        result[tuple(left)] = c // factor
    return _build(result)


def ceildiv(a: Dim, b: Dim) -> Dim:
    """`a / b` rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return floordiv(a + b - 1, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger one."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    low = lower(a - b)
    if low is not None and low >= 0:
        return a
    low = lower(b - a)
    return b if low is not None and low >= 0 else _opaque("max", *_sorted(a, b))


def smaller(a: Dim, b: Dim) -> Dim:
    """The smaller one."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    low = lower(a - b)
    if low is not None and low >= 0:
        return b
    low = lower(b - a)
    return a if low is not None and low >= 0 else _opaque("min", *_sorted(a, b))


def modulo(a: Dim, b: Dim) -> Dim:
    """`a mod b` with the sign of `b`."""
    if isinstance(a, int) and isinstance(b, int) and b:
        return a % b
    if b == 1 or (isinstance(b, int) and b and divide(a, b) is not None):
        return 0
    return _opaque("mod", a, b)


def _sorted(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    return (a, b) if str(a) <= str(b) else (b, a)


def lower(dim: Dim) -> int | None:
    """A number that `dim` is never below, or None."""
    if not isinstance(dim, Expr):
        return int(dim)
    total = 0
    for mono, c in dim.terms.items():
        if not mono:
            total += c
            continue
        lows = [a.minimum for a in mono]
        if c < 0 or any(low is None or low < 0 for low in lows):
            # one negative even power or an upper bound would be needed: not worth its code
            return None
        total += c * reduce(lambda x, low: x * (low or 0), lows, 1)
    return total


def minimum(dim: Dim, otherwise: int) -> int:
    """`lower(dim)`, or `otherwise` where no bound is known."""
    low = lower(dim)
    return otherwise if low is None else low


def product(dims: Iterable[Dim]) -> Dim:
    """The number of elements of a shape."""
    total: Dim = 1
    for d in dims:
        total = total * d
    return total


def known(shape: Iterable[Dim] | None) -> bool:
    """Whether every dimension is a number."""
    return shape is not None and all(isinstance(d, int) for d in shape)


def differ(a: Dim, b: Dim) -> bool:
    """Whether the two are certainly not equal."""
    gap = a - b
    if isinstance(gap, int):
        return gap != 0
    low, high = lower(gap), lower(-gap)
    return (low is not None and low > 0) or (high is not None and high > 0)


def text(shape: Iterable[Dim] | None) -> str:
    """A shape as people write it: `[N, 3, H//2]`, with `?` for the anonymous."""
    if shape is None:
        return "[…]"
    return "[" + ", ".join("?" if is_anonymous(d) else str(d) for d in shape) + "]"


def evaluate(dim: Dim, sizes: Callable[[str], int]) -> int:
    """The number an expression comes to when each symbol has the size that `sizes` gives it."""
    if not isinstance(dim, Expr):
        return int(dim)
    total = 0
    for mono, coefficient in dim.terms.items():
        factor = coefficient
        for atom in mono:
            factor *= _evaluated(atom, sizes)
        total += factor
    return total


def _evaluated(atom: Atom, sizes: Callable[[str], int]) -> int:
    if not atom.args:
        return sizes(atom.name)
    a, b = (evaluate(arg, sizes) for arg in atom.args)
    if atom.name == "floordiv":
        return a // b if b else 0
    if atom.name == "mod":
        return a % b if b else 0
    if atom.name == "broadcast":
        return b if a == 1 else a
    return max(a, b) if atom.name == "max" else min(a, b)
