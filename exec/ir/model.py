"""`Model`: what a file means, and the way in and out."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exec.budget import Limits
from exec.ir.collector import LARGE_GRAPH_NODES, Frozen, no_gc
from exec.ir.described import Described, describe
from exec.ir.exporter import Exporter
from exec.ir.graph import Function, Graph
from exec.ir.importer import Importer
from exec.ir.names import copy_of, text
from exec.ir.notes import Findings, Note
from exec.ir.opsets import standard
from exec.ir.store import Blob, Store
from exec.ir.tensor import Constant, Variable

if TYPE_CHECKING:
    import onnx

    from exec.ir.save import Saved


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


class Model(Described):
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
        self.shell = shell
        self.store = store
        self.has_graph = has_graph
        # The last attribute, because attributes go in the order they came: the graph is garbage when this lets the collector look.
        self.frozen: Frozen | None = None

    def _proto(self) -> Any:
        return self.shell

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
        """A whole ModelProto, exported from the graph. External data stay external."""
        export = self.export()
        return self.store.filled(export.proto)

    def export(self) -> Export:
        """The stripped ModelProto: tokens of `store` stand for large weights."""
        with no_gc():
            exporter = Exporter(self.store, self._lists_initializers(), self._protected())
            proto = exporter.model(self.graph, self.shell, self.has_graph)
            describe(self, proto)
            return Export(proto, exporter.hold)

    def _lists_initializers(self) -> bool:
        """Before IR version 4 every initializer is also listed as an input."""
        return self.ir_version < 4

    def _protected(self) -> frozenset[str]:
        """Initializers that training information refers to by name."""
        return frozenset(
            text(name)
            for info in self.shell.training_info
            for entry in (*info.initialization_binding, *info.update_binding)
            for name in (entry.key, entry.value)
        )

    def save(self, path: str | os.PathLike[str], *, external: bool | str | None = None) -> Saved:
        """Write the model: atomically, also over the file it came from.

        external  True or a file name: large weights go to a data file beside the model; False: none do;
                  None: as the model has it, and always to a data file where one file would pass 2 GB
        """
        from exec.ir.save import save

        return save(self, path, external)

    def snapshot(self) -> Snapshot:
        """The model as it is now, in little memory: weights are referred to, never copied."""
        export = self.export()
        data = export.proto.SerializeToString()
        return Snapshot(zlib.compress(data, 1), self.store, self.store.blobs_in(data), self.path, self.notes)

    def copy(self) -> Model:
        """An independent model; weights are shared, nothing else is."""
        from exec.ir.copying import copy_graph

        with no_gc():
            twin = Model(copy_graph(self.graph), copy_of(self.shell), self.store, path=self.path, notes=self.notes)
        twin.has_graph = self.has_graph
        twin._doc = self._doc
        twin._metadata = None if self._metadata is None else dict(self._metadata)
        twin.settle()
        return twin

    def settle(self) -> None:
        """Take a large graph out of the garbage collector's sight until the model is dropped."""
        if len(self.graph.nodes) >= LARGE_GRAPH_NODES:
            self.frozen = Frozen()

    def __repr__(self) -> str:
        return f"Model({self.graph.name!r}, {len(self.graph.nodes)} nodes, opset {self.opset})"


@dataclass(frozen=True, slots=True)
class Export:
    """A stripped ModelProto, and the arrays its tokens stand for."""

    proto: onnx.ModelProto
    hold: list[Blob]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of a model; `restore` makes it a model again, any number of times."""

    data: bytes
    store: Store
    blobs: tuple[Blob, ...]
    path: Path | None
    notes: tuple[Note, ...]

    def restore(self) -> Model:
        """An independent model, byte-equal to the one the snapshot is of."""
        import onnx

        model = build(onnx.ModelProto.FromString(zlib.decompress(self.data)), self.store, self.path, None)
        model.notes = self.notes
        model.settle()
        return model


def _info(tensor: Variable | Constant) -> ValueInfo:
    shape = tensor.shape
    return ValueInfo(
        tensor.name, tensor.dtype, None if shape is None else tuple(shape), getattr(tensor, "type", "tensor_type")
    )


def load(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    allow_outside: bool = False,
    strict: bool = True,
    limits: Limits | None = None,
) -> Model:
    """Open a model: a path, a file's bytes, or a ModelProto (which is neither kept nor changed).

    allow_outside  read external data from anywhere the file names, not only from the model's folder
    strict         refuse a model that breaks the specification; False opens it as it is, with notes of what is wrong
    limits         how much memory a sparse weight may take when it is made dense
    """
    from exec.ir import opening
    from exec.ir.contradiction import check_inference, inferable
    from exec.ir.structure import check_model, refuse

    path = None
    if isinstance(source, bytes | bytearray | memoryview):
        proto, store = opening.open_bytes(bytes(source), allow_outside, limits)
    elif isinstance(source, str | os.PathLike):
        path = Path(source)
        proto, store = opening.open_path(path, allow_outside, limits)
    else:
        proto, store = opening.open_proto(source, allow_outside, limits)
    findings = Findings()
    as_it_was = inferable(proto)
    model = build(proto, store, path, findings)
    check_model(model, findings)
    check_inference(as_it_was, findings)
    model.notes = tuple(findings.notes)
    if strict:
        refuse(model)
    model.settle()
    return model


def build(proto: onnx.ModelProto, store: Store, path: Path | None, findings: Findings | None) -> Model:
    """The model of a stripped ModelProto that is given away: it becomes the shell."""
    has_graph = proto.HasField("graph")
    with no_gc():
        graph = Importer(store, findings).model(proto)
    return Model(graph, proto, store, path=path, has_graph=has_graph)
