"""The graph: graphsurgeon's classes, compared by identity, each with the proto it came from beside it.

The attached proto is the element's snapshot: an export compares the modelled fields with it and rewrites only what differs, so
whatever this model of a graph cannot say (metadata, denotations, unknown fields) stays with its element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import onnx_graphsurgeon as gs

from exec.ir.described import Described
from exec.ir.node import Node
from exec.ir.surgeon import Surgeon

if TYPE_CHECKING:
    import onnx

    from exec.ir.records import Records

_set = object.__setattr__


class Graph(Described, Surgeon, gs.Graph):
    """Nodes in order, inputs, outputs, and what the file says about them.

    opset           version of the default domain
    import_domains  the OperatorSetIdProtos, or None
    functions       the model's functions, one list shared by every graph of the model
    """

    _g: onnx.GraphProto | None = None
    _records: Records | None = None
    _imported_opset: int | None = None

    def __init__(
        self,
        nodes: Sequence[Node] | None = None,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        name: str | None = None,
        doc_string: str | None = None,
        opset: int | None = None,
        import_domains: Any = None,
        producer_name: str | None = None,
        producer_version: str | None = None,
        functions: list[Function] | None = None,
        ir_version: int | None = None,
    ) -> None:
        self.nodes = list(nodes or ())
        self.inputs = list(inputs or ())
        self.outputs = list(outputs or ())
        self.name = name or ""
        if doc_string is not None:
            _set(self, "_doc", doc_string)
        self.opset = gs.Graph.DEFAULT_OPSET if opset is None else opset
        self.import_domains = import_domains
        self.producer_name = producer_name or ""
        self.producer_version = producer_version or ""
        self.ir_version = ir_version
        self.name_idx = 0
        self._functions = functions if functions is not None else []

    def _proto(self) -> Any:
        return self._g

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.name}: {len(self.nodes)} nodes, opset {self.opset}"

    __repr__ = __str__

    def copy(self, tensor_map: Any = None) -> Graph:
        """A copy with everything attached, that shares the weights."""
        from exec.ir.copying import copy_graph

        return copy_graph(self)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)


class Function(Graph, gs.Function):
    """A model-local function; `key` is what a call names: (domain, name, overload)."""

    overload = ""
    _f: onnx.FunctionProto | None = None

    def __init__(
        self,
        name: str,
        domain: str | None = None,
        nodes: Sequence[Node] | None = None,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        doc_string: str | None = None,
        opset: int | None = None,
        import_domains: Any = None,
        functions: list[Function] | None = None,
        attrs: dict[str, Any] | None = None,
        ir_version: int | None = None,
    ) -> None:
        Graph.__init__(
            self, nodes, inputs, outputs, name, doc_string, opset, import_domains, None, None, functions, ir_version
        )
        self.domain = domain or ""
        self.attrs = {} if attrs is None else attrs

    def _proto(self) -> Any:
        return self._f

    @property
    def key(self) -> tuple[str, str, str]:
        return self.domain, self.name, self.overload

    def copy(self, tensor_map: Any = None) -> Function:
        """A copy with everything attached, that shares the weights."""
        from exec.ir.copying import copy_function

        return copy_function(self)
