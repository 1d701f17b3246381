from onnx_graphsurgeon.util import misc as misc
