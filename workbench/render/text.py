"""The one boundary between names from a file and a terminal."""

from __future__ import annotations

import unicodedata

_ALLOWED_FORMAT = frozenset("\u200c\u200d")  # joiners that real scripts need


def _safe(char: str) -> str:
    code = ord(char)
    category = unicodedata.category(char)
    if category in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") or (category == "Cf" and char not in _ALLOWED_FORMAT):
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    return char


def display_name(name: str, limit: int = 0) -> str:
    """A name as it may be shown: no control, bidi or escape character survives, long ones are cut in the middle.

    name   anything from a file; surrogate escapes stand for bytes that are not UTF-8
    limit  the longest result in characters, 0 for no limit
    """
    if not name.isascii() or not name.isprintable():
        name = "".join(map(_safe, _limit_marks(name)))
    if limit and len(name) > limit:
        keep = max(limit - 1, 1)
        tail = keep * 2 // 3
        name = f"{name[: keep - tail]}…{name[len(name) - tail :]}" if tail else name[:keep] + "…"
    return name


def _limit_marks(name: str, most: int = 2) -> str:
    """Drop combining marks beyond `most` in a row, so that one name cannot paint over its neighbours."""
    kept: list[str] = []
    run = 0
    for char in name:
        run = run + 1 if unicodedata.combining(char) else 0
        if run <= most:
            kept.append(char)
    return "".join(kept)
