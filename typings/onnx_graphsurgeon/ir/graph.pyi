from typing import Any

class Graph:
    DEFAULT_OPSET: int
    nodes: list[Any]
    inputs: list[Any]
    outputs: list[Any]
    name: str
    opset: int
    import_domains: Any
    producer_name: str
    producer_version: str
    ir_version: int | None
    name_idx: int
    _functions: Any
    @property
    def functions(self) -> Any: ...
    @functions.setter
    def functions(self, functions: Any) -> None: ...
