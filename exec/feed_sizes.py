"""Sizes for the axes a model leaves open: one per symbol, whatever input it stands in."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exec.errors import OptionError, nearest
from exec.feed_roles import Roles

ANONYMOUS = re.compile(r"^(|\?|-1|0|unk__\d+|None)$")
"""Names exporters write where they mean "unknown": two axes that share one are not thereby equal."""


_SUM = re.compile(r"[\w.\s+*/()-]{1,200}", re.ASCII)
"""What is read as arithmetic; any other symbol is a name."""

STATE = re.compile(r"state|hidden|cache|past|^[hc]0?$")
"""Names of inputs that carry what an earlier run left."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Sizes that belong together: what to try when a model does not take the ones before."""

    height: int
    width: int
    tokens: int
    samples: int
    batch: int = 1


PRESETS = (
    Preset(224, 224, 16, 512),
    Preset(48, 192, 8, 576),
    Preset(64, 64, 32, 16000),
    Preset(32, 128, 1, 1024),
    Preset(320, 320, 128, 4096),
    Preset(640, 640, 77, 48000),
)

SMALL = Preset(8, 8, 2, 64)
"""For a model with so many open axes that the others would make inputs of gigabytes."""

PAST = 8
"""Length of a key/value cache nobody gave a length for."""


class Sizes:
    """Decides sizes axis by axis and remembers why.

    given     what the user said: symbol, or "input:axis", to size
    notes     what was assumed, in words
    open      whether any assumed size might not fit the model
    batch     whether a batch was assumed: any fits, where the model asks for it
    """

    def __init__(self, inputs: Sequence[Any], given: Mapping[str, int], preset: Preset) -> None:
        self.given, self.preset = dict(given), preset
        self.symbols: dict[str, int] = {}
        self.notes: list[str] = []
        self.open = self.batch = False
        known = [f"{t.name}:{k}" for t in inputs for k in range(len(t.shape or ()))]
        known += [d for t in inputs for d in t.shape or () if isinstance(d, str) and not ANONYMOUS.match(d)]
        known = list(dict.fromkeys(known))
        for name in given:
            if name not in known:
                why = f"the inputs' axes are {', '.join(known) or 'all fixed'}"
                raise OptionError(f"no input has a dimension '{name}'", why=why, hint=nearest(name, known))

    def shape(self, tensor: Any, kind: str, roles: Roles) -> tuple[int, ...]:
        """The shape to make for an input; `kind` is its dtype's numpy kind."""
        dims: tuple[Any, ...] = tensor.shape if tensor.shape is not None else ()
        # an image with its colours last: height and width stand one axis earlier
        early = int(len(dims) == 4 and dims[3] in (1, 3, 4) and not (isinstance(dims[1], int) and dims[1] > 0))
        return tuple(self._size(tensor.name, k, d, len(dims), kind, roles, early) for k, d in enumerate(dims))

    def _size(self, name: str, axis: int, dim: Any, rank: int, kind: str, roles: Roles, early: int) -> int:
        place = f"{name}:{axis}"
        if place in self.given:
            return self.given[place]
        if isinstance(dim, int) and dim > 0:
            return dim
        symbol = "" if dim is None or isinstance(dim, int) or ANONYMOUS.match(dim) else str(dim)
        if symbol in self.given:
            return self.given[symbol]
        if symbol in self.symbols:
            return self.symbols[symbol]
        size = self._expression(symbol) if symbol else None
        if size is None:
            state = not symbol and kind == "f" and STATE.search(name.lower())
            role = axis + early if axis else 0
            size = 1 if state else self._guess(symbol.lower(), role, rank, kind, roles)
        if symbol:
            self.symbols[symbol] = size
        self.notes.append(f"{symbol or f'axis {axis} of {name}'} = {size}")
        return size

    def _guess(self, symbol: str, axis: int, rank: int, kind: str, roles: Roles) -> int:
        if roles.channels and axis == 1:
            return roles.channels
        if roles.features and axis == rank - 1 and axis > 0:
            return roles.features
        if "batch" in symbol or (axis == 0 and not re.search(r"seq|len|time|token|past|frame", symbol)):
            self.batch = True
            return self.preset.batch
        if "past" in symbol:
            return PAST + (self.preset.tokens if "total" in symbol else 0)
        self.open = True
        if (rank == 4 and kind in "fui" and axis >= 2) or "height" in symbol or "width" in symbol:
            across = axis == rank - 1 or "width" in symbol
            return self.preset.width if across and "height" not in symbol else self.preset.height
        if rank == 4 and axis == 1:
            return 3
        if rank == 2 and kind == "f" and axis == 1:
            return self.preset.samples
        if rank == 5:
            return 16
        if "total" in symbol:
            return self.preset.tokens + (PAST if any("past" in s for s in self.symbols) else 0)
        return self.preset.tokens

    def _expression(self, symbol: str) -> int | None:
        """The value of "past_length + 1" where its parts are known, or become known as symbols of their own."""
        if re.fullmatch(r"[\w.]+", symbol) or not _SUM.fullmatch(symbol):
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # "2if" is a symbol like any other
                tree = ast.parse(symbol.replace("floor", "").strip(), mode="eval").body
        except (SyntaxError, MemoryError, RecursionError):
            return None
        return self._value(tree)

    def _value(self, tree: ast.expr) -> int | None:
        if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
            return tree.value
        if isinstance(tree, ast.Name):
            if tree.id not in self.symbols and tree.id not in self.given:
                self.symbols[tree.id] = self._guess(tree.id.lower(), 1, 2, "i", Roles())
                self.notes.append(f"{tree.id} = {self.symbols[tree.id]}")
            return self.given.get(tree.id, self.symbols.get(tree.id))
        if isinstance(tree, ast.BinOp) and type(tree.op) in _ARITHMETIC:
            left, right = self._value(tree.left), self._value(tree.right)
            if (
                left is not None
                and right is not None
                and not (right == 0 and isinstance(tree.op, (ast.Div, ast.FloorDiv)))
            ):
                return _ARITHMETIC[type(tree.op)](left, right)
        return None


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
}
