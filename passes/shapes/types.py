"""Element types of a node's outputs, read from the op's schema."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import onnx

from exec.dtypes import BY_NAME, numpy_dtype
from exec.ir.opsets import schema_of
from passes.shapes.registry import Call

Rule = np.dtype[Any] | int | None
"""Of one output: a fixed type, the number of an input whose type it has, or None for "by attribute"."""

DType = np.dtype[Any]


@lru_cache(maxsize=4096)
def output_types(op: str, opset: int) -> tuple[Rule, ...]:
    """One rule per output the schema names."""
    schema = schema_of(op, opset)
    if schema is None:
        return ()
    allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    reads: dict[str, int] = {}
    for i, parameter in enumerate(schema.inputs):
        reads.setdefault(parameter.type_str, i)
    rules: list[Rule] = []
    for parameter in schema.outputs:
        kinds = allowed.get(parameter.type_str, [parameter.type_str])
        if parameter.type_str in reads and parameter.type_str in allowed:
            rules.append(reads[parameter.type_str])
        elif len(kinds) == 1 and kinds[0].startswith("tensor("):
            row = BY_NAME.get(kinds[0][7:-1])
            rules.append(None if row is None else row.numpy)
        else:
            rules.append(None)
    return tuple(rules)


def is_variadic(op: str, opset: int) -> bool:
    """Whether the last output may repeat (Split, Loop)."""
    schema = schema_of(op, opset)
    return bool(
        schema and schema.outputs and schema.outputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    )


def dtypes(call: Call) -> list[DType | None]:
    """The element type of each output, None where it is not known."""
    special = _by_attribute.get(call.op)
    if special is not None:
        return [special(call)] * call.n_outputs
    rules = output_types(call.op, call.opset)
    found: list[DType | None] = []
    for k in range(call.n_outputs):
        rule = rules[k] if k < len(rules) else rules[-1] if rules and is_variadic(call.op, call.opset) else None
        if isinstance(rule, int):
            fact = call.fact(rule)
            found.append(fact.dtype if fact is not None else None)
        else:
            found.append(rule)
    return found


def _coded(name: str, default: DType | None = None) -> Callable[[Call], DType | None]:
    def dtype(call: Call) -> DType | None:
        code = call.attr(name)
        if code is None:
            if default is not None:
                return default
            fact = call.fact(0)
            return fact.dtype if fact is not None else None
        found = numpy_dtype(int(code))
        return found if isinstance(found, np.dtype) else None

    return dtype


def _like(i: int) -> Callable[[Call], DType | None]:
    def dtype(call: Call) -> DType | None:
        fact = call.fact(i)
        return fact.dtype if fact is not None else None

    return dtype


def _of_value(call: Call) -> DType | None:
    for name, value in call.attrs.items():
        if name == "value":
            found = getattr(value, "dtype", None)
            return found if isinstance(found, np.dtype) else None
        if name in ("value_float", "value_floats"):
            return np.dtype(np.float32)
        if name in ("value_int", "value_ints"):
            return np.dtype(np.int64)
        if name in ("value_string", "value_strings"):
            return np.dtype(object)
    return np.dtype(np.float32) if call.op == "ConstantOfShape" else None


def _quantized(call: Call) -> DType | None:
    fact = call.fact(2)
    if fact is not None:
        return fact.dtype
    return _coded("output_dtype", np.dtype(np.uint8))(call) if call.attr("output_dtype") else np.dtype(np.uint8)


FLOAT32 = np.dtype(np.float32)
_by_attribute: dict[str, Callable[[Call], DType | None]] = {
    "Cast": _coded("to"),
    "CastLike": _like(1),
    "Constant": _of_value,
    "ConstantOfShape": _of_value,
    "EyeLike": _coded("dtype"),
    "RandomNormal": _coded("dtype", FLOAT32),
    "RandomUniform": _coded("dtype", FLOAT32),
    "RandomNormalLike": _coded("dtype"),
    "RandomUniformLike": _coded("dtype"),
    "Bernoulli": _coded("dtype"),
    "Multinomial": _coded("dtype", np.dtype(np.int32)),
    "QuantizeLinear": _quantized,
    "DequantizeLinear": lambda call: _coded("output_dtype")(call) if call.attr("output_dtype") else _like(1)(call),
    "QLinearConv": _like(7),
    "QLinearMatMul": _like(7),
    "OneHot": _like(2),
    "HannWindow": _coded("output_datatype", FLOAT32),
    "HammingWindow": _coded("output_datatype", FLOAT32),
    "BlackmanWindow": _coded("output_datatype", FLOAT32),
    "MelWeightMatrix": _coded("output_datatype", FLOAT32),
    "BitCast": _coded("to"),
}
