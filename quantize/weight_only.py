"""Weight-only: constants in 8 or 4 bits, dequantized where they are read; activations stay float."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto

from exec.arrays import Array
from exec.ir import Constant, Graph, Model, Names, Node, Variable, prune, walk
from exec.metrics import sqnr_db
from quantize.findings import Finding
from quantize.numerics import TYPES, IntType, dequantize, quantize, weight_params
from quantize.qdq import Writer
from quantize.report import QuantizedNode
from quantize.selection import Selector, matching
from quantize.weights import constant_behind

LEAST_ELEMENTS = 256
BLOCK = 32
TABLES = ("s8", "u8")
"""Types whose rows a Gather looks up; it takes no 4-bit and no float8 values."""
_SHRINKS = np.linspace(1.0, 0.7, 7)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operator reads a weight: its position, the axis of the outputs, and the axis summed over (blocks lie along it)."""

    position: int
    outputs: int
    inputs: int


def place_of(node: Node) -> Place | None:
    """How `node` reads its weight; None for operators without one."""
    if node.domain:
        return None
    if node.op == "Gemm":
        return Place(1, 0, 1) if node.attrs.get("transB", 0) else Place(1, 1, 0)
    return {
        "Conv": Place(1, 0, 1),
        "ConvTranspose": Place(1, 1, 0),
        "MatMul": Place(1, -1, -2),
        "Gather": Place(0, int(node.attrs.get("axis", 0)), -1),
    }.get(node.op)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Integers with a scale per block of `size` along `axis`; scale and zero point have the blocks' number there."""

    integers: Array
    scale: Array
    zero_point: Array
    axis: int
    size: int


def compress(
    model: Model, weights: str, *, per_channel: bool, block_size: int | None, include: tuple[Selector, ...], exclude: tuple[Selector, ...], packed: bool
) -> tuple[list[QuantizedNode], list[Finding]]:  # fmt: skip
    """Quantize the weights of `model` in place, in the bodies of control flow too.

    packed  write com.microsoft MatMulNBits where it fits, for onnxruntime
    """
    kind = TYPES[weights]
    size = block_size or (BLOCK if kind.bits < 8 else None)
    names = Names(model.graph)
    rows: list[QuantizedNode] = []
    findings: list[Finding] = []
    graphs = list(walk(model.graph))
    candidates = [n for g in graphs for n in g.nodes if place_of(n) is not None]
    included = matching(candidates, include, "--include") if include else {id(n) for n in candidates}
    excluded = matching(candidates, exclude, "--exclude") if exclude else set()
    for graph in graphs:
        work = Compressing(graph, names, kind, size, per_channel, packed, rows, findings)
        for node in [n for n in graph.nodes if place_of(n) is not None]:
            if id(node) in excluded or id(node) not in included:
                findings.append(Finding("Q006", "note", node.name, "not selected"))
            else:
                work.take(node)
        work.writer.apply()
        prune(graph, list(work.replaced))
    return rows, findings


