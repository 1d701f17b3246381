"""Attribute values that are carried, not modelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exec.ir.names import copy_of

if TYPE_CHECKING:
    import onnx


class Opaque:
    """An attribute value graphsurgeon has no word for: a list of tensors or graphs, a sparse tensor, a type, one without type.

    It can be seen, compared by bytes, moved to another node and deleted; it is exported as it came.
    """

    __slots__ = ("_protos", "_store")

    def __init__(self, protos: Sequence[onnx.AttributeProto], store: Any = None) -> None:
        self._protos = tuple(protos)
        self._store = store

    @property
    def proto(self) -> onnx.AttributeProto:
        """A copy of the attribute, its weights filled in."""
        copy = copy_of(self._protos[0])
        return copy if self._store is None else self._store.filled(copy)

    @property
    def kind(self) -> str:
        """The AttributeProto type: "TENSORS", "SPARSE_TENSOR", "TYPE_PROTO", "UNDEFINED"."""
        first = self._protos[0]
        return str(first.AttributeType.Name(first.type))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and [p.SerializeToString(deterministic=True) for p in self._protos] == [
            p.SerializeToString(deterministic=True) for p in other._protos
        ]

    def __hash__(self) -> int:
        return hash(self._protos[0].name)

    def __repr__(self) -> str:
        return f"Opaque({self.kind})"
