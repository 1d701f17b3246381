"""The few names taken from protobuf itself, which ships no types."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]

__all__ = ["DecodeError", "EncodeError", "has_unknown_fields"]


def has_unknown_fields(message: Any) -> bool:
    """Whether a message has fields this version of ONNX does not know; nested messages are not looked at."""
    return len(UnknownFieldSet(message)) > 0
