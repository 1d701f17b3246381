"""Inference of shapes and of shape arithmetic, against onnx's own inference and against runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from exec.ir import load
from exec.session import Session
from passes.dims import Expr, differ, divide, evaluate, floordiv, known, lower, maximum, smaller, symbol, text
from passes.selftest import feeds_of, fill
from passes.shapes import Facts
from passes.shapes.facts import declared_dim
from passes.shapes.registry import shapes, values

N, M = symbol("N"), symbol("M")


def model(body: str, opset: int = 17) -> onnx.ModelProto:
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {" ".join(body.split())}')
    fill(proto.graph, np.random.default_rng(0))
    return proto


def facts(body: str, opset: int = 17) -> dict[str, Any]:
    loaded = load(model(body, opset))
    known_facts = Facts(loaded)
    return {t.name: known_facts.of(t) for node in loaded.graph.nodes for t in node.outputs}


def test_equal_polynomials_are_equal_however_they_were_made() -> None:
    assert (N + 1) * 2 == 2 * N + 2
    assert N * M == M * N
    assert N - N == 0
    assert (2 * N + 4) // 2 == N + 2
    assert floordiv(2 * N + 3, 2) == N + 1
    assert hash(N + M) == hash(M + N)


def test_division_is_exact_only_where_it_divides() -> None:
    assert divide(N * M * 6, M * 3) == N * 2
    assert divide(N + 1, M) is None
    assert floordiv(N - 1, 2) == floordiv(N + 1, 2) - 1


def test_bounds_decide_minima_and_maxima() -> None:
    assert lower(N + 3) == 3
    assert maximum(N + 3, 3) == N + 3
    assert smaller(N + 3, 3) == 3
    assert isinstance(maximum(N, M), Expr)
    assert differ(N + 1, N)
    assert not differ(N, M)


def test_an_expression_evaluates_to_what_python_says() -> None:
    expression = floordiv(N * 3 - 1, 2) + smaller(N, M) * 2
    for n in range(1, 6):
        assert evaluate(expression, {"N": n, "M": 4}.__getitem__) == (n * 3 - 1) // 2 + min(n, 4) * 2


@pytest.mark.parametrize("dim", ["?", "", "unk__12", 0, -1, None])
def test_anonymous_dimensions_are_equal_to_nothing(dim: Any) -> None:
    assert declared_dim(dim) != declared_dim(dim)


def test_named_dimensions_are_equal_to_themselves() -> None:
    assert declared_dim("batch") == declared_dim("batch")
    assert text((declared_dim("batch"), 3, declared_dim("?"))) == "[batch, 3, ?]"


def test_reshape_copies_infers_and_multiplies() -> None:
    found = facts(
        """ g (float[N,3,4] x) => (float[N,12] y) <int64[2] a = {0, -1}, int64[3] b = {-1, 2, 6}> {
            y = Reshape (x, a)  z = Reshape (x, b) } """
    )
    assert found["y"].shape == (N, 12)
    assert found["z"].shape == (N, 2, 6)


def test_a_shape_chain_with_two_open_sizes_is_followed() -> None:
    found = facts(
        """ g (float[N,M,12] x) => (float[N,M,3,4] y) <int64 i = {0}, int64 j = {1}, int64[1] z = {0}, int64[2] k = {3, 4}> {
            s = Shape (x)  a = Gather (s, i)  b = Gather (s, j)  c = Unsqueeze (a, z)  d = Unsqueeze (b, z)
            e = Concat <axis = 0> (c, d, k)  y = Reshape (x, e) } """
    )
    assert list(found["e"].value) == [N, M, 3, 4]
    assert found["y"].shape == (N, M, 3, 4)


def test_a_spectrum_has_the_lengths_that_its_transform_says() -> None:
    found = facts(
        """ g (float[N,100,1] x, float[N,M] s) => (float[A,B,2] c) <int64 n = {64}, int64 step = {10}, float[40] w> {
            a = DFT <axis = 1> (x)  b = DFT <axis = 1, onesided = 1> (x, n)  c = STFT (s, step, w) } """
    )
    assert found["a"].shape == (N, 100, 2)
    assert found["b"].shape == (N, 33, 2)
    assert found["c"].shape == (N, floordiv(M, 10) + -3, 21, 2)
    newer = facts("g (float[N,100,8,2] x) => (float[A,B,C,2] b) <int64 k = {1}> { a = DFT (x, , k)  b = DFT (x) }", 20)
    assert newer["a"].shape == newer["b"].shape == (N, 100, 8, 2)


def test_sizes_cast_to_float_and_back_stay_known() -> None:
    found = facts(
        """ g (float[1,3,H,8] x) => (int64[1] y) <int64 i = {3}, float two = {2}, int64[1] z = {0}> {
            s = Shape (x)  a = Gather (s, i)  f = Cast <to = 1> (a)  d = Mul (f, two)  c = Cast <to = 7> (d)  y = Unsqueeze (c, z) } """
    )
    assert list(found["y"].value) == [16]


def test_a_declared_shape_of_an_inner_value_is_not_believed() -> None:
    proto = model(""" g (float[N,4] x) => (float[P,Q] y) <float[5,7] y> { y = Relu (x) } """)
    loaded = load(proto)
    assert Facts(loaded).of(loaded.graph.outputs[0]).shape == (N, 4)


def test_branches_that_differ_leave_only_what_they_share() -> None:
    found = facts(
        """ g (bool c, float[2,N] x) => (float[2,P] y) {
            y = If (c) <then_branch = t () => (float[2,A] u) { u = Relu (x) }, else_branch = e () => (float[2,B] v) { v = Concat <axis = 1> (x, x) }> } """
    )
    shape = found["y"].shape
    assert shape[0] == 2
    assert shape[1] not in (N, 2 * N)


def test_a_loop_whose_state_grows_has_an_open_size() -> None:
    found = facts(
        """ g (float[2] x) => (float[P] y) <int64 n = {3}, bool t = {1}> {
            y = Loop (n, t, x) <body = b (int64 i, bool c, float[S] a) => (bool d, float[S2] e) { d = Identity (c)  e = Concat <axis = 0> (a, a) }> } """
    )
    assert len(found["y"].shape) == 1
    assert isinstance(found["y"].shape[0], Expr)


def test_a_loop_whose_state_keeps_its_shape_is_seen_to() -> None:
    found = facts(
        """ g (float[2,N] x) => (float[2,N] y) <int64 n = {3}, bool t = {1}> {
            y = Loop (n, t, x) <body = b (int64 i, bool c, float[2,N] a) => (bool d, float[2,N] e) { d = Identity (c)  e = Relu (a) }> } """
    )
    assert found["y"].shape == (2, N)


STATIC = {
    "conv": "g (float[1,3,9,9] x) => (float[1,4,5,5] y) <float[4,3,3,3] w> { y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }",
    "conv same": 'g (float[1,3,9,9] x) => (float[1,4,5,5] y) <float[4,3,3,3] w> { y = Conv <strides = [2, 2], auto_pad = "SAME_UPPER"> (x, w) }',
    "conv dilated": "g (float[1,3,9,9] x) => (float[1,4,5,5] y) <float[4,3,3,3] w> { y = Conv <dilations = [2, 2]> (x, w) }",
    "conv grouped": "g (float[1,4,9] x) => (float[1,6,7] y) <float[6,2,3] w> { y = Conv <group = 2> (x, w) }",
    "conv transposed": "g (float[1,3,5,5] x) => (float[1,4,11,11] y) <float[3,4,3,3] w> { y = ConvTranspose <strides = [2, 2]> (x, w) }",
    "max pool": "g (float[1,3,9,9] x) => (float[1,3,4,4] y) { y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x) }",
    "pool ceil": "g (float[1,3,9,10] x) => (float[1,3,5,5] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x) }",
    "global pool": "g (float[1,3,9,9] x) => (float[1,3,1,1] y) { y = GlobalAveragePool (x) }",
    "matmul": "g (float[2,1,3,4] a, float[5,4,6] b) => (float[2,5,3,6] y) { y = MatMul (a, b) }",
    "gemm": "g (float[4,3] a, float[5,4] b) => (float[3,5] y) { y = Gemm <transA = 1, transB = 1> (a, b) }",
    "concat": "g (float[2,3] a, float[2,4] b) => (float[2,7] y) { y = Concat <axis = -1> (a, b) }",
    "split": "g (float[2,7] a) => (float[2,3] y, float[2,4] z) <int64[2] s = {3, 4}> { y, z = Split <axis = 1> (a, s) }",
    "slice": "g (float[9,7] a) => (float[4,7] y) <int64[1] s = {-2}, int64[1] e = {0}, int64[1] x = {0}, int64[1] t = {-2}> { y = Slice (a, s, e, x, t) }",
    "gather": "g (float[9,7] a) => (float[2,2,7] y) <int64[2,2] i = {0, 1, 2, 3}> { y = Gather (a, i) }",
    "reduce": "g (float[2,3,4] a) => (float[2,4] y) { y = ReduceMean <axes = [1], keepdims = 0> (a) }",
    "expand": "g (float[3,1] a) => (float[2,3,6] y) <int64[3] s = {2, 1, 6}> { y = Expand (a, s) }",
    "tile": "g (float[2,3] a) => (float[4,9] y) <int64[2] s = {2, 3}> { y = Tile (a, s) }",
    "pad": "g (float[2,3] a) => (float[5,4] y) <int64[4] s = {1, 0, 2, 1}> { y = Pad (a, s) }",
    "flatten": "g (float[2,3,4] a) => (float[6,4] y) { y = Flatten <axis = 2> (a) }",
    "top k": "g (float[2,9] a) => (float[2,3] y, int64[2,3] i) <int64[1] k = {3}> { y, i = TopK (a, k) }",
    "one hot": "g (int64[2,3] a) => (float[2,3,5] y) <int64 d = {5}, float[2] v> { y = OneHot (a, d, v) }",
    "space to depth": "g (float[1,3,4,6] a) => (float[1,12,2,3] y) { y = SpaceToDepth <blocksize = 2> (a) }",
    "depth to space": "g (float[1,12,2,3] a) => (float[1,3,4,6] y) { y = DepthToSpace <blocksize = 2> (a) }",
    "resize": "g (float[1,1,4,6] a) => (float[1,1,8,9] y) <float[4] s = {1, 1, 2, 1.5}> { y = Resize (a, , s) }",
    "lstm": "g (float[5,2,3] x) => (float[5,1,2,4] y, float[1,2,4] h) <float[1,16,3] w, float[1,16,4] r> { y, h = LSTM <hidden_size = 4> (x, w, r) }",
    "gather elements": "g (float[3,3] a) => (float[2,3] y) <int64[2,3] i = {0,1,2,0,1,2}> { y = GatherElements (a, i) }",
    "gather nd": "g (float[3,4,5] a) => (float[2,5] y) <int64[2,2] i = {0,1,2,0}> { y = GatherND (a, i) }",
    "arg max": "g (float[3,4] a) => (int64[3,1] y) { y = ArgMax <axis = 1> (a) }",
    "where": "g (bool[3,1] c, float[4] a, float[2,1,1] b) => (float[2,3,4] y) { y = Where (c, a, b) }",
    "einsum": 'g (float[2,3,4] a, float[4,5] b) => (float[2,3,5] y) { y = Einsum <equation = "bij,jk->bik"> (a, b) }',
    "layer norm": "g (float[2,3,4] a) => (float[2,3,4] y) <float[4] s> { y = LayerNormalization (a, s) }",
    "range": "g (float[2] x) => (int64[4] y) <int64 a = {1}, int64 b = {9}, int64 c = {2}> { y = Range (a, b, c) }",
    "non zero": "g (float[2,3] x) => (int64[2,P] y) { y = NonZero (x) }",
}


@pytest.mark.parametrize("name", STATIC)
def test_sizes_and_types_are_those_of_a_run(name: str) -> None:
    proto = model(STATIC[name])
    loaded = load(proto)
    known_facts = Facts(loaded)
    for tensor, value in zip(loaded.graph.outputs, Session(loaded).run(feeds_of(proto)).values(), strict=True):
        fact = known_facts.of(tensor)
        assert fact.dtype == np.asarray(value).dtype
        assert fact.shape is not None
        if known(fact.shape):
            assert fact.shape == np.asarray(value).shape
        else:
            assert len(fact.shape) == np.asarray(value).ndim


def test_every_registered_op_is_one_of_the_specification() -> None:
    ops = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""}
    assert set(shapes) <= ops
    assert set(values) <= ops


def test_a_chain_longer_than_pythons_stack_is_followed() -> None:
    body = "  ".join(f"v{k + 1} = Relu (v{k})" for k in range(3000))
    loaded = load(model(f"g (float[N,2] v0) => (float[N,2] v3000) {{ {body} }}"))
    assert Facts(loaded).of(loaded.graph.outputs[0]).shape == (N, 2)
