"""What a rule sees: one graph of the model, and what is known about it.

A `Workspace` is a model under rewrite; each of its graphs (the main one, every subgraph, every function body) is a `Region`. Rules ask a
region about values and nodes; only `passes.patch` changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import onnx_graphsurgeon as gs

from exec.arrays import Array
from exec.budget import Budget, default_limits
from exec.effort import allowed
from exec.ir import Constant, Function, Graph, Model, Node, constant_value, toposort
from exec.program import attribute_value, body_opsets, function_key
from passes.dims import Dim, Shape
from passes.ledger import Ledger
from passes.report import census
from passes.shapes import Fact, Facts, known_elements
from passes.shapes.registry import value_of_fact

NEAR = 32
"""Numbers of a name that are tried one after the other."""


class Workspace:
    """A model under rewrite, with the facts and the indexes that make asking cheap.

    target   the runtime the result is for: "portable" or "onnxruntime"
    ledger   the bytes the constants may grow by
    ops      the op types that are there, or were
    clock    counts applied patches; `touched` says when a node last changed
    """

    def __init__(self, model: Model, *, target: str = "portable", ledger: Ledger | None = None) -> None:
        self.model = model
        self.target = target
        self.ledger = ledger or Ledger()
        self.facts = Facts(model)
        self.functions = self.facts.functions
        self.outputs: dict[Any, list[Graph]] = {}
        self.home: dict[Node, Region] = {}
        self.ops: set[str] = set()
        self.names: Counter[str] = Counter()
        self._counted: set[int] = set()
        self.clock = 0
        self.touched: dict[Node, int] = {}
        self.regions: list[Region] = []
        self._of: dict[Graph, Region] = {}
        self.adopt(model.graph, model.opset, None)
        for function in model.graph.functions:
            opset = body_opsets(function)[""]
            self.facts.in_function(function, opset)
            self.adopt(function, opset, None)

    @cached_property
    def budget(self) -> Budget:
        """What computing constants may take in all, of what a run of the model may."""
        return Budget(allowed(default_limits(), census(self.model).weight_bytes))

    @property
    def main(self) -> Region:
        return self.regions[0]

    def region_of(self, graph: Graph) -> Region:
        return self._of[graph]

    def adopt(self, graph: Graph, opset: int, owner: Node | None) -> Region:
        """Index a graph and the graphs inside it."""
        region = Region(self, graph, opset, owner)
        self.regions.append(region)
        self._of[graph] = region
        for tensor in (*graph.inputs, *graph.outputs):
            self._count(tensor)
        if graph._records is not None:
            for entry in graph._records.initializers:
                # also those nothing reads: they stay in the file
                self._count(entry.tensor)
        for tensor in graph.outputs:
            self.outputs.setdefault(tensor, []).append(graph)
        for node in graph.nodes:
            self.settle(node, region)
        return region

    def settle(self, node: Node, region: Region) -> None:
        """Index a node that now belongs to `region`, with its subgraphs."""
        self.home[node] = region
        self.ops.add(node.op)
        self.names[node.name] += 1
        for tensor in node.outputs:
            self._count(tensor)
        for tensor in node.inputs:
            if isinstance(tensor, Constant):
                self._count(tensor)
        for value in node.attrs.values():
            if isinstance(value, Graph) and value not in self._of:
                self.adopt(value, region.opset, node)

    def _count(self, tensor: Any) -> None:
        if id(tensor) not in self._counted:
            self._counted.add(id(tensor))
            self.names[tensor.name] += 1

    def is_only_name(self, tensor: Any) -> bool:
        """Whether no other value or node has the name of `tensor`."""
        return self.names[tensor.name] <= 1

    def unsettle(self, node: Node) -> None:
        """Forget a node that left the model, with its subgraphs."""
        self.home.pop(node, None)
        for value in node.attrs.values():
            if isinstance(value, Graph) and value in self._of:
                region = self._of.pop(value)
                self.regions.remove(region)
                for tensor in value.outputs:
                    holders = self.outputs.get(tensor, [])
                    if value in holders:
                        holders.remove(value)
                    if not holders:
                        self.outputs.pop(tensor, None)
                for inner in value.nodes:
                    self.unsettle(inner)

    def unique(self, hint: str, taken: Iterable[str] = ()) -> str:
        """A name nobody has, near `hint`: the first free number up to `NEAR`, then one found by doubling, since ten thousand
        copies of one value would each try all numbers before theirs."""
        base = hint or "value"

        def is_taken(name: str) -> bool:
            return name in self.names or name in taken

        if not is_taken(base):
            return base
        for k in range(2, NEAR):
            if not is_taken(f"{base}_{k}"):
                return f"{base}_{k}"
        low, high = NEAR - 1, NEAR
        while is_taken(f"{base}_{high}"):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_taken(f"{base}_{middle}") else (low, middle)
        return f"{base}_{high}"

    def drop_unused_functions(self) -> None:
        """Remove the functions that nothing calls any more."""
        functions = self.model.graph.functions
        while functions:
            called = {function_key(n.domain, n.op, n.overload) for n in self.home if n.domain}
            unused = [f for f in functions if function_key(f.domain, f.name, f.overload) not in called]
            if not unused:
                return
            for function in unused:
                functions.remove(function)
                self.functions.discard(function_key(function.domain, function.name, function.overload))
                region = self._of.pop(function)
                self.regions.remove(region)
                for node in function.nodes:
                    self.unsettle(node)

    def flush(self) -> None:
        """Bring the node lists up to date after patches."""
        for region in self.regions:
            region.flush()


class Region:
    """One graph of a workspace.

    opset  of the default domain here; function bodies have their own
    owner  the node whose attribute this graph is, or None
    edits  how many patches were applied here
    """

    def __init__(self, workspace: Workspace, graph: Graph, opset: int, owner: Node | None) -> None:
        self.workspace, self.graph, self.opset, self.owner = workspace, graph, opset, owner
        self.facts = workspace.facts
        self.target = workspace.target
        self.added: dict[Node, Node] = {}
        self.removed: set[Node] = set()
        self.edits = 0

    @property
    def is_main(self) -> bool:
        return self.graph is self.workspace.model.graph

    @property
    def is_function(self) -> bool:
        return isinstance(self.graph, Function)

    def nodes(self) -> Iterator[Node]:
        """The nodes that are alive, in the list's order; those added since the last flush are not among them."""
        return (n for n in list(self.graph.nodes) if n not in self.removed)

    def flush(self) -> None:
        """Rebuild the graph's node list after patches: what was removed goes, what was added stands before its anchor."""
        if not self.added and not self.removed:
            return
        before: dict[Node, list[Node]] = {}
        for node, anchor in self.added.items():
            before.setdefault(anchor, []).append(node)
        nodes: list[Node] = []

        def place(node: Node) -> None:
            stack = [node]
            while stack:
                top = stack.pop()
                waiting = before.pop(top, [])
                if waiting:
                    stack.append(top)
                    stack.extend(reversed(waiting))
                elif top not in self.removed:
                    nodes.append(top)

        for node in self.graph.nodes:
            place(node)
        for left in list(before):
            place(left)
        self.graph.nodes[:] = nodes
        toposort(self.graph)
        self.added.clear()
        self.removed.clear()

    # ---- nodes

    def is_plain(self, node: Node, *ops: str) -> bool:
        """Whether `node` is one of the specification's own ops (of the names given), alive in this very graph."""
        return (
            not node.domain
            and (not ops or node.op in ops)
            and self.workspace.home.get(node) is self
            and (not self.workspace.functions or self._is_known(node))
        )

    def _is_known(self, node: Node) -> bool:
        """Whether a model with functions means the specification's op, with attributes that have values: only bodies refer to others."""
        if function_key("", node.op, node.overload) in self.workspace.functions:
            return False
        return not any(isinstance(v, gs.Node.AttributeRef) for v in node.attrs.values())

    def producer(self, tensor: Any, *ops: str) -> Node | None:
        """The node that makes `tensor`, if it is a plain one of `ops` in this graph."""
        if not tensor.inputs:
            return None
        node: Node = tensor.inputs[0]
        return node if self.is_plain(node, *ops) else None

    def alive(self, node: Node) -> bool:
        return node in self.workspace.home

    # ---- uses

    def is_output(self, tensor: Any) -> bool:
        """Whether some graph hands `tensor` out."""
        return tensor in self.workspace.outputs

    def uses(self, tensor: Any) -> int:
        """How often the value is read; being a graph output counts."""
        return len(tensor.outputs) + (1 if tensor in self.workspace.outputs else 0)

    def readers(self, tensor: Any) -> list[Node]:
        """The nodes that read the value, each once, those in subgraphs too."""
        return list(dict.fromkeys(tensor.outputs))

    def is_unread(self, tensor: Any) -> bool:
        return not tensor.name or self.uses(tensor) == 0

    def only_read_by(self, tensor: Any, *nodes: Node) -> bool:
        """Whether nothing but `nodes` reads the value."""
        return tensor not in self.workspace.outputs and all(any(r is n for n in nodes) for r in tensor.outputs)

    # ---- values

    def fact(self, tensor: Any) -> Fact:
        return self.facts.of(tensor)

    def dtype(self, tensor: Any) -> np.dtype[Any] | None:
        return self.facts.of(tensor).dtype

    def shape(self, tensor: Any) -> Shape | None:
        return self.facts.of(tensor).shape

    def rank(self, tensor: Any) -> int | None:
        shape = self.facts.of(tensor).shape
        return None if shape is None else len(shape)

    def dim(self, tensor: Any, axis: int) -> Dim | None:
        shape = self.facts.of(tensor).shape
        return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None

    def is_constant(self, tensor: Any) -> bool:
        """Whether the value is the same on every run and stands in the file."""
        if isinstance(tensor, Constant):
            return True
        return bool(tensor.inputs) and tensor.inputs[0].op == "Constant" and constant_value(tensor) is not None

    def constant(self, tensor: Any) -> Array | None:
        """The value if it is a constant of the file or known from shape arithmetic; None otherwise."""
        if isinstance(tensor, Constant):
            return tensor.values
        if tensor is None or not tensor.name:
            return None
        found = constant_value(tensor)
        if found is None:
            found = known_elements(self.facts.of(tensor))
        return found if found is not None else self._filled(tensor)

    def _filled(self, tensor: Any) -> Array | None:
        """The value of a ConstantOfShape of known shape: a view that repeats one element, whatever its size."""
        node = tensor.inputs[0] if tensor.inputs else None
        if node is None or node.op != "ConstantOfShape" or node.domain:
            return None
        shape = self.facts.of(tensor).shape
        if shape is None or not all(isinstance(d, int) for d in shape):
            return None
        return np.broadcast_to(self.filling(node), [d for d in shape if isinstance(d, int)])

    def filling(self, node: Node) -> Array:
        """The element that a ConstantOfShape repeats."""
        given = node.attrs.get("value")
        if given is None:
            return np.zeros((), np.float32)
        return np.asarray(np.asarray(attribute_value(given, node)).reshape(-1)[0])

    def scalar(self, tensor: Any) -> float | None:
        """The single number a constant consists of, whatever its rank."""
        fact = self.facts.of(tensor) if tensor is not None and tensor.name else None
        if fact is None or fact.shape is None or any(d != 1 for d in fact.shape):
            return None
        array = self.constant(tensor)
        if array is None or (array.dtype.kind not in "iufb" and array.dtype.name != "bfloat16"):
            return None
        return float(array.reshape(-1)[0])

    def elements(self, tensor: Any) -> list[Dim] | None:
        """The elements of a small integer tensor, numbers or expressions."""
        found = value_of_fact(self.facts.of(tensor))
        return None if found is None else list(found.reshape(-1))

    def ints(self, node: Node, index: int, attr: str | None = None) -> list[int] | None:
        """A list of numbers from an input, or from the attribute an older opset has in its place."""
        if attr is not None and attr in node.attrs:
            given = node.attrs[attr]
            return [int(v) for v in given] if isinstance(given, (list, tuple)) else [int(given)]
        if index >= len(node.inputs) or not self.has(node, index):
            return None
        array = self.constant(node.inputs[index])
        return None if array is None or array.dtype.kind not in "iu" else [int(v) for v in array.reshape(-1)]

    def has(self, node: Node, index: int) -> bool:
        """Whether the optional input is given."""
        return index < len(node.inputs) and (bool(node.inputs[index].name) or isinstance(node.inputs[index], Constant))
