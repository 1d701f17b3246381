"""Which lowering an op has, and the pieces every lowering may want."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TypeVar

from exec.lowering.builder import Builder
from exec.lowering.units import Unit

Lowering = Callable[[Builder, Unit], bool]
"""Emits the steps of a unit and defines its outputs; False if it cannot do this one (then its kernel is called)."""

F = TypeVar("F", bound=Lowering)

_lowerings: dict[tuple[str, str], Lowering] = {}
_loaded = False


def lowering(*ops: str, domain: str = "") -> Callable[[F], F]:
    """Register the decorated function as the lowering of `ops`."""

    def register(function: F) -> F:
        for op in ops:
            if (domain, op) in _lowerings:
                raise ValueError(f"two lowerings for {domain or 'ai.onnx'}::{op}")
            _lowerings[domain, op] = function
        return function

    return register


def lowering_of(unit: Unit) -> Lowering | None:
    """The lowering of the unit's op, if it has one."""
    global _loaded
    if not _loaded:
        _loaded = True
        package = importlib.import_module("exec.lowering.ops")
        for info in pkgutil.walk_packages(package.__path__, "exec.lowering.ops."):
            importlib.import_module(info.name)
    if unit.domain == "owb" and (unit.domain, unit.op) not in _lowerings:
        importlib.import_module("exec.lowering.jit.chains")
    return _lowerings.get((unit.domain, unit.op))
