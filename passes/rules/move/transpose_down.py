from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.ir import Constant, Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.read import perm_of, reduce_axes
from passes.region import Region
from passes.shapes.elementwise import BROADCASTING
from passes.shapes.reduction import REDUCTIONS
from passes.write import reduce, transpose

UNARY = frozenset(
    [
        "Abs",
        "Acos",
        "Acosh",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "BitwiseNot",
        "Cast",
        "Ceil",
        "Celu",
        "Clip",
        "Cos",
        "Cosh",
        "Elu",
        "Erf",
        "Exp",
        "Floor",
        "Gelu",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "IsInf",
        "IsNaN",
        "LeakyRelu",
        "Log",
        "Mish",
        "Neg",
        "Not",
        "Reciprocal",
        "Relu",
        "Round",
        "Selu",
        "Shrink",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Swish",
        "Tan",
        "Tanh",
        "ThresholdedRelu",
    ]
)
MIXING = frozenset(BROADCASTING) - {"BitShift"} | {"PRelu"}
LIMIT = 64


@dataclass(slots=True)
class Island:
    """The ops that can work in the order before the Transpose.

    values   those computed in the island, and the Transposes' outputs at its shore
    nodes    in order
    sources  the Transposes that lead in
    """

    perm: list[int]
    values: dict[Any, None] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    sources: list[Node] = field(default_factory=list)


