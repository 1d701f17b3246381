"""A change to a graph as a value: it can be looked at, counted, applied and undone.

A rule describes the nodes it wants; nothing is edited before `apply`. A new node may take over the output of an old one: then the
value keeps its name and its readers, and the old node goes once nobody needs what else it makes. Nodes that a patch leaves without
readers go with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from exec.arrays import Array
from exec.errors import RewriteError
from exec.ir import Constant, Graph, Node, Variable
from passes.dims import Expr, Shape
from passes.region import Region, Workspace
from passes.shapes import Fact

SOURCE = "owb.source"
"""Metadata of a node: the names of the nodes of the original model it stands for, as a JSON list."""

VALUE = "owb.value"
"""Metadata of a value: `{"of": name, "how": "same" | "cast" | "transposed" | "dequantized"}`, as JSON."""


T = TypeVar("T", Constant, Variable)


@dataclass(slots=True)
class NewNode:
    """A node to be made; `outputs` are fresh values, or old ones it takes over."""

    op: str
    inputs: list[Any]
    outputs: list[Any]
    attrs: dict[str, Any]
    name: str
    domain: str = ""
    like: Node | None = None

    def __str__(self) -> str:
        attrs = ", ".join(f"{k}={_short(v)}" for k, v in self.attrs.items())
        return f"{', '.join(t.name for t in self.outputs)} = {self.op}({', '.join(t.name or '-' for t in self.inputs)}){' <' + attrs + '>' if attrs else ''}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 60 else text[:57] + "…"


@dataclass(slots=True)
class Patch:
    """One rewrite at one place.

    rule       the rewrite's id
    anchor     the node it is about
    sources    the old nodes the new ones stand for
    nodes      nodes to add, in order, before the anchor
    redirects  (old, new): whoever reads `old` reads `new` afterwards
    renames    (new, old): the node that makes `new` makes `old`, a graph output, instead
    note       a word on what happens, for previews
    freed      bytes that go beside the constants the sources read: what stood in an attribute
    standing   fresh values that became old ones: whoever means the fresh one afterwards means the old
    """

    rule: str
    region: Region
    anchor: Node
    sources: tuple[Node, ...] = ()
    nodes: list[NewNode] = field(default_factory=list)
    redirects: list[tuple[Any, Any]] = field(default_factory=list)
    renames: list[tuple[Any, Any]] = field(default_factory=list)
    values: list[tuple[Any, str, str]] = field(default_factory=list)
    note: str = ""
    freed: int = 0
    born: int = 0
    taken: set[str] = field(default_factory=set)
    claimed: list[Any] = field(default_factory=list)
    standing: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = self.sources or (self.anchor,)
        self.born = self.region.workspace.clock

    # ---- what rules call

    def constant(self, array: Array, hint: str) -> Constant:
        """A new constant named after `hint`."""
        return self._claim(self.named(array, hint))

    def named(self, array: Array, name: str) -> Constant:
        """A constant that is the value `name` from now on: whatever made it goes."""
        values = np.ascontiguousarray(array).reshape(array.shape)
        values = values.view()
        values.flags.writeable = False
        return Constant(name, values)

    def weight(self, array: Array, hint: str) -> Any:
        """A constant; of one element repeated, a ConstantOfShape: it stays as small as it came."""
        if array.size > 64 and not any(array.strides):
            shape = self.ints(array.shape, f"{hint}_shape")
            return self.add(
                "ConstantOfShape", [shape], {"value": self.constant(array.reshape(-1)[:1], f"{hint}_value")}, hint=hint
            )
        return self.constant(array, hint)

    def ints(self, elements: Sequence[int], hint: str) -> Constant:
        """A new 1-d int64 constant: axes, a shape, pads."""
        return self.constant(np.array(list(elements), np.int64), hint)

    def add(
        self,
        op: str,
        inputs: Sequence[Any],
        attrs: dict[str, Any] | None = None,
        *,
        out: Any = None,
        hint: str = "",
        domain: str = "",
        name: str = "",
    ) -> Any:
        """Add a node with one output and return the output: `out`, an old value it takes over, or a fresh one named after `hint`."""
        return self.add_many(op, inputs, attrs, outs=[out], hint=hint, domain=domain, name=name)[0]

    def add_many(
        self,
        op: str,
        inputs: Sequence[Any],
        attrs: dict[str, Any] | None = None,
        *,
        outs: Sequence[Any],
        hint: str = "",
        domain: str = "",
        name: str = "",
        like: Node | None = None,
    ) -> list[Any]:
        """As `add` for several outputs; None in `outs` asks for a fresh value, `like` is the node it is a copy of."""
        base = hint or f"{self.anchor.outputs[0].name}_{op.lower()}"
        outputs = [o if o is not None else self.fresh_variable(base) for o in outs]
        given: list[Any] = [Variable.empty() if t is None else t for t in inputs]
        while given and isinstance(given[-1], Variable) and not given[-1].name:
            given.pop()
        kept = {k: v for k, v in (attrs or {}).items() if v is not None}
        self.nodes.append(NewNode(op, given, outputs, kept, name, domain, like))
        return outputs

    def omitted(self) -> Variable:
        """A place for an optional output that is left out."""
        return Variable.empty()

    def replace(self, old: Any, new: Any) -> None:
        """Let `new` stand for `old` everywhere: they are the same value.

        The output of a graph keeps its name: the node that makes `new` makes `old` instead where it may, else an Identity does.
        """
        new = self.standing.get(new, new)
        for node in self.nodes:
            for k, tensor in enumerate(node.outputs):
                if tensor is new and not tensor.inputs:
                    self._rename(new, old)
                    node.outputs[k] = self.standing[new] = old
                    return
        merge = merging(self.region, old, new)
        if merge == "redirect":
            self.redirects.append((old, new))
        elif merge == "rename":
            self.renames.append((new, old))
        else:
            self.add("Identity", [new], out=old)

    def equals(self, value: Any, of: Any, how: str = "same") -> None:
        """Declare which old value a fresh one equals, and how."""
        self.values.append((value, of.name, how))

    # ---- what the pipeline calls

    @property
    def title(self) -> str:
        """ "Conv_12 + BatchNormalization_13"."""
        return " + ".join(n.name or n.op for n in self.sources)

    def preview(self) -> str:
        """The patch as text: what goes, what comes."""
        lines = [f"- {n}" for n in self.sources]
        lines += [f"+ {n}" for n in self.nodes]
        lines += [f"  {old.name} becomes {new.name}" for old, new in (*self.redirects, *self.renames)]
        return "\n".join(lines + ([self.note] if self.note else []))

    def kept_values(self) -> list[Any]:
        """The old values that go on under their names, with another maker or as another value."""
        taken = [t for n in self.nodes for t in n.outputs if t.inputs]
        return [*taken, *(old for old, _ in self.redirects), *(old for _, old in self.renames)]

    @property
    def added_bytes(self) -> int:
        """Bytes of the constants the patch makes."""
        fresh = {id(t): t for n in self.nodes for t in n.inputs if isinstance(t, Constant) and not t.outputs}
        fresh.update({id(new): new for _, new in self.redirects if isinstance(new, Constant) and not new.outputs})
        return sum(t.nbytes for t in fresh.values())

    def apply(self) -> Applied:
        """Change the graph; `Applied.undo` takes it back. Raises `RewriteError` if the place changed since the patch was made."""
        workspace = self.region.workspace
        for node in self.sources:
            if not self.region.alive(node) or workspace.touched.get(node, -1) > self.born:
                raise RewriteError(
                    "the patch is out of date",
                    where=f"node {node.name or node.op}",
                    why="another patch changed its place",
                )
        workspace.clock += 1
        for tensor in self.claimed:
            if workspace.names[tensor.name]:
                # another patch took the name since this one was made
                tensor.name = workspace.unique(tensor.name, self.taken)
                self.taken.add(tensor.name)
        done = Applied(self, workspace)
        try:
            done.run()
        except BaseException:
            done.undo()
            raise
        return done

    def fresh_constant(self, values: Any, hint: str) -> Constant:
        """A constant of `values` (an array, or a weight as it is stored) with a name of its own."""
        return self._claim(Constant(hint, values))

    def fresh_variable(
        self, hint: str, dtype: Any = None, shape: Any = None, kind: str | None = "tensor_type"
    ) -> Variable:
        """A value with a name of its own."""
        return self._claim(Variable(hint, dtype, shape, kind))

    def _claim(self, tensor: T) -> T:
        """Give `tensor` a name nobody has; it is taken only when the patch is applied, and looked up again then."""
        tensor.name = self.region.workspace.unique(tensor.name, self.taken)
        self.taken.add(tensor.name)
        self.claimed.append(tensor)
        return tensor

    def _rename(self, fresh: Any, old: Any) -> None:
        for node in self.nodes:
            node.inputs = [old if t is fresh else t for t in node.inputs]
        self.redirects = [(a, old if b is fresh else b) for a, b in self.redirects]


def merging(region: Region, old: Any, new: Any) -> str:
    """How `new` can stand for `old`: "redirect" the readers, "rename" what makes `new`, or "" where an Identity is needed.

    A graph's own outputs keep their names. A subgraph that hands out an outer value may hand out another one, but not one twice.
    """
    workspace = region.workspace
    holders = workspace.outputs.get(old)
    if not holders:
        return "redirect"
    if region.graph in holders:
        free = not isinstance(new, Constant) and bool(new.inputs) and workspace.home.get(new.inputs[0]) is region
        return "rename" if free and new not in workspace.outputs and holders == [region.graph] else ""
    return "" if isinstance(new, Constant) or any(any(t is new for t in g.outputs) for g in holders) else "redirect"


class Applied:
    """A patch that was applied: what to put back, in reverse."""

    def __init__(self, patch: Patch, workspace: Workspace) -> None:
        self.patch, self.workspace, self.region = patch, workspace, patch.region
        self.made: list[Node] = []
        self.fresh: list[Any] = []
        self.gone: list[tuple[Node, Region]] = []
        self.freed_bytes = 0
        self._inputs: list[tuple[Node, list[Any]]] = []
        self._outputs: list[tuple[Node, list[Any]]] = []
        self._handed: list[tuple[Graph, int, Any]] = []
        self.before: list[tuple[Any, Fact]] = []

    # ---- forward

    def run(self) -> None:
        candidates: list[Node] = list(self.patch.sources)
        for tensor in self.patch.kept_values():
            # what its maker says of it is what must stay true
            self.workspace.facts.of(tensor)
        for new in self.patch.nodes:
            attrs = {k: v.build() if isinstance(v, Body) else v for k, v in new.attrs.items()}
            node = Node(new.op, new.name, attrs, new.inputs, (), new.domain)
            if new.like is not None:
                node.adopt(new.like)
            self.made.append(node)
            for tensor in new.outputs:
                if tensor.inputs:
                    candidates.append(self._steal(tensor))
                else:
                    self.fresh.append(tensor)
                node.outputs.append(tensor)
            self._place(node)
        for old, value in self.patch.redirects:
            self._redirect(old, value)
            candidates.extend(old.inputs)
        for value, old in self.patch.renames:
            self._redirect(value, old)
            candidates.append(self._steal(old))
            self._give(value.inputs[0], value, old)
        self._bury([*self.made, *candidates])
        self._name_nodes()
        self._describe()

    def _name_nodes(self) -> None:
        """A node without a name gets the one of the node it goes on for: a Conv stays known as that Conv; else the anchor's."""
        free = [n for n, _ in self.gone if n.name and n in self.patch.sources]
        taken = {n.name for n in self.made}
        for node, new in zip(self.made, self.patch.nodes, strict=True):
            if node.name or new.name:
                continue
            same = next(
                (n.name for n in free if n.op == node.op and n.domain == node.domain and n.name not in taken), ""
            )
            base = same or self.patch.anchor.name
            node.name = base if base and base not in taken else self.workspace.unique(base, taken) if base else ""
            taken.add(node.name)
            self.workspace.names[node.name] += 1

    def _place(self, node: Node) -> None:
        self.region.added[node] = self.patch.anchor
        self.workspace.settle(node, self.region)
        self.workspace.touched[node] = self.workspace.clock

    def _steal(self, tensor: Any) -> Node:
        """Take `tensor` from the node that makes it."""
        maker: Node = tensor.inputs[0]
        self._keep_outputs(maker)
        k = next(i for i, t in enumerate(maker.outputs) if t is tensor)
        maker.outputs[k] = Variable.empty()
        return maker

    def _redirect(self, old: Any, new: Any) -> None:
        for reader in dict.fromkeys(old.outputs):
            self._keep_inputs(reader)
            for i, tensor in enumerate(reader.inputs):
                if tensor is old:
                    list.__setitem__(reader.inputs, i, new)
                    list.append(new.outputs, reader)
        list.clear(old.outputs)
        for graph in list(self.workspace.outputs.get(old, ())):
            for i, tensor in enumerate(graph.outputs):
                if tensor is old:
                    self._handed.append((graph, i, old))
                    graph.outputs[i] = new
                    self._hand_out(graph, old, new)

    def _give(self, maker: Node, value: Any, old: Any) -> None:
        """Let `maker` make `old` where it made `value`."""
        self._keep_outputs(maker)
        k = next(i for i, t in enumerate(maker.outputs) if t is value)
        maker.outputs[k] = old

    def _hand_out(self, graph: Graph, old: Any, new: Any) -> None:
        holders = self.workspace.outputs.get(old, [])
        if graph in holders:
            holders.remove(graph)
        if not holders:
            self.workspace.outputs.pop(old, None)
        self.workspace.outputs.setdefault(new, []).append(graph)

    def _bury(self, candidates: Iterable[Node]) -> None:
        """Remove the nodes nobody reads any more, and then those only they read."""
        stack = list(candidates)
        region_of = self.workspace.home
        while stack:
            node = stack.pop()
            region = region_of.get(node)
            if region is None or any(not region.is_unread(t) for t in node.outputs):
                continue
            self._detach(node, stack)
            region.removed.add(node)
            self.gone.append((node, region))
            self.workspace.unsettle(node)

    def _detach(self, node: Node, stack: list[Node]) -> None:
        self._keep_inputs(node)
        for tensor in list(node.inputs):
            if isinstance(tensor, Constant) and len(tensor.outputs) == 1:
                self.freed_bytes += tensor.nbytes
            stack.extend(tensor.inputs)
        node.inputs.clear()
        for value in node.attrs.values():
            if isinstance(value, Graph):
                for tensor in value.outputs:
                    stack.extend(tensor.inputs)
                for inner in value.nodes:
                    self._detach(inner, stack)

    def _describe(self) -> None:
        """Provenance, and the facts of what is new."""
        workspace = self.workspace
        if self.made:
            names = provenance(self.patch.sources)
            for node, new in zip(self.made, self.patch.nodes, strict=True):
                own = names if new.like is None else provenance([new.like])
                node.metadata[SOURCE] = json.dumps(own, ensure_ascii=False)
        for value, of, how in self.patch.values:
            value.metadata[VALUE] = json.dumps({"of": of, "how": how}, ensure_ascii=False)
        for node in self.made:
            for tensor in node.outputs:
                before = workspace.facts.peek(tensor)
                if before is not None:
                    self.before.append((tensor, before))
        alive = [node for node in self.made if node in workspace.home]
        for node in alive:
            workspace.facts.note(node)
        for tensor in self.fresh:
            declare(tensor, workspace.facts.of(tensor))

    # ---- backward

    def undo(self) -> None:
        """Put everything back."""
        workspace = self.workspace
        for graph, i, old in reversed(self._handed):
            self._hand_out(graph, graph.outputs[i], old)
            graph.outputs[i] = old
        for node in self.made:
            cut(node)
            node.outputs.clear()
            self.region.added.pop(node, None)
            workspace.unsettle(node)
        for node, region in self.gone:
            region.removed.discard(node)
            if not any(node is m for m in self.made):
                workspace.settle(node, region)
        for node, _ in self._outputs:
            node.outputs.clear()
        for node, outputs in self._outputs:
            node.outputs.extend(outputs)
        for node, inputs in self._inputs:
            node.inputs.clear()
            node.inputs.extend(inputs)
        for tensor, fact in self.before:
            workspace.facts.set(tensor, fact)

    def _keep_inputs(self, node: Node) -> None:
        if not any(node is m for m in self.made) and not any(n is node for n, _ in self._inputs):
            self._inputs.append((node, list(node.inputs)))
            self.workspace.touched[node] = self.workspace.clock

    def _keep_outputs(self, node: Node) -> None:
        if not any(node is m for m in self.made) and not any(n is node for n, _ in self._outputs):
            self._outputs.append((node, list(node.outputs)))
            self.workspace.touched[node] = self.workspace.clock


