"""Results as JSON: from the dataclass, with a `kind` and a `version`; raw names, base units.

A number that is not finite has no JSON form: it is null, and `<key>_note` beside it says what it was.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

SCHEMA_VERSION = 1


def to_builtins(value: Any) -> Any:
    """Dataclasses, enums, numpy scalars and paths as plain dicts, lists, strings and numbers."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dict(
            _entries(
                (f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if f.metadata.get("json", True)
            )
        )
    if isinstance(value, Mapping):
        return dict(_entries((str(to_builtins(k)), v) for k, v in value.items()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_builtins(v) for v in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy scalars and small arrays
        return to_builtins(value.tolist())
    return str(value)


def _entries(pairs: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for key, value in pairs:
        plain = to_builtins(value)
        yield key, plain
        if isinstance(value, float) and plain is None:
            yield (
                f"{key}_note",
                "not a number" if math.isnan(value) else "infinite" if value > 0 else "negative infinite",
            )


def to_json(result: Any, kind: str) -> str:
    """One JSON document, indented, keys in the dataclass's order."""
    document = {"kind": kind, "version": SCHEMA_VERSION, **to_builtins(result)}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def to_jsonl(rows: Iterator[Any]) -> Iterator[str]:
    """One compact JSON line a row."""
    for row in rows:
        yield msgspec.json.encode(to_builtins(row)).decode()
