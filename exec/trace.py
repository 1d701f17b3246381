"""What one run of a program shows about every run with the same signature.

The first run goes through the interpreter. It records each value's shape and type, evaluates what depends on constants and on
shapes alone, takes the branch of an `If` whose condition is known, and marks what depends on data: values whose shape may differ
in the next run. A plan is made from this record, so it needs no shape rules of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.interpreter import Interpreter
from exec.program import MISSING, Operation, Program
from exec.progress import Cancel, check
from exec.specs import Spec as Spec

RANDOM = frozenset(
    ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")
)
"""Ops that answer differently each time; Dropout and functions around them ask for `rng`."""

SHAPED_BY: dict[str, tuple[int, ...]] = {
    "Reshape": (1,), "Expand": (1,), "Tile": (1, 2), "Slice": (1, 2, 3, 4), "Pad": (1, 3), "Resize": (1, 2, 3),
    "Upsample": (1,), "TopK": (1,), "OneHot": (1,), "ConstantOfShape": (0,), "Range": (0, 1, 2), "Squeeze": (1,),
    "Unsqueeze": (1,), "Split": (1,), "MaxUnpool": (2,), "NonZero": (0,), "Compress": (1,), "Unique": (0,),
    "NonMaxSuppression": (0, 1, 2, 3, 4), "CenterCropPad": (1,), "Col2Im": (1, 2), "AffineGrid": (1,), "STFT": (1, 3),
    "DFT": (1,), "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,), "MelWeightMatrix": (0, 1, 2, 3, 4),
    "ReduceSum": (1,), "ReduceMean": (1,), "ReduceMax": (1,), "ReduceMin": (1,), "ReduceProd": (1,), "ReduceL1": (1,),
    "ReduceL2": (1,), "ReduceLogSum": (1,), "ReduceLogSumExp": (1,), "ReduceSumSquare": (1,), "ImageDecoder": (0,),
    "Loop": (), "If": (), "Scan": (), "SequenceMap": (), "StringSplit": (0,),
}  # fmt: skip
"""Inputs whose values, not only shapes, decide the shape of an output."""

ALWAYS_DATA = frozenset(("Loop", "If", "Scan", "SequenceMap"))


@dataclass(frozen=True, slots=True)
class Dequantized:
    """Where a known float comes from: bytes, their scales and zero points, and the axis those lie along."""

    values: Array
    scale: Array
    zero: Array | None
    axis: int


@dataclass(slots=True)
class Trace:
    """The record of one run.

    operations  what a run has to compute, in order; constants and taken branches are dissolved
    specs       number to Spec; a number without one is data-dependent, a sequence, a map or text
    known       number to value, the same in every run
    dequantized known values that were bytes before
    """

    names: list[str]
    dequantized: dict[int, Dequantized] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    specs: dict[int, Spec] = field(default_factory=dict)
    known: dict[int, Value] = field(default_factory=dict)

    def fresh(self, name: str = "") -> int:
        """A new value number."""
        self.names.append(name)
        return len(self.names) - 1


class Tracer:
    """Runs a program once and keeps the record."""

    def __init__(self, program: Program, interpreter: Interpreter, cancel: Cancel | None = None) -> None:
        self.program, self.interpreter, self.cancel = program, interpreter, cancel
        self.trace = Trace(list(program.names))
        self.values: list[Value] = [None] * len(program.names)

    def run(self, feeds: Mapping[int, Value], fixed: Mapping[int, Value], keep: Sequence[int]) -> list[Value]:
        """Record a run with `feeds` (number to value); `fixed` values belong to the signature. Returns those in `keep`."""
        trace = self.trace
        for number, value in feeds.items():
            self._note(number, value)
            self.values[number] = value
        for number, value in fixed.items():
            trace.known[number] = self.values[number] = value
        self._operations(self.program, list(range(len(self.program.names))), frozenset(keep))
        return [None if n == MISSING else self.values[n] for n in keep]

    def _note(self, number: int, value: Value) -> None:
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OUST":
            self.trace.specs[number] = Spec(value.shape, value.dtype)

    def _operations(self, program: Program, numbers: list[int], keep: frozenset[int]) -> None:
        """Run the operations of `program`, whose value n is our value numbers[n]."""
        trace, values = self.trace, self.values
        for number in program.constants:
            trace.known[numbers[number]] = values[numbers[number]] = program.constant(number)
        for operation, dead in zip(program.operations, self.interpreter.deaths(program), strict=True):
            check(self.cancel, "the run")
            self._operation(operation, numbers)
            for number in dead:
                mine = numbers[number]
                if mine not in keep and mine not in trace.known:
                    self.interpreter.footprint.gone(values[mine])
                    values[mine] = None

    def _operation(self, operation: Operation, numbers: list[int]) -> None:
        trace, values = self.trace, self.values
        inputs = tuple(MISSING if n == MISSING else numbers[n] for n in operation.inputs)
        outputs = tuple(MISSING if n == MISSING else numbers[n] for n in operation.outputs)
        if operation.op == "If" and operation.domain == "" and inputs[0] in trace.known:
            taken = bool(np.asarray(values[inputs[0]]).reshape(-1)[0])
            self._branch(operation, "then_branch" if taken else "else_branch", numbers, outputs)
            return
        captures = {name: tuple(numbers[n] for n in caught) for name, caught in operation.captures.items()}
        given = [None if n == MISSING else values[n] for n in inputs]
        results = self.interpreter.compute(operation, given, _Renumbered(values, numbers))
        foldable = self._foldable(operation, inputs, captures)
        static = foldable or self._static(operation, inputs, given)
        for number, value in zip(outputs, results, strict=False):
            if number == MISSING:
                continue
            values[number] = value
            if foldable:
                trace.known[number] = value
                if operation.op == "DequantizeLinear" and not operation.attributes.get("block_size"):
                    self._remember_bytes(operation, number, given)
            elif static:
                self._note(number, value)
        if not foldable:
            trace.operations.append(
                Operation(
                    operation.op,
                    operation.domain,
                    operation.opset,
                    operation.attributes,
                    inputs,
                    outputs,
                    operation.node,
                    captures,
                    operation.opsets,
                )
            )

    def _remember_bytes(self, operation: Operation, number: int, given: Sequence[Value]) -> None:
        values = given[0]
        if isinstance(values, np.ndarray) and values.dtype in (np.int8, np.uint8) and given[1].dtype == np.float32:
            zero = given[2] if len(given) > 2 else None
            axis = int(operation.attributes.get("axis", 1))
            self.trace.dequantized[number] = Dequantized(values, given[1], zero, axis)

    def _branch(self, operation: Operation, name: str, numbers: list[int], outputs: tuple[int, ...]) -> None:
        """Run the taken branch as if its operations stood in place of the If."""
        body: Program = operation.attributes[name]
        inner = [MISSING] * len(body.names)
        for (_, number), caught in zip(body.captured, operation.captures[name], strict=True):
            inner[number] = numbers[caught]
        for number, target in zip(body.outputs, outputs, strict=False):
            if number >= 0 and inner[number] == MISSING and number not in body.constants:
                inner[number] = target
        for number, known in enumerate(inner):
            if known == MISSING:
                inner[number] = self.trace.fresh(body.names[number])
                self.values.append(None)
        self._operations(body, inner, frozenset(outputs) | frozenset(inner[n] for n in body.outputs if n >= 0))
        for number, target in zip(body.outputs, outputs, strict=False):
            if target >= 0 and number >= 0 and inner[number] != target:
                self._same(inner[number], target, operation)

    def _same(self, source: int, target: int, operation: Operation) -> None:
        trace = self.trace
        self.values[target] = self.values[source]
        if source in trace.known:
            trace.known[target] = trace.known[source]
            return
        if source in trace.specs:
            trace.specs[target] = trace.specs[source]
        trace.operations.append(
            Operation(
                "Identity",
                "",
                operation.opsets.get("", 1),
                {},
                (source,),
                (target,),
                operation.node,
                {},
                operation.opsets,
            )
        )

    def _foldable(self, operation: Operation, inputs: tuple[int, ...], captures: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether the result is the same in every run of this signature."""
        known = self.trace.known
        if operation.domain == "" and operation.op in ("Shape", "Size") and inputs[0] in self.trace.specs:
            return True
        if operation.op in RANDOM or any(n not in known for n in inputs if n != MISSING):
            return False
        if any(n not in known for caught in captures.values() for n in caught) or _draws(operation):
            return False
        kernel = self.interpreter.binding(operation).kernel
        return kernel is None or "rng" not in kernel.wants or operation.op == "Dropout"

    def _static(self, operation: Operation, inputs: tuple[int, ...], given: Sequence[Value]) -> bool:
        """Whether the outputs have these shapes in every run of this signature."""
        trace = self.trace
        if any(n != MISSING and n not in trace.specs and n not in trace.known for n in inputs):
            return False
        if operation.domain in ("", "ai.onnx.ml"):
            if operation.op in ALWAYS_DATA:
                return False
            shaped = SHAPED_BY.get(operation.op, ())
            return all(k >= len(inputs) or inputs[k] == MISSING or inputs[k] in trace.known for k in shaped)
        # Of a foreign op nothing is said: small integers may be lengths.
        return all(
            n in trace.known or not isinstance(v, np.ndarray) or v.dtype.kind not in "iu" or v.ndim > 1
            for n, v in zip(inputs, given, strict=True)
        )


def _draws(operation: Operation) -> bool:
    """Whether a subgraph of the operation draws random numbers."""
    return any(
        inner.op in RANDOM or _draws(inner)
        for body in operation.attributes.values()
        if isinstance(body, Program)
        for inner in body.operations
    )


class _Renumbered(Sequence[Value]):
    """Values by the numbers of an inlined program."""

    def __init__(self, values: list[Value], numbers: list[int]) -> None:
        self.values, self.numbers = values, numbers

    def __getitem__(self, number: Any) -> Value:
        return self.values[self.numbers[number]]

    def __len__(self) -> int:
        return len(self.numbers)


def signature_of(feeds: Mapping[str, Value], fixed: Mapping[str, Array]) -> tuple[Any, ...]:
    """What a plan is made for: the type and shape of every input, and the values of the fixed ones."""
    parts: list[Any] = []
    for name, value in feeds.items():
        if isinstance(value, np.ndarray):
            parts.append((name, value.dtype.char, value.dtype.str, value.shape))
        else:
            parts.append((name, type(value).__name__))
    parts.extend((name, value.item()) for name, value in fixed.items())
    return tuple(parts)
