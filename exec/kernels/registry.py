"""Which function computes an op: kernels register themselves, the planner looks them up.

    @kernel("Softmax", since=13)
    def softmax(x: Array, /, *, axis: int = -1) -> Array: ...

Inputs are positional in the specification's order (a missing optional one is None, variadic ones are `*xs`), attributes are
keyword-only with the specification's names and defaults. Keyword-only names in `RESERVED` are no attributes: the caller fills
them in for a kernel that asks for them.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

RESERVED = ("n_outputs", "rng", "context")

F = TypeVar("F", bound=Callable[..., Any])


class Context(Protocol):
    """What a kernel may ask of the run it is part of."""

    @property
    def opsets(self) -> Mapping[str, int]:
        """Domain to version, "" for ai.onnx."""

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers, the same ones in every run."""

    def hold(self, value: Any) -> None:
        """Spend memory on a value that a loop keeps until its end; raises BudgetExceeded."""

    @property
    def work(self) -> int:
        """Multiply-adds this run has spent so far."""

    def foresee(self, steps: int, work: int) -> None:
        """Refuse `steps` iterations of `work` multiply-adds each where they are over the limits; raises BudgetExceeded."""

    def run(self, graph: Any, inputs: Sequence[Any]) -> list[Any]:
        """Run a subgraph attribute on `inputs` (in the order of its graph inputs); outer values are captured by name."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function for one op from one opset on.

    domain, op  the ONNX names; domain "" is ai.onnx
    since       the first opset version whose semantics the function has
    variant     "numpy", "compiled" (numba) or "plain" (one fixed algorithm, for bit-equal verification)
    wants       which of RESERVED the function asks for
    """

    domain: str
    op: str
    since: int
    function: Callable[..., Any]
    variant: str
    wants: frozenset[str]
    attributes: frozenset[str]


_kernels: dict[tuple[str, str, str], list[Kernel]] = {}
_loaded = False


def kernel(*ops: str, since: int = 1, domain: str = "", variant: str = "numpy") -> Callable[[F], F]:
    """Register the decorated function for `ops` of `domain` from opset `since` on."""

    def register(function: F) -> F:
        keywords = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
        wants = frozenset(keywords.intersection(RESERVED))
        for op in ops:
            entry = Kernel(domain, op, since, function, variant, wants, frozenset(keywords - wants))
            versions = _kernels.setdefault((domain, op, variant), [])
            if any(k.since == since for k in versions):
                raise ValueError(f"two {variant} kernels for {domain or 'ai.onnx'}::{op} since {since}")
            versions.append(entry)
            versions.sort(key=lambda k: k.since)
        return function

    return register


def find(domain: str, op: str, opset: int, variant: str = "numpy") -> Kernel | None:
    """The newest kernel of `variant` whose `since` is not above `opset`, or None."""
    load_families()
    best = None
    for entry in _kernels.get(("" if domain == "ai.onnx" else domain, op, variant), ()):
        if entry.since <= opset:
            best = entry
    return best


def registered() -> Iterator[Kernel]:
    """Every kernel, by domain, op and version."""
    load_families()
    for key in sorted(_kernels):
        yield from _kernels[key]


def load_families() -> None:
    """Import every module of `exec.kernels` once, so that its kernels are registered."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    package = importlib.import_module("exec.kernels")
    for info in pkgutil.walk_packages(package.__path__, "exec.kernels."):
        importlib.import_module(info.name)
