from onnx_graphsurgeon import ir as ir, util as util
from onnx_graphsurgeon.ir.function import Function as Function
from onnx_graphsurgeon.ir.graph import Graph as Graph
from onnx_graphsurgeon.ir.node import Node as Node
from onnx_graphsurgeon.ir.tensor import Constant as Constant, Tensor as Tensor, Variable as Variable

__version__: str

def import_onnx(onnx_model: object) -> Graph: ...
def export_onnx(graph: Graph, do_type_check: bool = ..., **kwargs: object) -> object: ...
