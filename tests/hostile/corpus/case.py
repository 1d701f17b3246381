"""One hostile or odd file, and what the three commands that matter should do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import parser

FINE, WARN, ERROR, BUDGET, CLEAN = "fine", "warn", "error", "budget", "clean"


@dataclass(frozen=True, slots=True)
class Case:
    """A file of the corpus.

    name    class and what is odd: "tensor/raw data too short"
    make    its bytes
    look    what `owb inspect` owes: FINE exit 0, WARN exit 0 with a note, ERROR exit 2 and a message
    work    what `owb optimize` and `owb run` owe: FINE, ERROR, BUDGET (exit 0, or 2 naming the flag to raise),
            CLEAN (0 or 2: both can be defended)
    says    a word the message must hold
    place   what else lies in the model's folder: called with it
    """

    name: str
    make: Callable[[], bytes]
    look: str = FINE
    work: str = FINE
    says: str = ""
    place: Callable[[Path], None] | None = None


def text(body: str, *, opset: int = 21, ir: int = 10, more: str = "") -> Callable[[], bytes]:
    """A model in ONNX's text form: signature and body, with `more` after it (functions)."""

    def make() -> bytes:
        proto = parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}, "local" : 1]>\n{body}\n{more}')
        return bytes(proto.SerializeToString())

    return make


def built(change: Callable[[onnx.ModelProto], object], body: str = "", *, opset: int = 21) -> Callable[[], bytes]:
    """A model in text form, then changed in ways the text form does not allow."""
    start = text(body or PLAIN, opset=opset)

    def make() -> bytes:
        proto = onnx.ModelProto.FromString(start())
        change(proto)
        return bytes(proto.SerializeToString())

    return make


PLAIN = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"
