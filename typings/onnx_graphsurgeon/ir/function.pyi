from typing import Any

from onnx_graphsurgeon.ir.graph import Graph

class Function(Graph):
    domain: str
    attrs: dict[str, Any]
