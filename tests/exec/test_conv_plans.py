"""Convolutions inside plans: every algorithm gives what onnxruntime gives, whatever the shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from exec.compiled import available
from exec.ir import load
from exec.kernels.nn.window import window
from exec.lowering import skinny
from exec.lowering.convolution import winograd
from exec.lowering.ops import conv
from exec.machine import Blas
from exec.metrics import difference
from exec.session import Session
from passes.base import Safety

SEEDS = st.integers(0, 1 << 16)
needs_numba = pytest.mark.skipif(not available(), reason="numba is not installed")


def conv_model(proto: Any, w: Any, b: Any, after: str = "y = Identity(c)", **attributes: Any) -> Any:
    """A Conv with constant weights between other nodes."""
    given = {"w": w} | ({} if b is None else {"b": b})
    rank = w.ndim - 2
    sizes = ", ".join(f"s{k}" for k in range(rank))
    outs = ", ".join(f"o{k}" for k in range(rank))
    model = proto(f"g (float[N, C, {sizes}] x) => (float[N, M, {outs}] y) {{ {after} }}", **given)
    model.graph.node.insert(0, helper.make_node("Conv", ["x", *given], ["c"], name="conv", **attributes))
    return model


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """What a convolution in real models looks like, in small."""
    rank = draw(st.sampled_from([1, 2, 2, 2, 3]))

    def each(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    kernel = draw(st.sampled_from([[1] * rank, [3] * rank, each(1, 4)]))
    strides = draw(st.sampled_from([[1] * rank, [2] * rank, each(1, 3)]))
    dilations = draw(st.sampled_from([[1] * rank, each(1, 2)]))
    size = each(1, 20 if rank < 3 else 7)
    pads = draw(st.sampled_from([[0] * 2 * rank, [1] * 2 * rank, each(0, 2) + each(0, 2)]))
    for k in range(rank):
        assume(size[k] + pads[k] + pads[k + rank] >= (kernel[k] - 1) * dilations[k] + 1)
    group = draw(st.sampled_from([1, 1, 2, 3]))
    depthwise = draw(st.booleans()) and group > 1
    into = 1 if depthwise else draw(st.sampled_from([1, 3, 8]))
    out = draw(st.sampled_from([1, 2, 5, 16]))
    return {
        "x": [draw(st.integers(1, 2)), group * into, *size], "w": [group * out, into, *kernel],
        "biased": draw(st.booleans()),
        "attributes": {"strides": strides, "dilations": dilations, "pads": pads, "group": group},
    }  # fmt: skip


@settings(max_examples=60)
@given(problem=problems(), seed=SEEDS)
def test_any_convolution(problem: dict[str, Any], seed: int, proto: Any, agree: Any) -> None:
    rng = np.random.default_rng(seed)
    x, w = (rng.normal(size=problem[name]).astype("f") for name in ("x", "w"))
    b = rng.normal(size=len(w)).astype("f") if problem["biased"] else None
    agree(conv_model(proto, w, b, **problem["attributes"]), {"x": x}, more=[{"x": -x}], fuse=(True,))


@settings(max_examples=25)
@given(height=st.integers(1, 14), width=st.integers(1, 40), pads=st.lists(st.integers(0, 1), min_size=4, max_size=4),
       channels=st.sampled_from([1, 3, 17]), outputs=st.sampled_from([1, 5, 16, 33]), seed=SEEDS)  # fmt: skip
def test_winograd_for_every_size(
    height: int, width: int, pads: list[int], channels: int, outputs: int, seed: int, proto: Any, agree: Any
) -> None:
    assume(height + pads[0] + pads[2] >= 3 and width + pads[1] + pads[3] >= 3)
    rng = np.random.default_rng(seed)
    x, w = (
        rng.normal(size=(2, channels, height, width)).astype("f"),
        rng.normal(size=(outputs, channels, 3, 3)).astype("f"),
    )
    model = conv_model(proto, w, rng.normal(size=outputs).astype("f"), pads=pads)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(conv, "choose", lambda c: "winograd")
        if available():
            from exec.lowering.jit import convolution as compiled

            patched.setattr(compiled, "winograd_pays", lambda c, g: min(g.out) >= 1)
        agree(model, {"x": x}, more=[{"x": x * 3}], fuse=(True,))


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 1e20, 3e38])
@pytest.mark.parametrize("kernels", ["numpy", pytest.param("compiled", marks=needs_numba)])
def test_winograd_keeps_what_is_not_finite_where_it_is(special: float, kernels: str, proto: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, 32, 24, 24)).astype("f"), rng.normal(size=(32, 32, 3, 3)).astype("f")
    x[0, 3, 9, 9] = special
    model = conv_model(proto, w, None, pads=[1, 1, 1, 1])
    opened = Session(load(model), kernels=kernels)
    got = opened.run({"x": x})["y"], opened.run({"x": x})["y"]
    calm = x.copy()
    calm[0, 3, 9, 9] = 0
    want = opened.run({"x": calm})["y"]
    far = np.ones((24, 24), bool)
    far[8:11, 8:11] = False
    for y in got:
        assert difference(want[..., far], y[..., far]).within(Safety.ROUNDING.tolerance(y.dtype))
        if not np.isfinite(special):
            assert not np.isfinite(y[..., ~far]).any()


@settings(max_examples=50)
@given(channels=st.integers(1, 9), height=st.integers(1, 20), width=st.integers(1, 40), kernel=st.sampled_from([(3, 3), (5, 5), (1, 7), (7, 7), (1, 31)]),
       stride=st.integers(1, 3), dilation=st.integers(1, 2), each=st.integers(1, 2), seed=SEEDS)  # fmt: skip
def test_depthwise_for_every_size(
    channels: int,
    height: int,
    width: int,
    kernel: Any,
    stride: int,
    dilation: int,
    each: int,
    seed: int,
    proto: Any,
    agree: Any,
) -> None:
    rng = np.random.default_rng(seed)
    pads = [(k // 2) * dilation for k in kernel] * 2
    x, w = (
        rng.normal(size=(2, channels, height, width)).astype("f"),
        rng.normal(size=(channels * each, 1, *kernel)).astype("f"),
    )
    model = conv_model(
        proto, w, rng.normal(size=channels * each).astype("f"), pads=pads, group=channels, strides=[stride] * 2,
        dilations=[dilation] * 2,
    )  # fmt: skip
    agree(model, {"x": x}, fuse=(True,))


@pytest.mark.parametrize("what", ["pointwise", "winograd", "depthwise", "gathered"])
def test_the_shape_chooses(what: str, proto: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: dict[str, Any] = {
        "pointwise": ((1, 32, 28, 28), (64, 32, 1, 1), {}),
        "winograd": ((1, 64, 56, 56), (64, 64, 3, 3), {"pads": [1] * 4}),
        "depthwise": ((1, 32, 28, 28), (32, 1, 3, 3), {"group": 32}),
        "gathered": ((1, 3, 64, 64), (32, 3, 7, 7), {"strides": [2, 2]}),
    }
    x, w, attributes = shapes[what]
    seen: list[str] = []
    real = conv.choose
    monkeypatch.setattr(conv, "choose", lambda c: seen.append(real(c)) or seen[-1])
    model = conv_model(proto, np.ones(w, np.float32), None, **attributes)
    with Session(load(model), kernels="numpy").ready({"x": np.ones(x, np.float32)}):
        assert seen == [what]


def test_winograd_is_not_taken_where_its_weights_cost_more_than_it_saves() -> None:
    from exec.lowering.buffers import Slot
    from exec.lowering.convolution.problem import Convolution

    w = np.ones((512, 512, 3, 3), np.float32)
    g = window((7, 7), (3, 3), [1, 1], [1, 1, 1, 1], None, "NOTSET")
    x, out = Slot.new((1, 512, 7, 7), np.dtype("f")), Slot.new((1, 512, 7, 7), np.dtype("f"))
    assert not winograd.pays(Convolution(x, out, w, w, None, g, 1))


def test_winograd_weights_are_float32(proto: Any) -> None:
    w = np.ones((64, 64, 3, 3), np.float32)
    opened = Session(load(conv_model(proto, w, None, pads=[1] * 4)), kernels="numpy")
    opened.run({"x": np.ones((1, 64, 32, 32), np.float32)})
    assert opened.packs.nbytes == w.nbytes * 4


EPILOGUES = {
    "relu": "y = Relu(c)",
    "clip": "y = Clip(c, low, high)",
    "leaky": "y = LeakyRelu<alpha = 0.1>(c)",
    "sigmoid": "y = Sigmoid(c)",
    "silu": "s = Sigmoid(c) y = Mul(c, s)",
    "hard_swish": "y = HardSwish(c)",
    "hard_swish_by_hand": "a = Add(c, three) r = Clip(a, low, six) m = Mul(c, r) y = Div(m, six)",
    "residual": "a = Add(c, r) y = Relu(a)",
    "residual_first": "a = Add(r, c) y = Sigmoid(a)",
    "affine": "a = Mul(c, three) y = Add(a, high)",
    "batch_norm": "y = BatchNormalization(c, scale, shift, mean, var)",
    "batch_norm_relu": "n = BatchNormalization(c, scale, shift, mean, var) y = Relu(n)",
    "prelu": "y = PRelu(c, slope)",
    "read_twice": "a = Relu(c) y = Add(a, c)",
}


@pytest.mark.parametrize("kind", ["pointwise", "winograd", "depthwise", "gathered"])
@pytest.mark.parametrize("name", EPILOGUES)
def test_what_follows_a_convolution(name: str, kind: str, proto: Any, agree: Any) -> None:
    rng = np.random.default_rng(0)
    channels, size = 16, 20
    w = rng.normal(size=(16, {"depthwise": 1}.get(kind, 16), *((1, 1) if kind == "pointwise" else (3, 3)))).astype("f")
    attributes: dict[str, Any] = {"group": 16} if kind == "depthwise" else {}
    if kind == "gathered":
        attributes["strides"] = [2, 2]
    if kind == "winograd":
        attributes["pads"] = [1, 1, 1, 1]
    model = conv_model(proto, w, rng.normal(size=16).astype("f"), EPILOGUES[name], **attributes)
    constants = {
        "low": np.float32(0), "high": np.float32(1.5), "three": np.float32(3), "six": np.float32(6),
        "scale": rng.normal(size=16).astype("f"), "shift": rng.normal(size=16).astype("f"),
        "mean": rng.normal(size=16).astype("f"), "var": rng.uniform(0.5, 2, 16).astype("f"),
        "slope": rng.normal(size=(16, 1, 1)).astype("f"),
    }  # fmt: skip
    from onnx import numpy_helper

    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    feeds = {"x": rng.normal(size=(2, channels, size, size)).astype("f")}
    if "residual" in name:
        out = size if kind in ("pointwise", "winograd") else 18 if kind == "depthwise" else 9
        feeds["r"] = rng.normal(size=(2, 16, out, out)).astype("f")
        model.graph.input.append(helper.make_tensor_value_info("r", 1, list(feeds["r"].shape)))
    agree(model, feeds)


def test_pads_before_a_convolution_join_it(proto: Any, agree: Any) -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(size=(8, 4, 3, 3)).astype("f")
    for mode in ("constant", "reflect", "edge"):
        model = proto(
            f"g (float[N, 4, H, W] x) => (float[N, 8, P, Q] y) {{ p = Pad<mode = \"{mode}\">(x, pads) y = Conv<strides = [2, 2]>(p, w) }}",
            w=w, pads=np.array([0, 0, 1, 0, 0, 0, 0, 1], np.int64),
        )  # fmt: skip
        agree(model, {"x": rng.normal(size=(1, 4, 11, 12)).astype("f")})


@settings(max_examples=25)
@given(stride=st.integers(1, 3), kernel=st.integers(1, 4), pad=st.integers(0, 1), group=st.sampled_from([1, 2]),
       rank=st.integers(1, 2), seed=SEEDS)  # fmt: skip
def test_transposed_convolutions(
    stride: int, kernel: int, pad: int, group: int, rank: int, seed: int, proto: Any, agree: Any
) -> None:
    assume(kernel > 2 * pad)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(4, 3, *[kernel] * rank)).astype("f")
    sizes, outs = ", ".join("HW"[:rank]), ", ".join("PQ"[:rank])
    model = proto(f"g (float[N, 4, {sizes}] x) => (float[N, M, {outs}] y) {{ y = Relu(c) }}", w=w)
    model.graph.node.insert(
        0,
        helper.make_node(
            "ConvTranspose", ["x", "w"], ["c"], strides=[stride] * rank, pads=[pad] * 2 * rank, group=group
        ),
    )
    agree(model, {"x": rng.normal(size=(2, 4, *[5, 7][:rank])).astype("f")}, fuse=(True,))


@pytest.mark.parametrize("weights", ["input", "float16", "float64"])
def test_a_convolution_nobody_has_a_fast_way_for_is_right_too(weights: str, proto: Any, agree: Any) -> None:
    rng = np.random.default_rng(0)
    kind = {"float16": "float16", "float64": "double"}.get(weights, "float")
    dtype = {"float16": np.float16, "float64": np.float64}.get(weights, np.float32)
    model = proto(
        f"g ({kind}[1, 2, 6, 6] x, {kind}[3, 2, 3, 3] w) => ({kind}[1, 3, 4, 4] y) {{ c = Conv(x, w) y = Relu(c) }}"
    )
    feeds = {"x": rng.normal(size=(1, 2, 6, 6)).astype(dtype), "w": rng.normal(size=(3, 2, 3, 3)).astype(dtype)}
    agree(model, feeds, engine="reference")


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((1, 16, 41, 37), (48, 16, 1, 1), {}),
        ((2, 24, 41, 37), (176, 12, 1, 1), {"group": 2}),
        ((1, 20, 41, 37), (41, 20, 1, 1), {}),
        ((1, 3, 70, 66), (32, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 128, 19, 23), (160, 128, 3, 3), {"pads": [1, 1, 1, 1]}),
    ],
    ids=["pointwise", "groups", "wider", "stem", "winograd"],
)
def test_products_cut_for_small_matrix_kernels(
    x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any], proto: Any, agree: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(skinny, "blas", lambda: Blas("openblas", "", "SkylakeX", 1, ""))
    rng = np.random.default_rng(0)
    weights, bias = rng.normal(size=w).astype("f"), rng.normal(size=w[0]).astype("f")
    feeds = {"x": rng.normal(size=x).astype("f")}
    model = conv_model(proto, weights, bias, **attributes)
    with Session(load(model), kernels="numpy", threads=1).ready(feeds) as (plan, _):
        calls: list[Any] = [step for step in plan.steps if getattr(step, "func", None) is np.matmul]
        operands = [call.args[:2] for call in calls if call.args[0].ndim > 2]
    assert operands
    assert all(math.prod(a.shape[-2:]) * b.shape[-1] <= skinny.SMALL for a, b in operands)
    agree(model, feeds, kernels=("numpy",), fuse=(True,))


def test_the_ones_behind_an_input_touch_nobody_elses_memory(proto: Any, agree: Any) -> None:
    """The bias is a row of ones behind the values of an input: alone, shared by two readers, and inside a Concat."""
    text = """g (float[1, 8, 9, 9] x, float[1, 8, 9, 9] z) => (float[N, C, H, W] y, float[1, 8, 9, 9] a)
        { a = Relu(x) b = Sigmoid(z) c = Concat<axis = 1>(a, b)
          p = Conv(c, u, s) q = Conv(b, v, s) r = Conv(a, v, s) t = Conv(b, w, s) y = Concat<axis = 1>(p, q, r, t) }"""
    rng = np.random.default_rng(0)
    weights = {n: rng.normal(size=(6, i, 1, 1)).astype("f") for n, i in (("u", 16), ("v", 8), ("w", 8))}
    feeds = {n: rng.normal(size=(1, 8, 9, 9)).astype("f") for n in ("x", "z")}
    model = proto(text, s=rng.normal(size=6).astype("f"), **weights)
    with Session(load(model), kernels="numpy").ready(feeds) as (plan, _):
        assert any(getattr(getattr(step, "func", None), "__name__", "") == "fill" for step in plan.steps)
    agree(model, feeds)
