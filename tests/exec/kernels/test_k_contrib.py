"""com.microsoft against onnxruntime, whose ops they are."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from exec.errors import UnsupportedOp
from exec.ir import load
from exec.kernels.registry import RESERVED, registered
from exec.session import Session

DOMAIN = "com.microsoft"
SEEDS = st.integers(0, 1 << 16)
ORT = {"domain": DOMAIN, "opset": 1, "engines": ["onnxruntime"]}


def f32(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Any:
    return (rng.normal(0, 1, shape) * scale).astype(np.float32)


def one(value: float, dtype: Any = np.float32) -> Any:
    return np.array(value, dtype)


def test_every_kernel_has_the_attributes_onnxruntime_documents() -> None:
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    schemas = {s.name: s for s in state.get_all_operator_schema() if s.domain == DOMAIN}
    for entry in registered():
        if entry.domain != DOMAIN or entry.op not in schemas:
            continue
        found = inspect.signature(entry.function).parameters.values()
        keywords = {p.name for p in found if p.kind is p.KEYWORD_ONLY and p.name not in RESERVED}
        assert keywords == set(schemas[entry.op].attributes), entry.op


@pytest.mark.parametrize("op", ["Gelu", "QuickGelu", "FastGelu"])
@given(seed=SEEDS)
def test_gelu_and_its_variants(check: Any, op: str, seed: int) -> None:
    check(op, f32(np.random.default_rng(seed), 3, 8, scale=3), **ORT)


def test_gelu_with_a_bias(check: Any) -> None:
    rng = np.random.default_rng(0)
    check("BiasGelu", f32(rng, 2, 3, 8), f32(rng, 8), **ORT)
    check("FastGelu", f32(rng, 2, 3, 8), f32(rng, 8), **ORT)
    check("QuickGelu", f32(rng, 2, 3), alpha=0.5, **ORT)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [(None, []), ("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.1]), ("Clip", [-0.3, 0.4])],
)
def test_a_convolution_with_its_activation(check: Any, name: Any, parameters: list[float]) -> None:
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {} if name is None else {"activation": name}
    options |= {"activation_params": parameters} if parameters else {}
    x, w, b = f32(rng, 1, 4, 6, 7), f32(rng, 6, 2, 3, 3, scale=0.3), f32(rng, 6)
    check("FusedConv", x, w, b, pads=[1, 1, 1, 1], group=2, **options, **ORT)
    z = f32(rng, 1, 6, 6, 7)
    check("FusedConv", x, w, b, z, pads=[1, 1, 1, 1], group=2, **options, **ORT)


def test_a_gemm_with_its_activation(check: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = f32(rng, 3, 4), f32(rng, 5, 4), f32(rng, 5)
    check("FusedGemm", a, b, c, transB=1, alpha=0.5, beta=2.0, activation="Relu", **ORT)
    check("FusedGemm", a, b, c, transB=1, activation="LeakyRelu", activation_alpha=0.2, **ORT)


@given(trans_a=st.integers(0, 1), trans_b=st.integers(0, 1), alpha=st.sampled_from([1.0, 0.5]), seed=SEEDS)
def test_products_of_transposed_matrices(check: Any, trans_a: int, trans_b: int, alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = f32(rng, 2, *((4, 3) if trans_a else (3, 4))), f32(rng, 2, *((5, 4) if trans_b else (4, 5)))
    check("FusedMatMul", a, b, transA=trans_a, transB=trans_b, alpha=alpha, **ORT)
    check("TransposeMatMul", a, b, transA=trans_a, transB=trans_b, alpha=alpha, **ORT)


@pytest.mark.parametrize("transposed", [0, 1])
def test_products_whose_first_axis_is_moved(check: Any, transposed: int) -> None:
    rng = np.random.default_rng(0)
    a, b = f32(rng, *((4, 2, 3) if transposed else (3, 2, 4))), f32(rng, *((5, 2, 4) if transposed else (4, 2, 5)))
    check("FusedMatMul", a, b, transBatchA=1, transBatchB=1, transA=transposed, transB=transposed, **ORT)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("skip", [(2, 3, 16), (1, 3, 16), (3, 16)])
def test_normalization_of_a_sum(check: Any, bias: bool, skip: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, s, gamma, beta = f32(rng, 2, 3, 16), f32(rng, *skip), f32(rng, 16), f32(rng, 16)
    extra = [f32(rng, 16)] if bias else []
    check("SkipLayerNormalization", x, s, gamma, beta, *extra, epsilon=1e-5, **ORT)
    check("SkipSimplifiedLayerNormalization", x, s, gamma, *extra, epsilon=1e-5, **ORT)


def test_the_sum_itself_is_an_output_too(compute: Any) -> None:
    rng = np.random.default_rng(0)
    x, s, gamma = f32(rng, 2, 3, 16), f32(rng, 2, 3, 16), f32(rng, 16)
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        *_, total = compute(op, x, s, gamma, domain=DOMAIN, opset=1, outputs=4)
        assert np.array_equal(total, x + s)


@pytest.mark.parametrize("axis", [-1, 1])
def test_simplified_normalization(check: Any, axis: int) -> None:
    rng = np.random.default_rng(0)
    shape = (16,) if axis == -1 else (3, 16)
    check("SimplifiedLayerNormalization", f32(rng, 2, 3, 16), f32(rng, *shape), axis=axis, engines=["onnxruntime"])


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_embeddings_are_added_and_normalized(check: Any, segments: bool, masked: bool) -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 10, (2, 5)).astype(np.int32)
    kinds = rng.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    tables = [f32(rng, 10, 8), f32(rng, 6, 8)]
    check(
        "EmbedLayerNormalization", ids, kinds if segments else None, *tables, f32(rng, 2, 8) if segments else None, f32(rng, 8),
        f32(rng, 8), *([mask] if masked else []), epsilon=1e-5, outputs=2, **ORT,
    )  # fmt: skip


MASKS: dict[str, Any] = {
    "none": None,
    "lengths": np.array([3, 6], np.int32),
    "ends and starts": np.array([5, 6, 1, 0], np.int32),
    "raw": np.array([[1, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 0]], np.int32),
    "raw per query": np.tile(np.tril(np.ones((6, 6), np.int32)), (2, 1, 1)),
}


@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("causal", [0, 1])
def test_self_attention_with_every_mask(check: Any, mask: str, causal: int) -> None:
    rng = np.random.default_rng(0)
    x, w, b = f32(rng, 2, 6, 16), f32(rng, 16, 48, scale=0.3), f32(rng, 48)
    given_mask = [] if MASKS[mask] is None else [MASKS[mask]]
    check("Attention", x, w, b, *given_mask, num_heads=4, unidirectional=causal, **ORT)


def test_self_attention_with_a_past_and_a_bias(check: Any) -> None:
    rng = np.random.default_rng(0)
    x, w, b, past = f32(rng, 2, 3, 16), f32(rng, 16, 48, scale=0.3), f32(rng, 48), f32(rng, 2, 2, 4, 5, 4)
    check("Attention", x, w, b, None, past, num_heads=4, unidirectional=1, outputs=2, **ORT)
    check("Attention", x, w, b, None, None, f32(rng, 2, 4, 3, 3), num_heads=4, scale=0.3, **ORT)


def test_values_may_have_another_size(check: Any) -> None:
    rng = np.random.default_rng(0)
    x, w, b = f32(rng, 2, 3, 16), f32(rng, 16, 8 + 8 + 12, scale=0.3), f32(rng, 28)
    check("Attention", x, w, b, num_heads=4, qkv_hidden_sizes=[8, 8, 12], **ORT)


def test_quantized_self_attention(check: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 256, (2, 4, 16)).astype(np.uint8), rng.integers(-128, 128, (16, 48)).astype(np.int8)
    scales = [one(0.02), one(0.01)]
    zeros = [one(120, np.uint8), one(0, np.int8)]
    check("QAttention", x, w, f32(rng, 48), *scales, None, *zeros, num_heads=4, **ORT)


def test_keys_and_values_may_come_packed_or_from_a_cache(check: Any) -> None:
    rng = np.random.default_rng(0)
    q, k, v = f32(rng, 2, 5, 16), f32(rng, 2, 5, 16), f32(rng, 2, 5, 16)
    (plain,) = check("MultiHeadAttention", q, k, v, num_heads=4, **ORT)
    parts = [x.reshape(2, 5, 4, 4) for x in (q, k, v)]
    quiet = {**ORT, "engines": []}  # onnxruntime packs on the GPU only
    assert np.array_equal(check("MultiHeadAttention", np.stack(parts, 3), num_heads=4, **quiet)[0], plain)
    assert np.array_equal(check("MultiHeadAttention", q, np.stack(parts[1:], 3), num_heads=4, **quiet)[0], plain)
    cache = [x.transpose(0, 2, 1, 3) for x in parts[1:]]
    check("MultiHeadAttention", q, *(np.ascontiguousarray(x) for x in cache), num_heads=4, **ORT)


def test_multi_head_attention_with_its_options(check: Any) -> None:
    rng = np.random.default_rng(0)
    q, k, v, bias = f32(rng, 2, 5, 16), f32(rng, 2, 5, 16), f32(rng, 2, 5, 24), f32(rng, 56)
    check("MultiHeadAttention", q, k, v, bias, num_heads=4, **ORT)
    check("MultiHeadAttention", q, k, v, None, np.array([3, 5], np.int32), num_heads=4, scale=0.4, **ORT)
    mask = np.array([[1, 1, 0, 1, 1], [1, 0, 1, 1, 1]], np.int32)
    check("MultiHeadAttention", q, k, v, None, mask, f32(rng, 1, 4, 5, 5), num_heads=4, **ORT)
    check("MultiHeadAttention", q, k, v, num_heads=4, unidirectional=1, **ORT)


def test_multi_head_attention_keeps_keys_and_values(check: Any) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (f32(rng, 2, 2, 16) for _ in range(3))
    past = [f32(rng, 2, 4, 6, 4), f32(rng, 2, 4, 6, 4)]
    check("MultiHeadAttention", q, k, v, None, None, None, *past, num_heads=4, outputs=3, **ORT)


def rotation(length: int, half: int) -> tuple[Any, Any]:
    angles = np.arange(length)[:, None] / 10.0 ** np.arange(half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("shape", [(2, 3, 32), (2, 4, 3, 8)])
@pytest.mark.parametrize("positions", [np.array([2]), np.array([[0, 3, 1], [5, 2, 7]])])
def test_rotary_embedding(check: Any, interleaved: int, shape: tuple[int, ...], positions: Any) -> None:
    x = f32(np.random.default_rng(0), *shape)
    check("RotaryEmbedding", x, positions, *rotation(10, 4), interleaved=interleaved, **ORT)


def test_part_of_the_features_may_be_rotated(check: Any) -> None:
    x = f32(np.random.default_rng(0), 2, 3, 32)
    check("RotaryEmbedding", x, np.array([1]), *rotation(10, 2), num_heads=4, rotary_embedding_dim=4, **ORT)


@pytest.mark.parametrize("rotate", [0, 1])
@pytest.mark.parametrize("window", [-1, 3])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("step", ["prompt", "token"])
def test_grouped_attention_with_a_cache(check: Any, rotate: int, window: int, packed: bool, step: str) -> None:
    rng = np.random.default_rng(0)
    batch, heads, kv, size = 2, 4, 2, 16
    length, past = (5, 0) if step == "prompt" else (1, 6)
    q, k, v = (
        f32(rng, batch, length, heads * size),
        f32(rng, batch, length, kv * size),
        f32(rng, batch, length, kv * size),
    )
    qkv = [np.concatenate((q, k, v), 2), None, None] if packed else [q, k, v]
    cache = [f32(rng, batch, kv, past, size) for _ in range(2)] if past else [None, None]
    total = past + length
    lengths = np.full(batch, total - 1, np.int32)
    tables = rotation(16, size // 2) if rotate else ()
    check(
        "GroupQueryAttention", *qkv, *cache, lengths, np.array(total, np.int32), *tables, num_heads=heads, kv_num_heads=kv,
        do_rotary=rotate, local_window_size=window, outputs=3, **ORT,
    )  # fmt: skip


@pytest.mark.parametrize("options", [{"softcap": 2.0}, {"smooth_softmax": 1}, {"scale": 0.2}])
def test_grouped_attention_with_its_options(check: Any, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    q, k, v = f32(rng, 1, 4, 32), f32(rng, 1, 4, 16), f32(rng, 1, 4, 16)
    check(
        "GroupQueryAttention", q, k, v, None, None, np.array([3], np.int32), np.array(4, np.int32), num_heads=4, kv_num_heads=2,
        **options, **ORT,
    )  # fmt: skip


def test_entries_of_different_length_share_a_cache(check: Any) -> None:
    rng = np.random.default_rng(0)
    q, k, v = f32(rng, 2, 1, 32), f32(rng, 2, 1, 16), f32(rng, 2, 1, 16)
    cache = [f32(rng, 2, 2, 8, 8) for _ in range(2)]
    check(
        "GroupQueryAttention",
        q,
        k,
        v,
        *cache,
        np.array([4, 7], np.int32),
        np.array(8, np.int32),
        num_heads=4,
        kv_num_heads=2,
        outputs=3,
        **ORT,
    )


def test_what_is_not_run_is_said(compute: Any) -> None:
    with pytest.raises(UnsupportedOp, match="sliding_window_cache"):
        compute(
            "GroupQueryAttention", np.zeros((1, 1, 8), np.float32), None, None, None, None, np.zeros(1, np.int32),
            np.array(1, np.int32), num_heads=1, kv_num_heads=1, sliding_window_cache=1, domain=DOMAIN, opset=1,
        )  # fmt: skip


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zero", ["none", "packed", "float"])
@pytest.mark.parametrize("columns", [64, 80])
def test_weights_of_few_bits(check: Any, bits: int, zero: str, columns: int) -> None:
    rng = np.random.default_rng(0)
    if bits == 8 and zero == "float":
        pytest.skip("onnxruntime has no 8 bits with float zero points on the CPU")
    rows, block = 6, 32
    blocks = -(-columns // block)
    b = rng.integers(0, 256, (rows, blocks, block * bits // 8)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32)
    zeros = {
        "none": [],
        "packed": [rng.integers(0, 256, (rows, -(-blocks * bits // 8))).astype(np.uint8)],
        "float": [rng.uniform(0, 1 << bits, (rows, blocks)).astype(np.float32)],
    }[zero]
    options = {"K": columns, "N": rows, "bits": bits, "block_size": block}
    check("MatMulNBits", f32(rng, 2, 3, columns), b, scales, *zeros, **options, **ORT)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zero", [False, True])
def test_rows_of_quantized_tables(check: Any, bits: int, zero: bool) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (10, 32 * bits // 8)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (10, 2)).astype(np.float32)
    zeros = [rng.integers(0, 256, (10, 2 * bits // 8)).astype(np.uint8)] if zero else []
    check("GatherBlockQuantized", data, rng.integers(0, 10, (2, 3)), scales, *zeros, bits=bits, block_size=16, **ORT)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("per_column", [False, True])
def test_products_of_quantized_matrices(check: Any, kind: Any, per_column: bool) -> None:
    rng = np.random.default_rng(0)
    low = np.iinfo(kind).min
    b = rng.integers(low, low + 256, (20, 5)).astype(kind)
    columns = (5,) if per_column else ()
    scale = np.asarray(rng.uniform(0.01, 0.1, columns), np.float32)
    zero = np.asarray(rng.integers(low, low + 256, columns), kind)
    a, bias = f32(rng, 2, 3, 20), f32(rng, 5)
    check("DynamicQuantizeMatMul", a, b, scale, zero, bias, **ORT)
    check("DynamicQuantizeMatMul", a, b, scale, **ORT)
    codes = rng.integers(0, 256, (3, 20)).astype(np.uint8)
    check("MatMulIntegerToFloat", codes, b, one(0.02), scale, one(100, np.uint8), zero, bias, **ORT)


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_a_quantized_gemm(check: Any, quantized: bool, trans_b: int) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (3, 8)).astype(np.uint8)
    b = rng.integers(-128, 128, (5, 8) if trans_b else (8, 5)).astype(np.int8)
    c = rng.integers(-1000, 1000, 5).astype(np.int32)
    last = [one(0.3), one(128, np.uint8)] if quantized else []
    check("QGemm", a, one(0.02), one(120, np.uint8), b, one(0.01), one(0, np.int8), c, *last, transB=trans_b, **ORT)


def test_a_recurrent_layer_with_quantized_weights(check: Any) -> None:
    rng = np.random.default_rng(0)
    hidden, features = 6, 4
    w, r = (rng.integers(-128, 128, (2, n, 4 * hidden)).astype(np.int8) for n in (features, hidden))
    scales = [rng.uniform(0.005, 0.01, 2).astype(np.float32) for _ in range(2)]
    zeros = [np.zeros(2, np.int8) for _ in range(2)]
    x, b = f32(rng, 5, 1, features), f32(rng, 2, 8 * hidden, scale=0.3)
    inputs = [x, w, r, b, None, None, None, None, scales[0], zeros[0], scales[1], zeros[1]]
    check("DynamicQuantizeLSTM", *inputs, hidden_size=hidden, direction="bidirectional", outputs=3, **ORT)


EIGHT = st.sampled_from(["uint8", "int8"])


def within_one(want: Any, got: Any) -> None:
    """Equal, but for one unit where the real value lies next to a tie."""
    off = np.abs(want.astype(np.int32) - got.astype(np.int32))
    assert want.dtype == got.dtype
    assert off.max(initial=0) <= 1
    assert np.count_nonzero(off) <= max(1, off.size // 50)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@given(
    kind=EIGHT, ties=st.booleans(), seed=SEEDS, shapes=st.sampled_from([((2, 3, 50), (3, 1)), ((3, 1), (2, 3, 50)), ((333,), (333,)), ((40, 4), ())])
)  # fmt: skip
def test_elementwise_ops_on_8_bits(check: Any, op: str, kind: str, ties: bool, seed: int, shapes: Any) -> None:
    rng = np.random.default_rng(seed)
    limits = np.iinfo(kind)

    def codes(*shape: int) -> Any:
        return rng.integers(limits.min, limits.max, shape, dtype=np.dtype(kind), endpoint=True)

    def scale() -> Any:  # few digits, or fractions of a range of 255: exact ties, and sums next to them
        return one(2.0 ** -float(rng.integers(2, 6)) if ties else int(rng.integers(1, 9)) / 255)

    a, b = codes(*shapes[0]), codes(*shapes[1])
    check(op, a, scale(), np.asarray(codes()), b, scale(), np.asarray(codes()), scale(), np.asarray(codes()), **ORT)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_a_zero_point_that_is_not_given_is_zero(compute: Any, op: str) -> None:
    a, b = np.array([10, 20], np.uint8), np.array([3, 4], np.uint8)
    (got,) = compute(op, a, one(1), None, b, one(1), None, one(1), domain=DOMAIN, opset=1)
    assert got.tolist() == ([13, 24] if op == "QLinearAdd" else [30, 80])


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_tables_of_256_values(check: Any, kind: str) -> None:
    x = np.arange(256, dtype=np.uint8).view(kind).reshape(16, 16)
    q = [one(0.05), one(3, kind)]
    check("QLinearSigmoid", x, *q, one(1 / 256), one(0, kind), **ORT)
    check("QLinearLeakyRelu", x, *q, one(0.04), one(5, kind), alpha=0.1, **ORT)
    parts = [x, *q, x[:, :4], one(0.02), one(7, kind)]
    check("QLinearConcat", one(0.06), one(9, kind), *parts, axis=1, **ORT)
    check("QLinearWhere", x > 0, x, *q, x.T, one(0.02), one(7, kind), one(0.06), one(9, kind), **ORT)


@given(kind=EIGHT, ties=st.booleans(), size=st.sampled_from([4, 8]), seed=SEEDS)
def test_pools_and_tables_agree_also_on_ties(check: Any, kind: str, ties: bool, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = np.iinfo(kind)

    def codes(*shape: int) -> Any:
        return np.asarray(rng.integers(limits.min, limits.max, shape, dtype=np.dtype(kind), endpoint=True))

    def scale() -> Any:
        return one(2.0 ** -float(rng.integers(1, 6)) if ties else float(rng.uniform(0.01, 0.1)))

    x, q = codes(1, 8, size, size), [scale(), codes(), scale(), codes()]
    check("QLinearGlobalAveragePool", x, *q, **ORT)
    check("QLinearAveragePool", x, *q, kernel_shape=[2, 2], strides=[2, 2], **ORT)
    check("QLinearAveragePool", x, *q, kernel_shape=[3, 2], pads=[1, 0, 1, 1], **ORT)
    check("QLinearLeakyRelu", x, *q, alpha=0.25, **ORT)
    check("QLinearConcat", *q[2:], x, *q[:2], x, scale(), codes(), axis=1, **ORT)
    check("QLinearWhere", x > 0, x, *q[:2], x, scale(), codes(), *q[2:], **ORT)


def test_the_channels_may_come_last(compute: Any) -> None:
    x = np.random.default_rng(0).integers(0, 256, (2, 3, 6, 7)).astype(np.uint8)
    q = [one(0.05), one(3, np.uint8), one(0.03), one(5, np.uint8)]
    for op, options in (("QLinearGlobalAveragePool", {}), ("QLinearAveragePool", {"kernel_shape": [2, 3]})):
        (first,) = compute(op, x, *q, domain=DOMAIN, opset=1, **options)
        (last,) = compute(op, np.moveaxis(x, 1, -1), *q, channels_last=1, domain=DOMAIN, opset=1, **options)
        assert np.array_equal(np.moveaxis(last, -1, 1), first)


def test_a_mean_on_8_bits(compute: Any) -> None:
    x = np.random.default_rng(0).integers(0, 256, (2, 3, 4)).astype(np.uint8)
    q = [one(0.05), one(3, np.uint8), one(0.03), one(5, np.uint8)]
    (got,) = compute("QLinearReduceMean", x, *q, axes=[1], keepdims=0, domain=DOMAIN, opset=1)
    real = (x.astype(np.float32) - 3).mean(axis=1) * np.float32(0.05) / np.float32(0.03) + 5
    within_one(np.clip(np.rint(real), 0, 255).astype(np.uint8), got)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_on_8_bits(opset: int, kind: str) -> None:
    """By itself: the attribute is called like `check`'s own opset."""
    runtime = pytest.importorskip("onnxruntime")
    x = np.random.default_rng(0).integers(0, 256, (2, 3, 5)).astype(np.uint8).view(kind)
    code, low = helper.np_dtype_to_tensor_dtype(x.dtype), int(np.iinfo(kind).min)
    inputs = {"x_scale": one(0.05), "x_zero": one(3, kind), "y_scale": one(1 / 256), "y_zero": one(low, kind)}
    node = helper.make_node("QLinearSoftmax", ["x", *inputs], ["y"], domain=DOMAIN, axis=1, opset=opset)
    ends = [helper.make_tensor_value_info(name, code, x.shape) for name in "xy"]
    weights = [numpy_helper.from_array(value, name) for name, value in inputs.items()]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], weights)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    (want,) = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, {"x": x}
    )
    assert np.array_equal(want, Session(load(proto)).run({"x": x})["y"])


