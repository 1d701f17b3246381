"""Texts to begin with."""

from __future__ import annotations

QUERIES = (
    r"op:Conv attr.group>1 dtype:int8 shape:*x512 name:~layers\.\d+/attn in:mask",
    'time>2% macs>1e6 -op:Constant near:Conv_1,2 "two words"',
    "params>=5k bytes<3M const:w* out:y scope:a/b domain:ai.onnx",
    "time>3ms !op:Relu,Add attr.kernel_shape:3x3",
)
RECIPES = (
    'version = 1\nmodel = "m.onnx"\n\n[[step]]\ndo = "optimize"\npasses = ["default"]\nopset = 17\n',
    '[[step]]\ndo = "quantize"\ndata = "x.npz"\nranges = {x = [0.0, 1.0]}\nexclude = ["a"]\nblock_size = 32\n',
    '[[step]]\ndo = "optimize"\nverify = false\n[[step]]\ndo = "quantize"\nmode = "dynamic"\n',
)
