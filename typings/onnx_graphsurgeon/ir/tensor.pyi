from typing import Any

class Tensor:
    DYNAMIC: int
    name: str
    # A list synchronized with the nodes' `outputs`, and one with their `inputs`.
    inputs: Any
    outputs: Any
    # Constants compute these two, Variables store them.
    shape: Any
    dtype: Any

    def is_empty(self) -> bool: ...
    def i(self, tensor_idx: int = ..., producer_idx: int = ...) -> Tensor: ...
    def o(self, consumer_idx: int = ..., tensor_idx: int = ...) -> Tensor: ...

class Variable(Tensor):
    type: str | None
    def __init__(self, name: str, dtype: Any = ..., shape: Any = ..., type: str | None = ...) -> None: ...

class LazyValues:
    tensor: Any
    def load(self) -> Any: ...

class SparseValues(LazyValues): ...

class Constant(Tensor):
    data_location: Any
    _values: Any
    _export_dtype: Any
    def __init__(self, name: str, values: Any, data_location: Any = ..., export_dtype: Any = ...) -> None: ...