def test_sixteen_bits_in_the_contrib_domain(check: Any, made: Any) -> None:
    x = made(np.random.default_rng(0), (4, 5), "float32")
    (codes,) = check("QuantizeLinear", x, one(0.001), one(1000, np.uint16), **ORT)
    check("DequantizeLinear", codes, one(0.001), one(1000, np.uint16), **ORT)
    scale, zero = np.linspace(0.01, 0.02, 4, dtype=np.float32), np.arange(4, dtype=np.int8)
    (codes,) = check("QuantizeLinear", x, scale, zero, axis=0, **ORT)
    check("DequantizeLinear", codes, scale, zero, axis=0, **ORT)


def test_ops_that_moved_to_the_standard_later(check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    x = made(rng, (3, 4), "float32")
    check("Trilu", x, np.array(1), upper=0, **ORT)
    check("ExpandDims", x, np.array(1, np.int32), **ORT)
    check("Inverse", x[:3, :3] + 9 * np.eye(3, dtype=np.float32), **ORT)
    check("Pad", x, np.array([1, 0, 0, 2]), one(5.0), **ORT)
    check("Range", one(1), one(7), one(2), **ORT)
    check("Range", one(1), one(4), **ORT)
    check("GatherND", x, np.array([[0, 1], [2, 3]]), **ORT)


@pytest.mark.parametrize("last", [0, 1])
def test_quantized_convolution_with_the_channels_last(check: Any, last: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (1, 4, 6, 7)).astype(np.uint8)
    w = rng.integers(-128, 128, (6, 2, 3, 3)).astype(np.int8)
    q = [
        one(0.02),
        one(120, np.uint8),
        w,
        rng.uniform(0.001, 0.01, 6).astype(np.float32),
        np.zeros(6, np.int8),
        one(0.05),
        one(9, np.uint8),
    ]
    bias = rng.integers(-1000, 1000, 6).astype(np.int32)
    given_x = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x
    check("QLinearConv", given_x, *q, bias, channels_last=last, group=2, pads=[1, 1, 1, 1], strides=[2, 1], **ORT)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_the_largest_with_the_channels_last(check: Any, kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, (1, 6, 7, 4)).astype(kind)
    check("NhwcMaxPool", x, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], **ORT)


