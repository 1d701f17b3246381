"""Nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_graphsurgeon as gs

from exec.ir.described import Described
from exec.ir.links import Links

if TYPE_CHECKING:
    import onnx

_set = object.__setattr__


class Node(Described, gs.Node):
    """One operation.

    domain    "" is ai.onnx, however the file spells it
    overload  which of several functions of the same name it calls
    """

    overload = ""
    _o: onnx.NodeProto | None = None

    def __init__(
        self,
        op: str,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        inputs: Sequence[gs.Tensor] | None = None,
        outputs: Sequence[gs.Tensor] | None = None,
        domain: str | None = None,
    ) -> None:
        _set(self, "op", op)
        _set(self, "name", name or "")
        _set(self, "attrs", {} if attrs is None else attrs)
        _set(self, "inputs", Links(self, "outputs", inputs or ()))
        _set(self, "outputs", Links(self, "inputs", outputs or ()))
        _set(self, "domain", domain or "")

    def _proto(self) -> Any:
        return self._o

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        inputs = ", ".join(t.name or "-" for t in self.inputs)
        outputs = ", ".join(t.name or "-" for t in self.outputs)
        return f"{outputs} = {self.domain + '::' if self.domain else ''}{self.op}({inputs})  {self.name}".rstrip()

    __repr__ = __str__

    def copy(
        self,
        inputs: Sequence[gs.Tensor] | None = None,
        outputs: Sequence[gs.Tensor] | None = None,
        tensor_map: Any = None,
    ) -> Node:
        """A node of the same op, attributes and metadata on other tensors; its subgraphs are shared."""
        twin = Node(self.op, self.name, dict(self.attrs), inputs, outputs, self.domain)
        twin.adopt(self)
        return twin

    def adopt(self, other: Node) -> None:
        """Take the fields of `other` that nobody models: doc string, metadata, device configurations, unknown fields."""
        _set(self, "_o", other._o)
        _set(self, "_doc", other._doc)
        _set(self, "_metadata", None if other._metadata is None else dict(other._metadata))
        if other.overload:
            _set(self, "overload", other.overload)
