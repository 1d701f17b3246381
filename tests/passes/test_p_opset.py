"""Models at other opsets: the same numbers, nothing newer than asked for, subgraphs too."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from exec.errors import OptionError, RewriteError
from exec.ir import load
from exec.metrics import difference
from passes.base import Safety
from passes.convert.opset import convert_opset
from passes.selftest import feeds_of, fill, run

TEXTS = {
    (9, "clip"): "g (float[2,3] x) => (float[2,3] y) { y = Clip <min = -0.5, max = 0.5> (x) }",
    (9, "slice"): "g (float[4,5] x) => (float[2,5] y) { y = Slice <starts = [1], ends = [3], axes = [0]> (x) }",
    (9, "pad"): 'g (float[2,3] x) => (float[3,5] y) { y = Pad <pads = [1, 0, 0, 2], value = 1.5> (x) }',
    (9, "upsample"): "g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }",
    (9, "squeeze"): "g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze <axes = [1]> (x) }",
    (9, "unsqueeze"): "g (float[2,3] x) => (float[2,1,3] y) { y = Unsqueeze <axes = [1]> (x) }",
    (9, "reduce sum"): "g (float[2,3] x) => (float[2,1] y) { y = ReduceSum <axes = [1]> (x) }",
    (9, "reduce mean"): "g (float[2,3] x) => (float[2] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }",
    (9, "split"): "g (float[2,5] x) => (float[2,2] y, float[2,3] z) { y, z = Split <axis = 1, split = [2, 3]> (x) }",
    (9, "split even"): "g (float[2,6] x) => (float[2,3] y, float[2,3] z) { y, z = Split <axis = 1> (x) }",
    (9, "softmax of two axes"): "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }",
    (9, "softmax"): "g (float[2,3] x) => (float[2,3] y) { y = Softmax (x) }",
    (9, "dropout"): "g (float[2,3] x) => (float[2,3] y) { y = Dropout <ratio = 0.3> (x) }",
    (9, "batch norm"): "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2] s, float[2] b, float[2] m, float[2] var> { y = BatchNormalization (x, s, b, m, var) }",
    (9, "top k"): "g (float[2,5] x) => (float[2,2] y, int64[2,2] i) { y, i = TopK <k = 2> (x) }",
    (11, "gemm"): "g (float[2,3] x) => (float[2,4] y) <float[3,4] w, float[4] c> { y = Gemm (x, w, c) }",
    (11, "hard swish parts"): "g (float[2,3] x) => (float[2,3] y) { a = HardSigmoid (x)  y = Mul (a, x) }",
    (17, "layer norm"): "g (float[2,3] x) => (float[2,3] y) <float[3] s> { y = LayerNormalization (x, s) }",
}  # fmt: skip


def model(opset: int, body: str) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {body}')
    fill(proto.graph, np.random.default_rng(0))
    return proto


def same(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    feeds = feeds_of(before)
    got = run(after, feeds)
    for name, want in run(before, feeds).items():
        assert difference(want, got[name]).within(Safety.ROUNDING.tolerance(np.asarray(want).dtype)), name


@pytest.mark.parametrize("target", [13, 17, 20, 24])
@pytest.mark.parametrize(("opset", "name"), list(TEXTS))
def test_a_newer_opset_computes_the_same(opset: int, name: str, target: int) -> None:
    if target < opset:
        pytest.skip("this is the other direction")
    proto = model(opset, TEXTS[opset, name])
    after = convert_opset(load(proto), target).to_proto()
    assert after.opset_import[0].version == target
    onnx.checker.check_model(after, full_check=True)
    same(proto, after)


@pytest.mark.parametrize(("opset", "name"), [k for k in TEXTS if k[0] == 9 and k[1] != "upsample"])
def test_there_and_back_computes_the_same(opset: int, name: str) -> None:
    proto = model(opset, TEXTS[opset, name])
    there = convert_opset(load(proto), 18)
    back = convert_opset(there, 12).to_proto()
    onnx.checker.check_model(back, full_check=True)
    same(proto, back)


def test_subgraphs_are_converted_too() -> None:
    proto = model(
        9,
        """ g (bool c, float[2,1,3] x) => (float[2,3] y) {
            y = If (c) <then_branch = t () => (float[2,3] u) { u = Squeeze <axes = [1]> (x) }, else_branch = e () => (float[2,3] v) { v = ReduceSum <axes = [1], keepdims = 0> (x) }> } """.replace(
            "\n", " "
        ),
    )
    after = convert_opset(load(proto), 13).to_proto()
    onnx.checker.check_model(after, full_check=True)
    same(proto, after)


def test_the_argument_is_not_changed() -> None:
    loaded = load(model(9, TEXTS[9, "clip"]))
    before = loaded.to_proto().SerializeToString()
    convert_opset(loaded, 17)
    assert loaded.to_proto().SerializeToString() == before


def test_an_op_the_target_lacks_is_named() -> None:
    loaded = load(model(16, "g (float[1,1,2,2] x, float[1,3,3,2] g) => (float[1,1,3,3] y) { y = GridSample (x, g) }"))
    with pytest.raises(RewriteError, match="GridSample does not exist in opset 13") as caught:
        convert_opset(loaded, 13)
    assert caught.value.hint == "`--opset 16` is as far as this node goes"


def test_an_opset_nobody_knows_is_refused() -> None:
    with pytest.raises(OptionError, match="there is no opset 99"):
        convert_opset(load(model(9, TEXTS[9, "clip"])), 99)


NEWER = {
    (20, "gelu"): "g (float[2,3] x) => (float[2,3] y) { y = Gelu (x) }",
    (20, "gelu tanh"): 'g (float[2,3] x) => (float[2,3] y) { y = Gelu <approximate = "tanh"> (x) }',
    (18, "mish"): "g (float[2,3] x) => (float[2,3] y) { y = Mish (x) }",
    (24, "swish"): "g (float[2,3] x) => (float[2,3] y) { y = Swish <alpha = 1.5> (x) }",
    (14, "hard swish"): "g (float[2,3] x) => (float[2,3] y) { y = HardSwish (x) }",
    (13, "softmax inside"): "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }",
    (17, "layer norm"): "g (float[2,3] x) => (float[2,3] y) <float[3] s> { y = LayerNormalization (x, s) }",
    (
        17,
        "layer norm of two axes",
    ): "g (float[2,3,4] x) => (float[2,3,4] y) <float[3,4] s, float[3,4] b> { y = LayerNormalization <axis = 1, epsilon = 0.01> (x, s, b) }",
    (
        17,
        "layer norm of float16",
    ): "g (float16[2,3] x) => (float16[2,3] y) <float16[3] s> { y = LayerNormalization (x, s) }",
    (
        23,
        "rms norm",
    ): "g (float[2,3] x) => (float[2,3] y) <float[3] s> { y = RMSNormalization <epsilon = 0.01> (x, s) }",
    (
        14,
        "reshape with no zero",
    ): "g (float[2,3] x) => (float[3,2] y) <int64[2] t = {3, -1}> { y = Reshape <allowzero = 1> (x, t) }",
    (
        14,
        "reshape that keeps an open size",
    ): "g (float[N,3] x, float[N] z) => (float[N,3,1] y) <int64[1] e = {3}, int64[1] u = {1}> { n = Shape (z)  t = Concat <axis = 0> (n, e, u)  y = Reshape <allowzero = 1> (x, t) }",
    (
        13,
        "resize by scales",
    ): "g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }",
    (
        13,
        "resize to sizes",
    ): 'g (float[1,1,2,3] x) => (float[1,1,4,5] y) <int64[4] s = {1, 1, 4, 5}> { y = Resize <mode = "linear"> (x, , , s) }',
    (
        18,
        "resize of named axes",
    ): "g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[2] s = {2, 2}> { y = Resize <axes = [2, 3]> (x, , s) }",
    (
        18,
        "resize of a named axis to a size",
    ): "g (float[1,1,2,3] x) => (float[1,1,2,6] y) <int64[1] s = {6}> { y = Resize <axes = [-1]> (x, , , s) }",
    (
        18,
        "resize that says what it does anyway",
    ): 'g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 2}> { y = Resize <keep_aspect_ratio_policy = "stretch", antialias = 0> (x, , s) }',
    (15, "cast like"): "g (float[2,3] x, int64[1] t) => (int64[2,3] y) { y = CastLike (x, t) }",
    (19, "cast like that saturates"): "g (float[2,3] x, int32[1] t) => (int32[2,3] y) { y = CastLike (x, t) }",
    (15, "shape from an axis"): "g (float[2,N,4] x) => (int64[2] y) { y = Shape <start = 1> (x) }",
    (15, "shape to an axis"): "g (float[2,N,4] x) => (int64[1] y) { y = Shape <start = -2, end = -1> (x) }",
    (15, "shape to an axis beyond"): "g (float[2,N,4] x) => (int64[3] y) { y = Shape <start = -7, end = 9> (x) }",
    (
        21,
        "group norm",
    ): "g (float[2,4,3,2] x) => (float[2,4,3,2] y) <float[4] s, float[4] b> { y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, s, b) }",
    (
        18,
        "group norm by group",
    ): "g (float[2,4,3] x) => (float[2,4,3] y) <float[2] s, float[2] b> { y = GroupNormalization <num_groups = 2> (x, s, b) }",
    (
        21,
        "group norm of float16",
    ): "g (float16[2,4,3,2] x) => (float16[2,4,3,2] y) <float16[4] s, float16[4] b> { y = GroupNormalization <num_groups = 2> (x, s, b) }",
    (
        20,
        "transform along an axis",
    ): "g (float[2,5,3,2] x) => (float[2,5,3,2] y) <int64 k = {1}> { y = DFT <inverse = 1> (x, , k) }",
    (14, "upper triangle"): "g (float[2,3,N] x) => (float[2,3,N] y) { y = Trilu (x) }",
    (
        14,
        "lower triangle",
    ): "g (int64[3,4] x) => (int64[3,4] y) <int64 k = {-1}> { y = Trilu <upper = 0> (x, k) }",
    (
        14,
        "upper triangle beyond the diagonal",
    ): "g (float[4,3] x) => (float[4,3] y) <int64 k = {1}> { y = Trilu (x, k) }",
    (
        23,
        "attention",
    ): "g (float[1,2,N,4] q, float[1,2,N,4] k, float[1,2,N,4] v) => (float[1,2,N,4] y) { y = Attention (q, k, v) }",
    (
        23,
        "attention of three axes, causal",
    ): "g (float[2,5,8] q, float[2,5,4] k, float[2,5,4] v) => (float[2,5,8] y) { y = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v) }",
    (
        23,
        "attention with a mask and a past",
    ): "g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, float[3,5] m, float[1,2,2,4] a, float[1,2,2,4] b) => (float[1,2,3,4] y, float[1,2,5,4] p, float[1,2,5,4] r) { y, p, r = Attention <scale = 0.3> (q, k, v, m, a, b) }",
}


@pytest.mark.parametrize(("opset", "name"), list(NEWER))
def test_a_newer_op_is_written_out_in_an_older_opset(opset: int, name: str) -> None:
    proto = model(opset, NEWER[opset, name])
    # a transform has no older form than opset 17's
    after: Any = convert_opset(load(proto), 17 if "transform" in name else 11).to_proto()
    onnx.checker.check_model(after, full_check=True)
    same(proto, after)


REFUSED = {
    "Pad of named axes": (18, 17, "g (float[2,3] x) => (float[2,5] y) <int64[2] p = {1, 1}, int64[1] a = {1}> { y = Pad (x, p, , a) }"),
    "Pad by wrapping": (19, 18, 'g (float[2,3] x) => (float[2,5] y) <int64[4] p = {0, 1, 0, 1}> { y = Pad <mode = "wrap"> (x, p) }'),
    "Max of integers": (12, 11, "g (int32[2] x) => (int32[2] y) { y = Max (x, x) }"),
    "Relu of integers": (14, 13, "g (int32[2] x) => (int32[2] y) { y = Relu (x) }"),
    "Equal of floats": (11, 10, "g (float[2] x) => (bool[2] y) { y = Equal (x, x) }"),
    "Gemm without C": (11, 9, "g (float[2,2] x) => (float[2,2] y) { y = Gemm (x, x) }"),
    "Add that broadcasts": (7, 6, "g (float[2,3] x) => (float[2,3] y) <float[3] b> { y = Add (x, b) }"),
    "Reshape with a zero": (14, 13, "g (float[0,3] x) => (float[3,0] y) <int64[2] t = {3, 0}> { y = Reshape <allowzero = 1> (x, t) }"),
    "Reshape to a size that may be zero": (14, 13, "g (float[N,3] x, float[N] z) => (float[3,N] y) <int64[1] e = {3}> { n = Shape (z)  t = Concat <axis = 0> (e, n)  y = Reshape <allowzero = 1> (x, t) }"),
    "Reshape to what is computed": (14, 13, "g (float[2,3] x, int64[2] t) => (float[3,2] y) { y = Reshape <allowzero = 1> (x, t) }"),
    "Resize with antialias": (18, 17, "g (float[1,1,4,4] x) => (float[1,1,2,2] y) <float[4] s = {1, 1, 0.5, 0.5}> { y = Resize <mode = \"linear\", antialias = 1> (x, , s) }"),
    "Resize that keeps its ratio": (18, 17, "g (float[1,1,4,2] x) => (float[1,1,8,4] y) <int64[4] s = {1, 1, 8, 8}> { y = Resize <keep_aspect_ratio_policy = \"not_larger\"> (x, , , s) }"),
    "Resize by half_pixel_symmetric": (19, 18, "g (float[1,1,2,2] x) => (float[1,1,3,3] y) <int64[4] s = {1, 1, 3, 3}> { y = Resize <coordinate_transformation_mode = \"half_pixel_symmetric\"> (x, , , s) }"),
    "Resize by half pixels": (11, 10, "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] r, float[4] s = {1, 1, 2, 2}> { y = Resize (x, r, s) }"),
    "LayerNormalization whose mean is read": (17, 16, "g (float[2,3] x) => (float[2,3] y, float[2,1] m) <float[3] s> { y, m = LayerNormalization (x, s) }"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_older_opset_cannot_say_is_refused_with_the_node_named(name: str) -> None:
    opset, target, body = REFUSED[name]
    with pytest.raises(RewriteError) as caught:
        convert_opset(load(model(opset, body)), target)
    assert "node" in caught.value.where
    assert name.split()[0] in caught.value.what
    if name.startswith(("Reshape", "Resize", "LayerNormalization")):
        assert caught.value.why
        assert caught.value.hint == f"`--opset {opset}` is as far as this node goes"
