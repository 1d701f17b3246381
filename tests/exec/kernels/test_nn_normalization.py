"""Normalisations: over the right axes, in every opset's reading, of means far from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SEEDS = st.integers(0, 1 << 16)
SHAPES = st.lists(st.integers(1, 6), min_size=2, max_size=4)


def parameters(rng: np.random.Generator, count: int) -> list[Any]:
    return [rng.normal(size=count).astype("f"), rng.normal(size=count).astype("f"),
            rng.normal(size=count).astype("f"), rng.uniform(0.1, 2, count).astype("f")]  # fmt: skip


@given(shape=SHAPES, seed=SEEDS, opset=st.sampled_from([7, 9, 14, 15, 21]), epsilon=st.sampled_from([1e-5, 1e-2]))
def test_batch_normalization(shape: Any, seed: int, opset: int, epsilon: float, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, shape, np.float32)
    check("BatchNormalization", x, *parameters(rng, shape[1]), opset=opset, epsilon=epsilon, engines=("onnxruntime",))


@pytest.mark.parametrize("opset", [14, 15, 21])
def test_batch_normalization_in_training_updates_its_statistics(opset: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    x = made(rng, (4, 3, 5), np.float32)
    check(
        "BatchNormalization", x, *parameters(rng, 3), opset=opset, outputs=3, training_mode=1, momentum=0.7,
        engines=("reference",),
    )  # fmt: skip


@given(shape=SHAPES, seed=SEEDS, data=st.data(), biased=st.booleans())
def test_layer_normalization(shape: Any, seed: int, data: st.DataObject, biased: bool, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, scale = made(rng, shape, np.float32), made(rng, shape[axis:], np.float32)
    # An empty name in place of the bias crashes onnxruntime.
    bias = [made(rng, shape[axis:], np.float32)] if biased else []
    check("LayerNormalization", x, scale, *bias, axis=axis, epsilon=1e-3, engines=("onnxruntime",))


def test_layer_normalization_of_values_far_from_zero_keeps_its_digits(compute: Any) -> None:
    x = (np.random.default_rng(0).normal(size=(4, 64)) + 1000).astype(np.float32)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    (y,) = compute("LayerNormalization", x, np.ones(64, np.float32))
    np.testing.assert_allclose(y, want, atol=1e-3)


def test_layer_normalization_gives_mean_and_inverse_deviation(check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    x, scale, bias = made(rng, (2, 3, 4), np.float32), made(rng, (4,), np.float32), made(rng, (4,), np.float32)
    got = check("LayerNormalization", x, scale, bias, outputs=3)
    assert got[1].shape == got[2].shape == (2, 3, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("axis", [1, -1])
def test_rms_normalization(dtype: Any, axis: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    x = made(rng, (2, 3, 4), dtype)
    check("RMSNormalization", x, made(rng, (2, 3, 4)[axis:], dtype), opset=23, axis=axis, engines=())


@given(shape=st.lists(st.integers(2, 6), min_size=3, max_size=5), seed=SEEDS)
def test_instance_normalization(shape: Any, seed: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    scale, bias = made(rng, shape[1:2], np.float32), made(rng, shape[1:2], np.float32)
    check("InstanceNormalization", made(rng, shape, np.float32), scale, bias, epsilon=1e-2, engines=("onnxruntime",))


@given(seed=SEEDS, groups=st.sampled_from([1, 2, 4]), opset=st.sampled_from([18, 21]))
def test_group_normalization(seed: int, groups: int, opset: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    count = groups if opset == 18 else 4
    scale, bias = made(rng, (count,), np.float32), made(rng, (count,), np.float32)
    x = made(rng, (2, 4, 3, 5), np.float32)
    check("GroupNormalization", x, scale, bias, opset=opset, num_groups=groups, engines=("reference",))


@given(seed=SEEDS, p=st.sampled_from([1, 2]), axis=st.integers(-3, 2))
def test_lp_normalization(seed: int, p: int, axis: int, check: Any, made: Any) -> None:
    x = made(np.random.default_rng(seed), (3, 4, 5), np.float32)
    check("LpNormalization", x, axis=axis, p=p, engines=("onnxruntime",))  # the reference forgets |x| for p = 1


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization_of_zeros_is_zeros(p: int, compute: Any) -> None:
    assert not compute("LpNormalization", np.zeros((2, 3), np.float32), p=p, opset=22)[0].any()


@given(seed=SEEDS, size=st.sampled_from([1, 3, 5]), channels=st.integers(1, 7))
def test_lrn(seed: int, size: int, channels: int, check: Any, made: Any) -> None:
    x = made(np.random.default_rng(seed), (2, channels, 3, 3), np.float32)
    check("LRN", x, size=size, alpha=0.1, beta=0.6, bias=1.5, engines=("onnxruntime",))


@pytest.mark.parametrize("axes", [[0, 2, 3], [1], [0, 1, 2, 3]])
def test_mean_variance_normalization(axes: list[int], check: Any, made: Any) -> None:
    check("MeanVarianceNormalization", made(np.random.default_rng(0), (2, 3, 4, 5), np.float32), axes=axes)


@given(seed=SEEDS, opset=st.sampled_from([7, 10, 12, 13, 22]), ratio=st.sampled_from([0.0, 0.5]))
def test_dropout_does_nothing_outside_training(seed: int, opset: int, ratio: float, compute: Any, made: Any) -> None:
    x = made(np.random.default_rng(seed), (3, 4), np.float32)
    extra, attributes = ([np.float32(ratio)], {}) if opset >= 12 else ([], {"ratio": ratio})
    y, mask = compute("Dropout", x, *extra, opset=opset, outputs=2, **attributes)
    assert np.array_equal(y, x)
    assert mask.all()
    assert mask.dtype == (bool if opset >= 10 else np.float32)
