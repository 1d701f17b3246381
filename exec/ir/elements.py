"""Graph elements made without their constructors: an import makes 300,000 of them, and `__init__` would be half of its time."""

from __future__ import annotations

from typing import Any

from exec.ir.links import Links
from exec.ir.tensor import Constant, Variable
from exec.ir.weights import Weight

_new, _set = object.__new__, object.__setattr__


def links(owner: Any, field_name: str) -> Links:
    """An empty list of links of `owner`."""
    made: Links = Links.__new__(Links)
    made.parent_obj = owner
    made.field_name = field_name
    return made


def make_variable(name: str) -> Variable:
    """A Variable nothing is known of yet."""
    tensor: Variable = _new(Variable)
    _set(tensor, "name", name)
    _set(tensor, "inputs", links(tensor, "outputs"))
    _set(tensor, "outputs", links(tensor, "inputs"))
    _set(tensor, "dtype", None)
    _set(tensor, "shape", None)
    _set(tensor, "type", "tensor_type")
    return tensor


def make_constant(name: str, weight: Weight) -> Constant:
    """A Constant as it came from a file."""
    tensor: Constant = _new(Constant)
    _set(tensor, "name", name)
    _set(tensor, "inputs", links(tensor, "outputs"))
    _set(tensor, "outputs", links(tensor, "inputs"))
    _set(tensor, "_values", weight)
    _set(tensor, "_src", weight)
    _set(tensor, "data_location", None)
    _set(tensor, "_export_dtype", None)
    return tensor
