"""Whether a TypeProto says one thing: a kind, a known element type, sizes that can be."""

from __future__ import annotations

from typing import Any

from exec import dtypes
from exec.ir.names import printable
from exec.ir.notes import Findings

# The specification allows integers and strings as keys of a map.
_KEYS = frozenset((2, 3, 4, 5, 6, 7, 8, 12, 13))
MOST_LEVELS = 64


def check_type(proto: Any, where: str, findings: Findings, *, is_input: bool) -> None:
    """Add what is wrong with the type of a graph's input, output or value; `is_input`: nothing else tells it.

    A type that is absent or undefined is wrong for an input only: of every other value it can be inferred.
    """
    for level in range(MOST_LEVELS):
        kind = proto.WhichOneof("value")
        if kind == "tensor_type" or kind == "sparse_tensor_type":
            _check_tensor(getattr(proto, kind), where, findings, must_say=is_input or level > 0)
            return
        if kind == "sequence_type" or kind == "optional_type":
            proto = getattr(proto, kind).elem_type
        elif kind == "map_type":
            if proto.map_type.key_type not in _KEYS:
                findings.error("map-key", where, f"the keys of its map have type {_named(proto.map_type.key_type)}")
                return
            proto = proto.map_type.value_type
        elif kind is not None:  # opaque: its readers know it
            return
        elif level:
            findings.error("no-element-type", where, "its type does not say what it holds")
            return
        else:
            if is_input:
                findings.note("untyped", where, "it has no type")
            return
    findings.error("deep-type", where, f"its type nests deeper than {MOST_LEVELS} levels")


def _check_tensor(proto: Any, where: str, findings: Findings, must_say: bool) -> None:
    code = proto.elem_type
    if code not in dtypes.BY_CODE and (code or must_say):
        findings.error("unknown-type", where, f"its element type is {_named(code)}; the specification has {_known()}")
    for dim in proto.shape.dim:
        if dim.dim_value < 0:
            findings.note("negative-dim", where, f"one of its sizes is {dim.dim_value}: taken as unknown")
            return


def _known() -> str:
    return f"{min(dtypes.BY_CODE)} to {max(dtypes.BY_CODE)}"


def _named(code: int) -> str:
    row = dtypes.BY_CODE.get(code)
    return printable(row.name) if row else str(code)
