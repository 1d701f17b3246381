"""Kernels of ONNX family optional. An empty optional is None, a full one is the value itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import ExecutionError
from exec.kernels.registry import kernel


@kernel("Optional", since=15)
def optional(value: Value = None, /, *, type: Any = None) -> Value:
    """The value as an optional; without one, an empty optional of `type`."""
    return value


@kernel("OptionalHasElement", since=15)
def optional_has_element(value: Value = None, /) -> Array:
    """Whether there is a value; a tensor or sequence always is one, an input that is not given never."""
    return np.array(value is not None)


@kernel("OptionalGetElement", since=15)
def optional_get_element(value: Value, /) -> Value:
    """The value of an optional that has one."""
    if value is None:
        raise ExecutionError("the optional is empty, there is no element to get")
    return value
