from onnx_graphsurgeon.ir import function as function, graph as graph, node as node, tensor as tensor
