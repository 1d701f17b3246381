"""From an operation to the function that computes it.

The order is: a registered kernel of the wanted variant, a numpy kernel, the op's function body from the specification,
the implementation in `onnx.reference`. What was taken is part of the answer, so a profile can say it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from exec.arrays import Value
from exec.context import RunContext
from exec.errors import BenchError, BudgetExceeded, Cancelled, ExecutionError, UnsupportedOp, nearest
from exec.kernels.reference import reference_function
from exec.kernels.registry import Kernel, find, registered
from exec.program import Operation

Call = Callable[[Sequence[Value], RunContext], Sequence[Value]]
"""(inputs, context) -> outputs, one per output the node has."""


@dataclass(frozen=True, slots=True)
class Binding:
    """How an operation is computed: the call, which variant it is, and the kernel behind it if one is registered."""

    call: Call
    variant: str
    kernel: Kernel | None = None


def bind(operation: Operation, kernels: str = "numpy") -> Binding:
    """The implementation of `operation`; `UnsupportedOp` if there is none."""
    for variant in ("plain", "numpy") if kernels == "plain" else ("numpy",):
        kernel = find(operation.domain, operation.op, operation.opset, variant)
        if kernel is not None:
            return Binding(kernel_call(kernel, operation), variant, kernel)
    call = reference_function(operation)
    if call is None:
        raise unsupported(operation)
    return Binding(call, "reference")


def kernel_call(kernel: Kernel, operation: Operation) -> Call:
    """`kernel` with the attributes of `operation` filled in."""
    function, wants = kernel.function, kernel.wants
    attributes = {n: v for n, v in operation.attributes.items() if n in kernel.attributes}
    unknown = operation.attributes.keys() - attributes.keys()
    if unknown and operation.domain not in ("", "ai.onnx.ml"):
        raise UnsupportedOp(
            f"the kernel of {operation.domain}::{operation.op} does not know the attribute '{min(unknown)}'",
            where=f"node {operation.node.name or operation.op}",
            why=f"it knows {', '.join(sorted(kernel.attributes)) or 'none'}",
        )
    count = len(operation.outputs)
    wants_rng, wants_context = "rng" in wants, "context" in wants
    if "n_outputs" in wants:
        attributes["n_outputs"] = count

    def call(inputs: Sequence[Value], context: RunContext) -> Sequence[Value]:
        extra = dict(attributes) if wants_rng or wants_context else attributes
        if wants_rng:
            extra["rng"] = context.rng
        if wants_context:
            extra["context"] = context
        result = function(*inputs, **extra)
        return result if isinstance(result, tuple) else (result,)

    return call


def unsupported(operation: Operation) -> UnsupportedOp:
    """The error for an op nobody can compute."""
    name = f"{operation.domain or 'ai.onnx'}::{operation.op}"
    known = sorted({k.op for k in registered() if k.domain == operation.domain})
    listed = f"known in {operation.domain or 'ai.onnx'}: {', '.join(known[:8])}"
    return UnsupportedOp(
        f"no kernel for {name}, opset {operation.opset}",
        where=f"node {operation.node.name or operation.op}",
        why=(nearest(operation.op, known) or listed) if known else f"no op of domain '{operation.domain}' is known",
        hint="`owb coverage MODEL` shows where it runs; `--kernels FILE` adds one; so does `--engine onnxruntime --ort-library LIB`",
    )


FAILURES = (BenchError, ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""What a kernel raises when its inputs do not suit it, or the machine."""


def fail(error: Exception, operation: Operation, inputs: Sequence[Value] = ()) -> NoReturn:
    """Raise what a kernel raised, as an error that names the node and what it got."""
    where = f"node {operation.node.name or operation.op}"
    if isinstance(error, BenchError):
        if not error.where and not isinstance(error, Cancelled):
            error.where = where
        raise error
    if isinstance(error, MemoryError):
        raise out_of_memory(error, where) from error
    got = ", ".join(describe(value) for value in inputs)
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    why = f"it got {got}" if got else ""
    raise ExecutionError(f"{operation.op} cannot be computed from its inputs: {said}", where, why) from error


def out_of_memory(error: MemoryError, where: str) -> BudgetExceeded:
    """What the system does not give, as an error that says where it was asked for."""
    return BudgetExceeded(
        "the system has no more memory",
        where,
        str(error).partition("\n")[0],
        "smaller inputs (`--dim NAME=N`), or `--max-memory` to be told before",
    )


def describe(value: Value) -> str:
    """ "float32[1,3,224,224]" and the like, for messages."""
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return f"sequence of {len(value)}"
    if isinstance(value, dict):
        return f"map of {len(value)}"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None:
        return type(value).__name__
    return f"{dtype}[{','.join(map(str, shape))}]"