class Body:
    """A subgraph to be copied when its patch is applied, with outer values replaced; nothing is linked before."""

    def __init__(
        self,
        graph: Graph,
        values: Mapping[Any, Any],
        attrs: Callable[[Node], dict[str, Any]] | None = None,
        prefix: str = "",
    ) -> None:
        self.graph, self.values, self.attrs, self.prefix = graph, values, attrs, prefix

    def build(self) -> Graph:
        """The copy."""
        return self._graph(self.graph, dict(self.values))

    def _graph(self, graph: Graph, values: dict[Any, Any]) -> Graph:
        def twin(tensor: Any) -> Any:
            if isinstance(tensor, Constant) or not tensor.name:
                return values.get(tensor, tensor) if tensor.name else Variable.empty()
            return values.get(tensor, tensor)

        for tensor in (*graph.inputs, *(t for n in graph.nodes for t in n.outputs)):
            values[tensor] = copied = tensor.copy()
            copied.name = self.prefix + tensor.name if tensor.name else ""
        nodes = []
        for node in graph.nodes:
            attrs = dict(node.attrs) if self.attrs is None else self.attrs(node)
            attrs = {k: self._graph(v, dict(values)) if isinstance(v, Graph) else v for k, v in attrs.items()}
            made = Node(
                node.op, node.name, attrs, [twin(t) for t in node.inputs], [twin(t) for t in node.outputs], node.domain
            )
            made.adopt(node)
            nodes.append(made)
        return Graph(
            nodes, [twin(t) for t in graph.inputs], [twin(t) for t in graph.outputs], graph.name, graph.doc_string, graph.opset,
            graph.import_domains, functions=graph._functions, ir_version=graph.ir_version,
        )  # fmt: skip


