"""Names that attack the terminal, the log, the markup, or the eye."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx

from corpus.case import FINE, WARN, Case, built

NAMES = {
    "escape codes": "a\x1b]0;owned\x07\x1b[2J",
    "C1 codes": "a\x9b2J\x90",
    "rich markup": "[bold red]x[/nope]",
    "new lines": "a\nerror: forged\r\nline",
    "bidi and zero width": "a\u202egnp.exe\u200b\u2066",
    "formats and shell": "%s %n {0} $(id) `id` ; rm",
    "paths": "../../etc/passwd",
    "long": "n" * 100_000,
    "NUL": "a\0b",
    "combining marks": "e" + "\u0301" * 50 + "👩‍👩‍👧",
}


def _named(name: str) -> Callable[[onnx.ModelProto], None]:
    def change(proto: onnx.ModelProto) -> None:
        node = proto.graph.node[0]
        node.name, node.output[0] = name, name
        proto.graph.output[0].name = proto.graph.name = proto.producer_name = proto.doc_string = name
        proto.metadata_props.add(key=name, value=name)

    return change


def cases() -> Iterator[Case]:
    for kind, name in NAMES.items():
        yield Case(f"name/{kind}", built(_named(name)), WARN if kind not in ("formats and shell", "paths") else FINE)
    yield Case("name/twins in two normal forms", built(_twins))


def _twins(proto: onnx.ModelProto) -> None:
    proto.graph.node.add(op_type="Relu", input=["x"], output=["caf\u00e9"])
    proto.graph.node.add(op_type="Neg", input=["x"], output=["cafe\u0301"])
