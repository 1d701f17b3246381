"""A model in float16 or bfloat16: half the bytes, for runtimes that compute in it.

Every float32 value becomes narrow, but for the ops that do not take it or do not bear it; Casts stand where the two meet. Inputs and
outputs keep float32 unless asked otherwise; so do those of a body of control flow, whose inside is converted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from onnx import TensorProto

from exec.arrays import Array
from exec.dtypes import BY_NAME
from exec.errors import OptionError
from exec.ir import Constant, Graph, Model, Node, Variable, no_gc, subgraphs_of, toposort, walk
from passes.convert.wide import FLOAT32, LARGEST, why_wide
from passes.region import Workspace

Narrow = Literal["float16", "bfloat16"]


@dataclass(frozen=True, slots=True)
class NarrowResult:
    """The narrow model, which nodes stayed in float32 and why, and how many numbers became the largest there is."""

    model: Model
    kept: tuple[tuple[str, str], ...]
    clipped: int
    casts: int


@dataclass(slots=True)
class _State:
    """What all graphs of a model share.

    narrow  why a node stays in float32, "" where it does not
    wide    values that are float32 in the original
    made    whether a value is float32 in the result
    home    the graph a value belongs to: a Cast of it stands there
    """

    dtype: np.dtype[Any]
    narrow: dict[Node, str]
    wide: set[Any]
    kept: list[tuple[str, str]] = field(default_factory=list)
    clipped: int = 0
    made: dict[Any, bool] = field(default_factory=dict)
    home: dict[Any, Graph] = field(default_factory=dict)
    casts: dict[tuple[Any, bool], Any] = field(default_factory=dict)
    constants: dict[Any, Constant] = field(default_factory=dict)
    added: dict[Graph, list[Node]] = field(default_factory=dict)


def to_float16(
    model: Model,
    dtype: Narrow = "float16",
    *,
    keep_io: bool = True,
    block: Collection[str] = (),
    nodes: Collection[str] = (),
) -> NarrowResult:
    """A copy of `model` in a narrow float type.

    keep_io  inputs and outputs stay float32
    block    further op types that stay in float32
    nodes    names of nodes that stay in float32; one that does not exist is an error
    """
    row = BY_NAME[dtype]
    with no_gc():
        copy = model.copy()
        workspace = Workspace(copy)
        unknown = set(nodes) - {n.name for n in copy.graph.nodes}
        if unknown:
            raise OptionError(f"no node called '{min(unknown)}'", why="it should stay in float32")
        graphs = list(walk(copy.graph))
        narrow: dict[Node, str] = {}
        for graph in graphs:
            for node in graph.nodes:
                workspace.facts.note_once(node)
            narrow |= why_wide(graph.nodes, copy.opset, row, block, nodes)
        wide = {t for t in workspace.facts._known if workspace.facts.dtype(t) == FLOAT32}
        state = _State(row.numpy, narrow, wide)
        _convert(state, copy.graph, keep_io)
        for graph in graphs:
            graph.nodes.extend(state.added.get(graph, ()))
            toposort(graph)
        return NarrowResult(copy, tuple(state.kept), state.clipped, sum(map(len, state.added.values())))


def _convert(state: _State, graph: Graph, keep_io: bool) -> None:
    outputs = list(graph.outputs)
    for tensor in graph.inputs:
        state.made[tensor], state.home[tensor] = keep_io, graph
        if not keep_io and tensor in state.wide and isinstance(tensor, Variable):
            tensor.dtype = state.dtype
    for node in graph.nodes:
        for tensor in node.outputs:
            state.made[tensor], state.home[tensor] = bool(state.narrow[node]), graph
    for node in graph.nodes:
        why = state.narrow[node]
        if why and any(t in state.wide for t in (*node.inputs, *node.outputs)):
            state.kept.append((node.name or node.op, why))
        _inputs(state, node, bool(why))
        for inner in subgraphs_of(node):
            _convert(state, inner, keep_io=True)
        if not why:
            _attributes(state, node)
            for tensor in node.outputs:
                if tensor in state.wide and isinstance(tensor, Variable) and tensor.dtype is not None:
                    tensor.dtype = state.dtype
    for k, tensor in enumerate(outputs):
        if tensor in state.wide and keep_io and not state.made.get(tensor, True):
            mine = state.home[tensor] is graph
            graph.outputs[k] = _handed_out(state, tensor) if mine else _cast(state, tensor, to_wide=True)


def _inputs(state: _State, node: Node, stays: bool) -> None:
    """Let a node read its operands in the type it computes in."""
    for k, tensor in enumerate(list(node.inputs)):
        if isinstance(tensor, Constant):
            if not stays and tensor.dtype == FLOAT32:
                node.inputs[k] = _narrowed(state, tensor)
        elif tensor in state.wide and tensor.name and state.made.get(tensor, True) != stays:
            node.inputs[k] = _cast(state, tensor, to_wide=stays)


def _cast(state: _State, tensor: Any, *, to_wide: bool) -> Any:
    """The value in the other type; cast once, however many read it."""
    key = (tensor, to_wide)
    if key not in state.casts:
        target = FLOAT32 if to_wide else state.dtype
        out = Variable(f"{tensor.name}_{target.name}", target, tensor.shape)
        code = TensorProto.FLOAT if to_wide else BY_NAME[state.dtype.name].code
        _add(state, tensor, Node("Cast", f"{out.name}_cast", {"to": code}, [tensor], [out]))
        state.casts[key] = out
    return state.casts[key]


def _handed_out(state: _State, tensor: Any) -> Any:
    """A graph output keeps its name and float32; what made it makes a narrow value of another name."""
    inner = Variable(f"{tensor.name}_{state.dtype.name}", state.dtype, tensor.shape)
    for maker in list(tensor.inputs):
        maker.outputs[next(i for i, t in enumerate(maker.outputs) if t is tensor)] = inner
    for reader in dict.fromkeys(tensor.outputs):
        for i, t in enumerate(reader.inputs):
            if t is tensor:
                reader.inputs[i] = inner
    tensor.dtype = FLOAT32
    _add(state, tensor, Node("Cast", f"{tensor.name}_cast", {"to": TensorProto.FLOAT}, [inner], [tensor]))
    state.casts[inner, True] = tensor
    state.made[tensor] = True
    return tensor


def _add(state: _State, tensor: Any, cast: Node) -> None:
    """Let a Cast stand in the graph of the value it casts."""
    state.added.setdefault(state.home[tensor], []).append(cast)


def _narrowed(state: _State, tensor: Constant) -> Constant:
    if tensor not in state.constants:
        state.constants[tensor] = Constant(f"{tensor.name}_{state.dtype.name}", _fitted(state, tensor.values))
    return state.constants[tensor]


def _fitted(state: _State, values: Array) -> Array:
    """The values in the narrow type; what is too large becomes its largest, infinities stay."""
    largest = LARGEST[state.dtype.name]
    finite = np.isfinite(values)
    over = finite & (np.abs(values) > largest)
    if over.any():
        state.clipped += int(over.sum())
        values = np.where(over, np.sign(values) * np.float32(largest), values)
    fitted = values.astype(state.dtype)
    fitted.flags.writeable = False
    return fitted


def _attributes(state: _State, node: Node) -> None:
    """Types and tensors named in attributes."""
    code = BY_NAME[state.dtype.name].code
    if node.op == "Cast" and node.attrs.get("to") == TensorProto.FLOAT:
        node.attrs["to"] = code
    value = node.attrs.get("value")
    if node.op in ("Constant", "ConstantOfShape"):
        if isinstance(value, Constant) and value.dtype == FLOAT32:
            node.attrs["value"] = Constant(value.name, _fitted(state, value.values))
        elif node.op == "ConstantOfShape" and value is None:
            node.attrs["value"] = Constant("", np.zeros(1, state.dtype))
        elif "value_float" in node.attrs:
            node.attrs = {"value": Constant("", _fitted(state, np.array(node.attrs["value_float"], np.float32)))}
        elif "value_floats" in node.attrs:
            node.attrs = {"value": Constant("", _fitted(state, np.array(node.attrs["value_floats"], np.float32)))}
