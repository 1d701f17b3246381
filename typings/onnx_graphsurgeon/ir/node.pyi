from typing import Any

class Node:
    class AttributeRef:
        name: str
        type: Any
        def __init__(self, name: str, type: Any) -> None: ...

    op: str
    name: str
    domain: str | None
    attrs: dict[str, Any]
    inputs: Any
    outputs: Any

    def i(self, tensor_idx: int = ..., producer_idx: int = ...) -> Any: ...
    def o(self, consumer_idx: int = ..., tensor_idx: int = ...) -> Any: ...