def cut(node: Node) -> None:
    """Take a node and what is inside it out of the lists of the values it reads."""
    node.inputs.clear()
    for value in node.attrs.values():
        if isinstance(value, Graph):
            for inner in value.nodes:
                cut(inner)


def provenance(sources: Iterable[Node]) -> list[str]:
    """The names of the original nodes behind `sources`, each once, in order."""
    names: dict[str, None] = {}
    for node in sources:
        given = node.metadata.get(SOURCE)
        for name in (
            json.loads(given) if given else [node.name or f"{node.op}:{node.outputs[0].name if node.outputs else ''}"]
        ):
            names[name] = None
    return list(names)


def declare(tensor: Any, fact: Fact) -> None:
    """Write what is known of a fresh value into its declaration."""
    if isinstance(tensor, Variable) and tensor._t is None and tensor.dtype is None and fact.dtype is not None:
        tensor.dtype = fact.dtype
        tensor.shape = declared(fact.shape)


def declared(shape: Shape | None) -> list[int | str | None] | None:
    """A shape as a file declares it: numbers, names, and nothing for the rest."""
    if shape is None:
        return None
    out: list[int | str | None] = []
    for d in shape:
        if isinstance(d, Expr):
            text = str(d)
            out.append(text if len(d.terms) == 1 and text.isidentifier() else None)
        else:
            out.append(d)
    return out