class MoveTransposeDown(Rewrite):
    """Move Transposes behind the element-by-element ops that follow, where they meet others and vanish.

    What    Transpose, Relu, Add, Transpose back  becomes  Relu, Add in the original order of axes.
    Why     Layout changes around single ops: each Transpose is a copy of the activation.
    When    Fewer Transposes are left than there were. Constants are transposed instead; axes of Softmax, Concat and reductions are renamed.
    Not     Where nothing is gained.
    Safety  EXACT: the same numbers in another order.
    Source  Transpose sinking, as layout optimizers do it.
    """

    id = "move-transpose-down"
    roots = ("Transpose",)
    BEFORE = """ g (float[1,3,4,4] x) => (float[1,3,4,4] y) <float[3] k> {
        a = Transpose <perm = [0, 2, 3, 1]> (x)  b = Relu (a)  c = Add (b, k)  y = Transpose <perm = [0, 3, 1, 2]> (c) } """
    AFTER = """ g (float[1,3,4,4] x) => (float[1,3,4,4] y) <float[1,3,1,1] k> { b = Relu (x)  y = Add (b, k) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        perm = perm_of(node, region)
        if perm is None or perm == sorted(perm):
            return None
        island = _explore(node, perm, region)
        if not island.nodes:
            return None
        exits = _exits(island, region)
        left = sum(1 for _, readers in exits if readers) + sum(
            _composed(island.perm, t, region) != sorted(perm) for t in _turns(island, region)
        )
        gone = sum(
            all(r in island.nodes or _is_turn(r, region) for r in region.readers(s.outputs[0])) for s in island.sources
        ) + len(_turns(island, region))
        if any(region.is_output(s.outputs[0]) for s in island.sources) or left >= gone:
            return None
        return self._write(node, island, exits, region)

    def _write(self, node: Node, island: Island, exits: list[tuple[Any, list[Node]]], region: Region) -> Patch:
        turns = _turns(island, region)
        patch = self.patch(region, node, *island.sources, *island.nodes, *turns)
        patch.anchor = island.nodes[-1]
        new: dict[Any, Any] = {s.outputs[0]: s.inputs[0] for s in island.sources}
        for member in island.nodes:
            _rewrite(patch, member, island, new, region)
        for value, readers in exits:
            if readers:
                transpose(patch, new[value], island.perm, out=value)
        for turn in turns:
            composed = _composed(island.perm, turn, region)
            if composed == sorted(composed):
                patch.replace(turn.outputs[0], new[turn.inputs[0]])
            else:
                transpose(patch, new[turn.inputs[0]], composed, out=turn.outputs[0])
        return patch


def _is_turn(node: Node, region: Region) -> bool:
    return region.is_plain(node, "Transpose")


def _turns(island: Island, region: Region) -> list[Node]:
    """The Transposes that read a value computed in the island."""
    made = [t for n in island.nodes for t in n.outputs]
    return list(dict.fromkeys(r for t in made for r in region.readers(t) if _is_turn(r, region)))


def _exits(island: Island, region: Region) -> list[tuple[Any, list[Node]]]:
    """Values of the island with the readers, outside, that need the old order; a graph output counts as one."""
    found: list[tuple[Any, list[Node]]] = []
    for member in island.nodes:
        for value in member.outputs:
            outside = [r for r in region.readers(value) if r not in island.nodes and not _is_turn(r, region)]
            if region.is_output(value):
                outside.append(member)
            found.append((value, outside))
    return found


def _composed(perm: list[int], turn: Node, region: Region) -> list[int]:
    second = perm_of(turn, region) or []
    return [perm[i] for i in second]


def _explore(start: Node, perm: list[int], region: Region) -> Island:
    island = Island(perm)
    _land(start, island)
    queue = list(region.readers(start.outputs[0]))
    while queue and len(island.nodes) < LIMIT:
        node = queue.pop(0)
        if node in island.nodes or not region.is_plain(node):
            continue
        sources = _sources(node, island, region)
        if sources is None or not _fits(node, island, region):
            continue
        for source in sources:
            _land(source, island)
            queue.extend(r for r in region.readers(source.outputs[0]) if r is not node)
        island.nodes.append(node)
        for out in node.outputs:
            island.values[out] = None
            queue.extend(region.readers(out))
    return island


def _land(source: Node, island: Island) -> None:
    if source not in island.sources:
        island.sources.append(source)
        island.values[source.outputs[0]] = None


def _sources(node: Node, island: Island, region: Region) -> list[Node] | None:
    """The further Transposes of the same kind that `node` reads; None if it reads something that has no counterpart."""
    found: list[Node] = []
    tensors = (
        node.inputs[:1]
        if node.op in UNARY or node.op in REDUCTIONS or node.op in ("Softmax", "LogSoftmax")
        else node.inputs
    )
    for tensor in tensors:
        if tensor in island.values:
            continue
        if node.op in MIXING and region.is_constant(tensor) and (region.rank(tensor) or 0) <= len(island.perm):
            continue
        other = region.producer(tensor, "Transpose")
        if other is None or perm_of(other, region) != island.perm:
            return None
        found.append(other)
    return found


def _fits(node: Node, island: Island, region: Region) -> bool:
    """Whether the op has the same meaning with its axes renamed."""
    rank = len(island.perm)
    if node.op in UNARY:
        return True
    if node.op in MIXING:
        return region.opset >= 7 and region.rank(node.outputs[0]) == rank
    if node.op in ("Softmax", "LogSoftmax"):
        return region.opset >= 13
    if node.op == "Concat":
        return True
    if node.op in REDUCTIONS:
        return (
            bool(node.attrs.get("keepdims", 1))
            and bool(reduce_axes(node, region))
            and region.rank(node.inputs[0]) == rank
        )
    return False


def _rewrite(patch: Patch, node: Node, island: Island, new: dict[Any, Any], region: Region) -> None:
    """Add the counterpart of `node` in the order before the Transpose."""
    perm = island.perm
    inputs = [new[t] if t in new else _turned(patch, t, perm, region) for t in node.inputs]
    attrs: dict[str, Any] = dict(node.attrs)
    if node.op in REDUCTIONS:
        axes = sorted(perm[a] for a in reduce_axes(node, region) or [])
        new[node.outputs[0]] = reduce(patch, node.op, inputs[0], axes, True)
        return
    if node.op in ("Softmax", "LogSoftmax", "Concat"):
        attrs["axis"] = perm[int(attrs.get("axis", 1 if node.op == "Concat" else -1))]
    new[node.outputs[0]] = patch.add(node.op, inputs, attrs, hint=node.outputs[0].name)


def _turned(patch: Patch, tensor: Any, perm: list[int], region: Region) -> Any:
    """A constant operand, with its axes as they were before the Transpose; bounds and empty inputs stay."""
    if not tensor.name and not isinstance(tensor, Constant):
        return None
    array = region.constant(tensor)
    if array is None or array.size == 1:
        return tensor
    full = array.reshape((1,) * (len(perm) - array.ndim) + array.shape)
    return patch.constant(np.ascontiguousarray(full.transpose(np.argsort(perm))), tensor.name)
