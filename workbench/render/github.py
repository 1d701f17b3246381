"""Workflow commands: what GitHub shows beside a commit."""

from __future__ import annotations

from workbench.render.text import display_name


def annotation(level: str, path: str, title: str, text: str) -> str:
    """One line; `level` is "error", "warning" or "notice"."""
    return f"::{level} file={_escaped(path, ',:')},title={_escaped(title, ',:')}::{_escaped(text)}"


def _escaped(text: str, also: str = "") -> str:
    safe = display_name(text).replace("%", "%25")
    for char in also:
        safe = safe.replace(char, f"%{ord(char):02X}")
    return safe
