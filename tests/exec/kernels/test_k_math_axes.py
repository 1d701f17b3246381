"""Math along an axis: softmax, top-k, running sums, transforms, losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
SHAPES = st.sampled_from([(5,), (3, 4), (2, 3, 4), (1, 1), (2, 0, 3), (0, 4)])


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@given(shape=SHAPES, axis=st.integers(-3, 2), dtype=st.sampled_from(["float32", "float64"]), seed=SEEDS)
def test_softmax_along_one_axis(check: Any, made: Any, op: str, shape: Any, axis: int, dtype: str, seed: int) -> None:
    assume(-len(shape) <= axis < len(shape))
    x = made(np.random.default_rng(seed), shape, dtype)
    if x.size:
        check(op, x, axis=axis)
    else:
        assert check(op, x, axis=axis, engines=[])[0].shape == shape


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@given(axis=st.integers(0, 3), seed=SEEDS)
def test_before_opset_13_all_axes_from_one_on_count(check: Any, made: Any, op: str, axis: int, seed: int) -> None:
    x = made(np.random.default_rng(seed), (2, 3, 4, 2), "float32")
    check(op, x, axis=axis, opset=11, engines=["onnxruntime"])


def test_softmax_does_not_overflow_and_rows_of_nothing_are_nan(check: Any) -> None:
    x = np.array([[1e4, 1e4 - 1, -1e4], [-np.inf, 0, -np.inf], [-np.inf] * 3, [np.nan, 0, 1]], np.float32)
    (got,) = check("Softmax", x)
    assert np.isnan(got[2:]).all()


def test_a_long_bfloat16_row_does_not_lose_its_sum(compute: Any) -> None:
    import ml_dtypes

    (got,) = compute("Softmax", np.zeros((1, 4096), ml_dtypes.bfloat16))
    assert float(got[0, 0]) == 1 / 4096


@given(
    dtype=st.sampled_from(["float32", "float64", "int32", "int64", "uint8"]), largest=st.booleans(),
    size=st.sampled_from([1, 7, 300, 1000]), k=st.integers(0, 9), axis=st.sampled_from([0, 1, -1]), seed=SEEDS,
)  # fmt: skip
def test_top_k_is_sorted_and_takes_the_first_of_equals(
    check: Any, dtype: str, largest: bool, size: int, k: int, axis: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 40, (3, size) if axis else (size, 3)).astype(dtype)
    k = min(k, x.shape[axis])
    check("TopK", x, np.array([k]), axis=axis, largest=int(largest), outputs=2, engines=["reference"])
    if dtype != "uint8":
        check("TopK", x, np.array([k]), axis=axis, largest=int(largest), outputs=2, engines=["onnxruntime"])


def test_top_k_before_opset_10_and_of_too_many(compute: Any) -> None:
    values, places = compute("TopK", np.array([1.0, 3.0, 2.0], np.float32), opset=9, k=2, outputs=2)
    assert values.tolist() == [3.0, 2.0]
    assert places.tolist() == [1, 2]
    with pytest.raises(ExecutionError, match="the axis has 3"):
        compute("TopK", np.zeros(3, np.float32), np.array([4]), outputs=2)


@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
@given(
    shape=SHAPES, axis=st.integers(-3, 2), exclusive=st.integers(0, 1), reverse=st.integers(0, 1),
    dtype=st.sampled_from(["float32", "float64", "int32", "int64"]), seed=SEEDS,
)  # fmt: skip
def test_running_sums_and_products(
    check: Any, made: Any, op: str, shape: Any, axis: int, exclusive: int, reverse: int, dtype: str, seed: int
) -> None:
    assume(-len(shape) <= axis < len(shape) and 0 not in shape)
    x = made(np.random.default_rng(seed), shape, dtype)
    engines = ["reference", "onnxruntime"] if op == "CumSum" else ["reference"]
    opset = 21 if op == "CumSum" else 26
    check(op, x, np.array(axis), exclusive=exclusive, reverse=reverse, opset=opset, engines=engines)


@given(shape=st.sampled_from([(2, 2), (3, 4, 4), (1, 1), (2, 3, 3, 3), (0, 2, 2)]), seed=SEEDS)
def test_det(check: Any, made: Any, shape: Any, seed: int) -> None:
    check("Det", made(np.random.default_rng(seed), shape, "float32"), engines=["reference"])
    if 0 not in shape:
        check("Det", made(np.random.default_rng(seed), shape, "float32"), engines=["onnxruntime"])


@given(
    parts=st.sampled_from([1, 2]), axis=st.sampled_from([1, 2, -2]), inverse=st.integers(0, 1),
    length=st.sampled_from([None, 4, 9]), dtype=st.sampled_from(["float32", "float64"]), seed=SEEDS,
)  # fmt: skip
def test_dft_both_ways_cut_and_padded(
    check: Any, made: Any, parts: int, axis: int, inverse: int, length: Any, dtype: str, seed: int
) -> None:
    x = made(np.random.default_rng(seed), (2, 5, 6, parts), dtype)
    size = [] if length is None else [np.array(length, np.int64)]
    check("DFT", x, *size, *([] if size else [None]), np.array(axis, np.int64), inverse=inverse)


@pytest.mark.parametrize("size", [8, 9])
def test_a_one_sided_dft_goes_back(compute: Any, made: Any, size: int) -> None:
    x = made(np.random.default_rng(0), (3, size, 1), "float32")
    (spectrum,) = compute("DFT", x, None, np.array(1), onesided=1)
    (back,) = compute("DFT", spectrum, np.array(size), np.array(1), onesided=1, inverse=1)
    assert spectrum.shape == (3, size // 2 + 1, 2)
    np.testing.assert_allclose(back, x, atol=1e-5 * np.abs(x).max())


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("windowed", [False, True])
def test_stft(check: Any, made: Any, onesided: int, windowed: bool) -> None:
    rng = np.random.default_rng(0)
    x = made(rng, (2, 40, 1), "float32")
    window = rng.random(16, dtype=np.float32) if windowed else None
    check("STFT", x, np.array(4), window, np.array(16), onesided=onesided)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(check: Any, op: str, periodic: int) -> None:
    check(op, np.array(11, np.int32), periodic=periodic)
    check(op, np.array(10, np.int64), periodic=periodic, output_datatype=11, engines=["reference"])


def test_mel_weights(check: Any) -> None:
    numbers = [np.array(v, np.int64) for v in (20, 256, 16000)]
    check("MelWeightMatrix", *numbers, np.array(0, np.float32), np.array(8000, np.float32))


@given(
    reduction=st.sampled_from(["none", "mean", "sum"]), weighted=st.booleans(), ignore=st.sampled_from([None, 1, -1]),
    tail=st.sampled_from([(), (2,), (2, 3)]), seed=SEEDS,
)  # fmt: skip
def test_losses(check: Any, made: Any, reduction: str, weighted: bool, ignore: Any, tail: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, target = made(rng, (4, 5, *tail), "float32"), rng.integers(0, 5, (4, *tail))
    if ignore is not None:
        target[0] = ignore
        target[1:] = np.where(target[1:] == ignore, 2, target[1:])
    weights = [rng.random(5, dtype=np.float32) + 0.1] if weighted else []
    options = {} if ignore is None else {"ignore_index": ignore}
    # onnx.reference divides by all targets, also by those it ignores
    engines = ["reference", "onnxruntime"] if ignore is None else ["onnxruntime"]
    check("NegativeLogLikelihoodLoss", x, target, *weights, reduction=reduction, **options, engines=engines)
    check("SoftmaxCrossEntropyLoss", x, target, *weights, reduction=reduction, **options, outputs=2, engines=engines)