class Compressing:
    """One graph's weights."""

    def __init__(
        self, graph: Graph, names: Names, kind: IntType, size: int | None, per_channel: bool, packed: bool, rows: list[QuantizedNode], findings: list[Finding]
    ) -> None:  # fmt: skip
        self.writer = Writer(graph, names)
        self.kind, self.size, self.per_channel, self.packed = kind, size, per_channel, packed
        self.rows, self.findings = rows, findings
        self.replaced: list[Node] = []
        self._made: dict[tuple[Any, ...], tuple[Variable, float]] = {}
        self._tables: dict[tuple[Any, ...], tuple[list[Constant], Constant | None, float]] = {}

    def take(self, node: Node) -> None:
        """Quantize the weight of one node, or say why not."""
        place = place_of(node)
        assert place is not None
        tensor = node.inputs[place.position]
        weight = constant_behind(tensor)
        if weight is None:
            if node.op != "Gather":
                self.findings.append(
                    Finding("Q004", "note", node.name, f"the weight of this {node.op} is computed, not a constant")
                )
            return
        reason = _unfit(weight, node.op)
        if reason:
            if weight.dtype.kind in "fV" and weight.size >= LEAST_ELEMENTS:
                self.findings.append(Finding("Q005", "note", node.name, reason))
            return
        size = self.size if self.size and (node.op in ("MatMul", "Gemm") and weight.ndim == 2) else None
        if self.size and size is None and self.kind.bits < 8 and node.op != "Gather":
            self.findings.append(
                Finding(
                    "Q005",
                    "note",
                    node.name,
                    f"4-bit blocks of a {node.op} weight of rank {weight.ndim} are not stored",
                    "--weights s8",
                )
            )
            return
        if self.packed and node.op == "MatMul" and weight.ndim == 2 and size:
            self._packed(node, weight, size)
            return
        if node.op == "Gather":
            self._rows(node, tensor, weight, place.outputs)
            return
        key = (id(tensor), place.outputs % weight.ndim, place.inputs % weight.ndim, size)
        if key not in self._made:
            self._made[key] = self._stored(node, tensor, weight, place, size)
        value, exact = self._made[key]
        node.inputs[place.position] = value
        self.replaced += tensor.inputs  # what turned a tied weight, when nothing else reads it turned
        self.rows.append(QuantizedNode(node.name, node.op, 0, 0.0, weight.nbytes, exact))

    def _stored(self, node: Node, tensor: Any, weight: Array, place: Place, size: int | None) -> tuple[Variable, float]:
        base = tensor.name or f"{node.name}_weight"
        attributes: dict[str, int] = {}
        if size:
            made = blocks(weight, self.kind, place.inputs % weight.ndim, size)
            parts, attributes = (
                (made.integers, made.scale, made.zero_point),
                {"axis": made.axis, "block_size": made.size},
            )
            exact = sqnr_db(weight, unblocked(made))
        else:
            grouped = node.op == "ConvTranspose" and int(node.attrs.get("group", 1)) > 1
            axis = place.outputs % weight.ndim if self.per_channel and not grouped else None
            how = weight_params(weight, self.kind, axis)
            integers = quantize(weight, how)
            parts, attributes = (integers, how.scale, how.zero_point), {} if axis is None else {"axis": axis}
            exact = sqnr_db(weight, dequantize(integers, how))
        constants = [
            self.writer.constant(f"{base}_{n}", v)
            for n, v in zip(("quantized", "scale", "zero_point"), parts, strict=True)
        ]
        value = Variable(self.writer.name(f"{base}_dequantized"), np.dtype(np.float32), list(weight.shape))
        name = self.writer.name(f"{base}_DequantizeLinear")
        self.writer.before[id(node)].append(Node("DequantizeLinear", name, attributes, constants, [value]))
        return value, exact

    def _rows(self, node: Node, tensor: Any, weight: Array, axis: int) -> None:
        """A table: rows are looked up as integers and only those that were found are made float, each with its own scale.

        DequantizeLinear before the Gather would make the whole table float in every run.
        """
        kind = self.kind if self.kind.name in TABLES else TYPES["s8"]
        if kind is not self.kind:
            text = f"its table is stored in 8 bits: a Gather takes no {self.kind.name}, and to make all {weight.shape[axis]:,} rows float in every run is slow"
            self.findings.append(Finding("Q027", "note", node.name, text))
        key = (id(tensor), axis % weight.ndim, "rows")
        if key not in self._tables:
            how = weight_params(weight, kind, axis % weight.ndim if self.per_channel else None)
            integers = quantize(weight, how)
            base = tensor.name or f"{node.name}_table"
            shape = [1] * weight.ndim
            shape[axis] = -1
            scale = how.scale.reshape(shape) if how.scale.ndim else how.scale
            stored = [self.writer.constant(f"{base}_{n}", v) for n, v in (("rows", integers), ("row_scale", scale))]
            middle = (
                None
                if kind.symmetric
                else self.writer.constant(f"{base}_row_zero", how.zero_point.astype(np.float32).reshape(-1)[:1])
            )
            self._tables[key] = stored, middle, sqnr_db(weight, dequantize(integers, how))
        (table, scale_of), middle, exact = self._tables[key]
        name, output, found = node.name, node.outputs[0], self._value(node, "integers", table.dtype)
        node.inputs[0], node.outputs[0] = table, found
        nodes: list[Node] = []

        def step(
            op: str, end: str, inputs: list[Any], attributes: dict[str, Any] | None = None, out: Any = None
        ) -> Any:
            value = self._value(node, end, np.dtype(np.float32)) if out is None else out
            nodes.append(Node(op, self.writer.name(f"{name}_{end}"), attributes or {}, inputs, [value]))
            return value

        plain = step("Cast", "plain", [found], {"to": TensorProto.FLOAT})
        if middle is not None:
            plain = step("Sub", "centred", [plain, middle])
        factor = (
            step("Gather", "scale", [scale_of, node.inputs[1]], dict(node.attrs)) if scale_of.values.ndim else scale_of
        )
        step("Mul", "scaled", [plain, factor], out=output)
        self.writer.after[id(node)] += nodes
        self.rows.append(QuantizedNode(name, node.op, 0, 0.0, weight.nbytes, exact))

    def _value(self, node: Node, end: str, dtype: np.dtype[Any]) -> Variable:
        return Variable(self.writer.name(f"{node.name}_{end}"), dtype)

    def _packed(self, node: Node, weight: Array, size: int) -> None:
        """MatMulNBits: W [N, K] in rows of packed blocks; a shorter last block is filled up."""
        turned = np.ascontiguousarray(weight.T)
        made = blocks(turned, self.kind, 1, size)
        columns, count = len(turned), made.scale.shape[1]
        middle = 1 << (self.kind.bits - 1)
        shift = middle if self.kind.low < 0 else 0
        values = np.full((columns, count * size), middle, np.uint8)
        values[:, : turned.shape[1]] = made.integers.astype(np.int16) + shift
        base = node.inputs[1].name or f"{node.name}_weight"
        inputs = [
            node.inputs[0],
            self.writer.constant(f"{base}_packed", pack(values.reshape(columns, count, size), self.kind.bits)),
            self.writer.constant(f"{base}_scale", made.scale.reshape(-1)),
        ]
        if self.kind.low == 0:
            zero = (
                np.full((columns, count + count % 2), middle, np.uint8)
                if self.kind.bits < 8
                else np.zeros((columns, count), np.uint8)
            )
            zero[:, :count] = made.zero_point.astype(np.uint8)
            inputs.append(self.writer.constant(f"{base}_zero_point", pack(zero, self.kind.bits).reshape(-1)))
        attributes = {"K": turned.shape[1], "N": columns, "bits": self.kind.bits, "block_size": size}
        self.rows.append(QuantizedNode(node.name, node.op, 0, 0.0, weight.nbytes, sqnr_db(turned, unblocked(made))))
        output = node.outputs[0]
        node.outputs[0] = Variable(self.writer.name(f"{output.name}_unused"), output.dtype, output.shape)
        name = self.writer.name(f"{node.name}_MatMulNBits")
        self.writer.after[id(node)].append(
            Node("MatMulNBits", name, attributes, inputs, [output], domain="com.microsoft")
        )
        self.replaced += [node, *node.inputs[1].inputs]


