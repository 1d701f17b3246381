"""What a graph's lists of values said in the file, resolved to the tensors of the graph.

Each record keeps the tensor as an object, never its name or id: renames follow by themselves, and a copy maps objects to objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import onnx

    from exec.ir.tensor import Constant, Variable
    from exec.ir.weights import SparseWeight, Weight


class Origin(NamedTuple):
    """A value's name and type as they were at import: an export writes what differs from it."""

    name: str
    dtype: Any
    shape: tuple[int | str | None, ...] | None
    type: str | None
    proto: onnx.ValueInfoProto


class Listed(NamedTuple):
    """An entry of a graph's inputs, outputs or value_info.

    tensor    None for a name nothing has
    is_outer  it belongs to a graph around this one, so this graph cannot say when it is gone
    """

    tensor: Variable | Constant | None
    proto: onnx.ValueInfoProto
    is_outer: bool = False


class Initializer(NamedTuple):
    """An entry of a graph's (sparse) initializers.

    used     something read it at import: once nothing does, it goes
    primary  the entry that counts among several of one name
    """

    tensor: Variable | Constant
    proto: onnx.TensorProto | onnx.SparseTensorProto
    weight: Weight | SparseWeight
    used: bool
    primary: bool


class Annotation(NamedTuple):
    """A quantization annotation: the tensor it is about, and for each entry the tensor its value names."""

    tensor: Variable | Constant | None
    proto: onnx.TensorAnnotation
    parameters: tuple[Variable | Constant | None, ...]
    is_outer: bool = False


@dataclass(slots=True)
class Records:
    """The lists of one GraphProto or FunctionProto, in the file's order."""

    inputs: list[Listed] = field(default_factory=list)
    outputs: list[Listed] = field(default_factory=list)
    value_info: list[Listed] = field(default_factory=list)
    initializers: list[Initializer] = field(default_factory=list)
    sparse: list[Initializer] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
