"""`Model`: what a file means, and the way in and out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exec.ir.collector import no_gc
from exec.ir.exporter import Exporter
from exec.ir.graph import Constant, Function, Graph, Variable
from exec.ir.importer import Importer, standard
from exec.ir.names import text
from exec.ir.notes import Note
from exec.ir.store import Store

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An input or output of a model.

    dtype  a numpy dtype, an int for a type nobody knows, or None
    shape  None (unknown rank) or dims that are an int, a str symbol or None
    kind   "tensor_type", "sequence_type", "optional_type", "map_type", ...
    """

    name: str
    dtype: Any
    shape: tuple[int | str | None, ...] | None
    kind: str | None = "tensor_type"


class Model:
    """A graph and everything the file says around it.

    graph  the graph, to read and to change
    path   where it came from, or None
    notes  what is odd about the file
    """

    def __init__(
        self,
        graph: Graph,
        shell: onnx.ModelProto,
        store: Store,
        *,
        path: Path | None = None,
        notes: tuple[Note, ...] = (),
        has_graph: bool = True,
    ) -> None:
        self.graph = graph
        self.path = path
        self.notes = notes
        self._shell = shell
        self._store = store
        self._has_graph = has_graph

    @property
    def opset(self) -> int:
        """The version of the default domain; 0 if the model does not import it."""
        return int(self.graph.opset)

    @property
    def opsets(self) -> dict[str, int]:
        """Domain → version; the default domain is ""."""
        versions: dict[str, int] = {}
        for entry in self.graph.import_domains or ():
            domain = standard(text(entry.domain))
            versions[domain] = max(int(entry.version), versions.get(domain, 0))
        if self.graph.opset:
            versions[""] = self.opset
        return versions

    @property
    def ir_version(self) -> int:
        return int(self.graph.ir_version or 0)

    @property
    def functions(self) -> list[Function]:
        functions: list[Function] = self.graph.functions
        return functions

    @property
    def inputs(self) -> tuple[ValueInfo, ...]:
        """What has to be fed: inputs without a default."""
        return tuple(
            _info(tensor)
            for tensor in self.graph.inputs
            if getattr(tensor, "default", None) is None and isinstance(tensor, Variable)
        )

    @property
    def outputs(self) -> tuple[ValueInfo, ...]:
        return tuple(_info(tensor) for tensor in self.graph.outputs)

    def to_proto(self) -> onnx.ModelProto:
        """A whole ModelProto, exported from the graph."""
        return self._store.filled(self._export())

    def _export(self) -> onnx.ModelProto:
        with no_gc():
            exporter = Exporter(self._store, self._lists_initializers(), self._protected())
            return exporter.model(self.graph, self._shell, self._has_graph)

    def _lists_initializers(self) -> bool:
        """Before IR version 4 every initializer is also listed as an input."""
        return 0 < self.ir_version < 4

    def _protected(self) -> frozenset[str]:
        """Initializers that training information refers to by name."""
        return frozenset(
            text(entry.value)
            for info in self._shell.training_info
            for entry in (*info.initialization_binding, *info.update_binding)
        ) | frozenset(
            text(entry.key)
            for info in self._shell.training_info
            for entry in (*info.initialization_binding, *info.update_binding)
        )

    def save(self, path: str | os.PathLike[str], *, external: bool | str | None = None) -> None:
        data = self.to_proto().SerializeToString()
        Path(path).write_bytes(data)

    def copy(self) -> Model:
        """An independent model; weights are shared, nothing else is."""
        from exec.ir.copying import copy_graph
        from exec.ir.importer import copy_of

        with no_gc():
            return Model(
                copy_graph(self.graph),
                copy_of(self._shell),
                self._store,
                path=self.path,
                notes=self.notes,
                has_graph=self._has_graph,
            )

    def __repr__(self) -> str:
        return f"Model({self.graph.name!r}, {len(self.graph.nodes)} nodes, opset {self.opset})"


def _info(tensor: Variable | Constant) -> ValueInfo:
    shape = tensor.shape
    return ValueInfo(
        tensor.name, tensor.dtype, None if shape is None else tuple(shape), getattr(tensor, "type", "tensor_type")
    )


def load(source: str | os.PathLike[str] | bytes | onnx.ModelProto, *, allow_outside: bool = False) -> Model:
    """Open a model: a path, a file's bytes, or a ModelProto (which is neither kept nor changed)."""
    import onnx

    path = None
    if isinstance(source, onnx.ModelProto):
        data = source.SerializeToString()
    elif isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        path = Path(source)
        data = path.read_bytes()
    store = Store(None if path is None else str(path.absolute().parent), allow_outside)
    proto = onnx.ModelProto.FromString(data)
    return build(proto, store, path)


def build(proto: onnx.ModelProto, store: Store, path: Path | None, notes: tuple[Note, ...] = ()) -> Model:
    """The model of a ModelProto that is given away: it becomes the shell."""
    has_graph = proto.HasField("graph")
    with no_gc():
        importer = Importer(store)
        graph = importer.model(proto)
    return Model(graph, proto, store, path=path, notes=(*notes, *importer.notes), has_graph=has_graph)
