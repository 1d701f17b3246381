"""Domains and versions: "" and "ai.onnx" are one domain."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import onnx

from exec.ir.names import is_utf8, text

_NEWEST = 1_000_000
"""No opset is as new as this; beyond int32 the specification cannot even be asked."""


def standard(domain: str) -> str:
    """The domain as the graph says it: "" for both spellings of the default one."""
    return "" if domain == "ai.onnx" else domain


def default_opset(entries: Any) -> int:
    """The version of the default domain, 0 if it is not imported; the newest if it is imported twice."""
    return max((int(entry.version) for entry in entries if standard(text(entry.domain)) == ""), default=0)


@lru_cache(maxsize=4096)
def schema_of(op: str, opset: int, domain: str = "") -> onnx.defs.OpSchema | None:
    """The operator's schema as of `opset`; None where the specification has none, or the name is no text at all."""
    domain = standard(domain)
    if not is_known(op, domain):
        return None
    try:
        return onnx.defs.get_schema(op, min(max(opset, 0), _NEWEST), domain)
    except onnx.defs.SchemaError:
        return None


def is_known(op: str, domain: str) -> bool:
    """Whether any version of the specification has an operator."""
    return is_utf8(op) and is_utf8(domain) and bool(onnx.defs.has(op, domain))