def test_convolution_with_the_channels_last(compute: Any) -> None:
    from exec.kernels.nn.conv import conv

    rng = np.random.default_rng(0)
    x, w, b, z = f32(rng, 1, 4, 6, 7), f32(rng, 6, 2, 3, 3), f32(rng, 6), f32(rng, 1, 6, 6, 7)
    options: dict[str, Any] = {"group": 2, "pads": [1, 1, 1, 1]}
    plain, common = conv(x, w, b, **options), {**options, "domain": DOMAIN, "opset": 1}
    (got,) = compute("NhwcConv", np.moveaxis(x, 1, -1), w, b, **common)
    assert np.array_equal(np.moveaxis(got, -1, 1), plain)
    (fused,) = compute("NhwcFusedConv", np.moveaxis(x, 1, -1), w, b, np.moveaxis(z, 1, -1), activation="Relu", **common)
    assert np.array_equal(np.moveaxis(fused, -1, 1), np.maximum(plain + z, 0))


@pytest.mark.parametrize(("shape", "inner"), [((2, 1, 1, 5), 1), ((2, 5), 1), ((1, 3, 4, 5), 0), ((3, 4, 5), 0)])
def test_softmax_with_a_mask(compute: Any, shape: tuple[int, ...], inner: int) -> None:
    rng = np.random.default_rng(0)
    x, bias = f32(rng, 2, 3, 4, 5), f32(rng, *shape)
    (got,) = compute("BiasSoftmax", x, bias, axis=3, is_inner_broadcast=inner, domain=DOMAIN, opset=1)
    total = x + (bias.reshape(2, 1, 1, 5) if shape == (2, 5) else bias)
    want = np.exp(total - total.max(-1, keepdims=True))
    np.testing.assert_allclose(got, want / want.sum(-1, keepdims=True), atol=1e-6)
