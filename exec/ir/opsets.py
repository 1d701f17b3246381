"""Domains and versions: "" and "ai.onnx" are one domain."""

from __future__ import annotations

from typing import Any

from exec.ir.names import text


def standard(domain: str) -> str:
    """The domain as the graph says it: "" for both spellings of the default one."""
    return "" if domain == "ai.onnx" else domain


def default_opset(entries: Any) -> int:
    """The version of the default domain, 0 if it is not imported; the newest if it is imported twice."""
    return max((int(entry.version) for entry in entries if standard(text(entry.domain)) == ""), default=0)
