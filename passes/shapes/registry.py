"""How an inference function is written and found.

    @shape_of("Flatten")
    def flatten(call: Call) -> Shapes: ...

A function gets a `Call`, one node with what is known of its inputs, and returns the shape of the node's first output, or a list with one
entry per output. None means "nothing is known". `@value_of` does the same for the elements of small integer tensors, whose elements
may be expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from passes.dims import Dim, Shape

Shapes = Shape | list[Shape | None] | None
Values = Array | list[Array | None] | None
"""Arrays of objects: each element an `int` or an `Expr`."""

VALUE_LIMIT = 256
"""Tensors with more elements are no shape arithmetic."""


@dataclass(slots=True)
class Fact:
    """What is known of a value on every run.

    dtype   the element type; None when unknown or when the value is no tensor
    shape   None when not even the rank is known
    value   the elements, for small integer-valued tensors only: `int` where constant, else an `Expr`
    array   the elements of a constant
    """

    dtype: np.dtype[Any] | None = None
    shape: Shape | None = None
    value: Array | None = None
    array: Array | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)


@dataclass(slots=True)
class Call:
    """One node under inference, with the facts of its inputs (None for an input that is left out)."""

    op: str
    attrs: dict[str, Any]
    opset: int
    inputs: list[Fact | None]
    n_outputs: int

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attrs.get(name, default)

    def has(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def fact(self, i: int) -> Fact | None:
        return self.inputs[i] if i < len(self.inputs) else None

    def shape(self, i: int) -> Shape | None:
        fact = self.fact(i)
        return fact.shape if fact is not None else None

    def dim(self, i: int, axis: int) -> Dim | None:
        shape = self.shape(i)
        return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None

    def array(self, i: int) -> Array | None:
        fact = self.fact(i)
        return fact.array if fact is not None else None

    def value(self, i: int) -> Array | None:
        """The elements as objects, each an `int` or an `Expr`."""
        fact = self.fact(i)
        return None if fact is None else value_of_fact(fact)

    def ints(self, i: int, attr: str | None = None) -> list[Dim] | None:
        """The elements of a 1-d input, or of the attribute an older opset has in its place."""
        if attr is not None and attr in self.attrs:
            given = self.attrs[attr]
            return [int(v) for v in given] if isinstance(given, (list, tuple)) else [int(given)]
        value = self.value(i)
        return None if value is None else list(value.reshape(-1))

    def known_ints(self, i: int, attr: str | None = None) -> list[int] | None:
        """As `ints`, when every element is a number."""
        found = self.ints(i, attr)
        return None if found is None or not all(isinstance(v, int) for v in found) else [int(v) for v in found]  # type: ignore[arg-type]


def value_of_fact(fact: Fact) -> Array | None:
    """The integer-valued elements a fact knows, from its value or from its constant."""
    if fact.value is None and fact.array is not None and fact.array.size <= VALUE_LIMIT:
        fact.value = integral(fact.array)
    return fact.value


def integral(array: Array) -> Array | None:
    """A constant's elements as Python integers, or None where one is not integral."""
    if array.dtype.kind in "iub":
        return objects(array.shape, [int(v) for v in array.reshape(-1).tolist()])
    if array.dtype.kind == "f":
        flat = array.reshape(-1).astype(np.float64)
        if not np.isfinite(flat).all() or (flat != np.floor(flat)).any() or (np.abs(flat) > 2**53).any():
            return None
        return objects(array.shape, [int(v) for v in flat.tolist()])
    return None


def objects(shape: tuple[int, ...], elements: list[Any]) -> Array:
    """An object array; numpy's own constructor would look inside sequences."""
    out = np.empty(len(elements), dtype=object)
    out[:] = elements
    return out.reshape(shape)


Function = Callable[[Call], Any]
shapes: dict[str, Function] = {}
values: dict[str, Function] = {}


def shape_of(*ops: str) -> Callable[[Function], Function]:
    """Register the shape function of `ops`."""

    def register(function: Function) -> Function:
        for op in ops:
            if op in shapes:
                raise ValueError(f"two shape functions for {op}")
            shapes[op] = function
        return function

    return register


def value_of(*ops: str) -> Callable[[Function], Function]:
    """Register the value function of `ops`."""

    def register(function: Function) -> Function:
        for op in ops:
            if op in values:
                raise ValueError(f"two value functions for {op}")
            values[op] = function
        return function

    return register
