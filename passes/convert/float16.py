"""A model in float16 or bfloat16: half the bytes, for runtimes that compute in it.

Every float32 value becomes narrow, but for the ops that do not take it or do not bear it; Casts stand where the two meet. Inputs and
outputs keep float32 unless asked otherwise.
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
from exec.ir import Constant, Graph, Model, Node, Variable, no_gc, subgraphs_of, toposort
from exec.ir.opsets import schema_of
from passes.region import Workspace

Narrow = Literal["float16", "bfloat16"]
FLOAT32 = np.dtype(np.float32)

KEPT = frozenset(
    [
        "NonMaxSuppression",
        "RoiAlign",
        "MaxRoiPool",
        "Range",
        "CumSum",
        "TopK",
        "Multinomial",
        "RandomNormal",
        "RandomUniform",
        "RandomNormalLike",
        "RandomUniformLike",
        "Bernoulli",
        "EyeLike",
        "If",
        "Loop",
        "Scan",
        "QuantizeLinear",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "Resize",
        "Upsample",
    ]
)
"""Ops that stay in float32: unstable or unknown in narrow types, or with bodies of their own."""


@dataclass(frozen=True, slots=True)
class NarrowResult:
    """The narrow model, which nodes stayed in float32 and why, and how many constants were out of range."""

    model: Model
    kept: tuple[tuple[str, str], ...]
    clipped: int
    casts: int


@dataclass(slots=True)
class _State:
    graph: Graph
    dtype: np.dtype[Any]
    kept: list[tuple[str, str]] = field(default_factory=list)
    clipped: int = 0
    casts: dict[tuple[Any, bool], Any] = field(default_factory=dict)
    constants: dict[Any, Constant] = field(default_factory=dict)
    added: list[Node] = field(default_factory=list)


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
        for node in copy.graph.nodes:
            workspace.facts.note_once(node)
        state = _State(copy.graph, row.numpy)
        narrow = {n: _why_kept(n, copy.opset, row.text, block, nodes) for n in copy.graph.nodes}
        wide = {t for t in workspace.facts._known if workspace.facts.dtype(t) == FLOAT32}
        _convert(state, narrow, wide, keep_io)
        toposort(copy.graph)
        return NarrowResult(copy, tuple(state.kept), state.clipped, len(state.casts))


def _why_kept(node: Node, opset: int, text: str, block: Collection[str], names: Collection[str]) -> str:
    """Why a node stays in float32, or ""."""
    if node.domain:
        return "it is of a foreign domain"
    if node.name in names or node.op in block:
        return "it was asked to stay"
    if node.op in KEPT:
        return "the op is unstable or unknown in a narrow type"
    schema = schema_of(node.op, opset)
    if schema is None:
        return "the op is not known"
    for constraint in schema.type_constraints:
        allowed = constraint.allowed_type_strs
        if "tensor(float)" in allowed and f"tensor({text})" not in allowed:
            return f"opset {opset} does not take {text} there"
    if any(p.type_str == "tensor(float)" for p in (*schema.inputs, *schema.outputs)):
        return "an input or output is float32 by specification"
    return ""


def _convert(state: _State, narrow: dict[Node, str], wide: set[Any], keep_io: bool) -> None:
    graph = state.graph
    outputs = list(graph.outputs)
    made: dict[Any, bool] = {}
    for tensor in graph.inputs:
        made[tensor] = keep_io
        if not keep_io and tensor in wide and isinstance(tensor, Variable):
            tensor.dtype = state.dtype
    for node, why in narrow.items():
        for tensor in node.outputs:
            made[tensor] = bool(why)
    for node, why in narrow.items():
        if why and any(t in wide for t in (*node.inputs, *node.outputs)):
            state.kept.append((node.name or node.op, why))
        _inputs(state, node, bool(why), made, wide)
        for inner in subgraphs_of(node):
            _captures(state, inner, made, wide)
        if not why:
            _attributes(state, node)
            for tensor in node.outputs:
                if tensor in wide and isinstance(tensor, Variable) and tensor.dtype is not None:
                    tensor.dtype = state.dtype
    for k, tensor in enumerate(outputs):
        if tensor in wide and keep_io and not made.get(tensor, True):
            graph.outputs[k] = _handed_out(state, tensor)
    graph.nodes.extend(state.added)


def _inputs(state: _State, node: Node, stays: bool, made: dict[Any, bool], wide: set[Any]) -> None:
    """Let a node read its operands in the type it computes in."""
    for k, tensor in enumerate(list(node.inputs)):
        if isinstance(tensor, Constant):
            if not stays and tensor.dtype == FLOAT32:
                node.inputs[k] = _narrowed(state, tensor)
        elif tensor in wide and tensor.name and made.get(tensor, True) != stays:
            node.inputs[k] = _cast(state, tensor, to_wide=stays)


def _captures(state: _State, inner: Graph, made: dict[Any, bool], wide: set[Any]) -> None:
    """Bodies stay in float32: what they capture is cast for them."""
    for node in inner.nodes:
        for k, tensor in enumerate(list(node.inputs)):
            if tensor in wide and tensor in made and not made[tensor]:
                node.inputs[k] = _cast(state, tensor, to_wide=True)
        for deeper in subgraphs_of(node):
            _captures(state, deeper, made, wide)
    for k, tensor in enumerate(inner.outputs):
        if tensor in wide and tensor in made and not made[tensor]:
            inner.outputs[k] = _cast(state, tensor, to_wide=True)


def _cast(state: _State, tensor: Any, *, to_wide: bool) -> Any:
    """The value in the other type; cast once, however many read it."""
    key = (tensor, to_wide)
    if key not in state.casts:
        target = FLOAT32 if to_wide else state.dtype
        out = Variable(f"{tensor.name}_{target.name}", target, tensor.shape)
        code = TensorProto.FLOAT if to_wide else BY_NAME[state.dtype.name].code
        state.added.append(Node("Cast", f"{out.name}_cast", {"to": code}, [tensor], [out]))
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
    state.added.append(Node("Cast", f"{tensor.name}_cast", {"to": TensorProto.FLOAT}, [inner], [tensor]))
    state.casts[inner, True] = tensor
    return tensor


def _narrowed(state: _State, tensor: Constant) -> Constant:
    if tensor not in state.constants:
        state.constants[tensor] = Constant(f"{tensor.name}_{state.dtype.name}", _fitted(state, tensor.values))
    return state.constants[tensor]


def _fitted(state: _State, values: Array) -> Array:
    """The values in the narrow type; what is too large becomes its largest, infinities stay."""
    largest = 65504.0 if state.dtype == np.float16 else 3.3895313892515355e38
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