def _unfit(weight: Array, op: str) -> str | None:
    if weight.dtype != np.float32:
        return f"its weight is {weight.dtype}"
    if weight.size < LEAST_ELEMENTS or weight.ndim < 2:
        return f"its weight has {weight.size} elements"
    return None if np.isfinite(weight).all() else "its weight holds NaN or infinity"


def blocks(weight: Array, kind: IntType, axis: int, size: int) -> Blocks:
    """Quantize in blocks along `axis`: of some clippings of each block the one with the least error is taken."""
    moved = np.moveaxis(weight, axis, -1).astype(np.float32)
    length = moved.shape[-1]
    count = -(-length // size)
    padded = np.zeros((*moved.shape[:-1], count * size), np.float32)
    padded[..., :length] = moved
    parts = padded.reshape(*moved.shape[:-1], count, size)
    best: tuple[Array, Array, Array] | None = None
    least = np.full(parts.shape[:-1], np.inf, np.float32)
    for shrink in _SHRINKS:
        integers, scale, zero = _rounded(parts, kind, float(shrink))
        error = np.square((integers - zero[..., None]) * scale[..., None] - parts).sum(-1)
        better = error < least
        least = np.where(better, error, least)
        if best is None:
            best = integers, scale, zero
        else:
            best = (
                np.where(better[..., None], integers, best[0]),
                np.where(better, scale, best[1]),
                np.where(better, zero, best[2]),
            )
    assert best is not None
    integers = best[0].reshape(padded.shape)[..., :length]
    back = [np.ascontiguousarray(np.moveaxis(v, -1, axis)) for v in (integers, best[1], best[2])]
    return Blocks(back[0].astype(kind.dtype), back[1].astype(np.float32), back[2].astype(kind.dtype), axis, size)


def _rounded(parts: Array, kind: IntType, shrink: float) -> tuple[Array, Array, Array]:
    """(integers, scale, zero point) as floats; a symmetric block maps its largest magnitude to the type's lowest number, which reaches one further."""
    low, high = parts.min(-1), parts.max(-1)
    if kind.low < 0:
        largest = np.where(-low >= high, low, high)
        scale = largest * np.float32(shrink) / np.float32(kind.low)
        zero = np.zeros_like(scale)
    else:
        low, high = np.minimum(low, 0) * np.float32(shrink), np.maximum(high, 0) * np.float32(shrink)
        scale = (high - low) / np.float32(kind.high)
        zero = np.rint(np.clip(np.divide(-low, scale, out=np.zeros_like(scale), where=scale != 0), 0, kind.high))
    flat = np.abs(scale) < np.finfo(np.float32).tiny
    scale = np.where(flat, np.float32(1), scale).astype(np.float32)
    zero = np.where(flat, np.float32(0), zero).astype(np.float32)
    integers = np.clip(np.rint(parts / scale[..., None]) + zero[..., None], kind.low, kind.high)
    return integers, scale, zero


def unblocked(made: Blocks) -> Array:
    """Back to float32."""
    length = made.integers.shape[made.axis]
    scale, zero = (
        np.repeat(v.astype(np.float32), made.size, made.axis).take(range(length), made.axis)
        for v in (made.scale, made.zero_point)
    )
    return np.asarray((made.integers.astype(np.float32) - zero) * scale)


def pack(values: Array, bits: int) -> Array:
    """Two 4-bit numbers a byte along the last axis, the first in the low half."""
    if bits == 8:
        return values
    packed: Array = values[..., 0::2] | (values[..., 1::2] << 4)
    return packed


__all__ = ["Blocks", "blocks", "compress", "pack", "place_of", "unblocked"]
