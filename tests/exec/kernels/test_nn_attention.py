"""Attention: heads in three or four axes, masks, causality, groups of heads, a past, and a soft cap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SEEDS = st.integers(0, 1 << 16)
OPSET = 23


@given(
    seed=SEEDS, causal=st.integers(0, 1), mask=st.sampled_from(["none", "bool", "float"]), cap=st.sampled_from([0.0, 2.0]),
    groups=st.sampled_from([1, 2]), flat=st.booleans(), past=st.booleans(),
)  # fmt: skip
def test_attention(
    seed: int, causal: int, mask: str, cap: float, groups: int, flat: bool, past: bool, check: Any, made: Any
) -> None:
    rng = np.random.default_rng(seed)
    heads, length, keys, width = 4, 3, 5, 8
    before = 2 if past else 0
    q, k, v = (made(rng, (2, h, n, width), np.float32) for h, n in
               ((heads, length), (heads // groups, keys), (heads // groups, keys)))  # fmt: skip
    history = [made(rng, (2, heads // groups, before, width), np.float32) for _ in range(2)] if past else []
    bias = None
    if mask == "bool":
        bias = rng.random((length, keys + before)) < 0.7
        bias[:, 0] = True
    elif mask == "float":
        bias = made(rng, (2, 1, length, keys + before), np.float32)
    attributes: dict[str, Any] = {"is_causal": causal, "softcap": cap}
    if flat:
        q, k, v = (x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1) for x in (q, k, v))
        attributes |= {"q_num_heads": heads, "kv_num_heads": heads // groups}
    check("Attention", q, k, v, bias, *history, opset=OPSET, engines=("reference",), **attributes)


def test_attention_with_huge_scores_stays_finite(compute: Any) -> None:
    q = np.full((1, 1, 2, 4), 1e4, np.float32)
    assert np.isfinite(compute("Attention", q, q, q, opset=OPSET)[0]).all()


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("part", [0, 4])
def test_rotary_embedding(interleaved: int, part: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    x, ids = made(rng, (2, 3, 5, 8), np.float32), np.arange(5)[None].repeat(2, 0)
    cos, sin = (made(rng, (10, (part or 8) // 2), np.float32) for _ in range(2))
    check(
        "RotaryEmbedding", x, cos, sin, ids, opset=OPSET, interleaved=interleaved, rotary_embedding_dim=part,
        engines=("reference",),
    )  # fmt: skip
