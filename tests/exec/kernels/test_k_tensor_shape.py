"""Shapes, slices, joins and pads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
DTYPES = st.sampled_from(["float32", "float64", "int32", "int64", "uint8", "bool", "float16"])


def words(shape: tuple[int, ...]) -> Any:
    return np.array([f"w{k}" for k in range(int(np.prod(shape)))], object).reshape(shape)


@pytest.mark.parametrize(
    ("shape", "wanted", "allowzero"),
    [
        ((2, 3, 4), [4, 6], 0), ((2, 3, 4), [-1, 3], 0), ((2, 3, 4), [0, -1], 0), ((2, 3, 4), [0, 0, 2, 2], 0),
        ((0, 3), [3, 0], 1), ((2, 0, 3), [0, 0, 3], 0), ((6,), [], 0), ((1,), [], 0), ((), [1, 1], 0),
        ((0,), [-1, 2], 0),
    ],
)  # fmt: skip
def test_reshape(check: Any, shape: Any, wanted: list[int], allowzero: int) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    if wanted == [] and x.size != 1:
        with pytest.raises(ValueError):
            check("Reshape", x, np.array(wanted, np.int64), engines=[])
        return
    check("Reshape", x, np.array(wanted, np.int64), allowzero=allowzero, engines=["onnxruntime"])


def test_an_empty_batch_keeps_its_features(compute: Any) -> None:
    assert compute("Reshape", np.zeros((0, 3, 4), np.float32), np.array([0, -1]))[0].shape == (0, 12)
    assert compute("Reshape", np.zeros((2, 0, 4), np.float32), np.array([0, 0, 2, -1]))[0].shape == (2, 0, 2, 2)
    assert compute("Reshape", np.zeros((0, 6), np.float32), np.array([-1, 3]))[0].shape == (0, 3)


def test_reshape_with_an_attribute_before_opset_5(compute: Any) -> None:
    (got,) = compute("Reshape", np.zeros((2, 6), np.float32), opset=1, shape=[0, -1, 2])
    assert got.shape == (2, 3, 2)


@given(start=st.integers(-5, 5), end=st.one_of(st.none(), st.integers(-5, 5)))
def test_shape_with_start_and_end(check: Any, start: int, end: Any) -> None:
    options = {"start": start} | ({} if end is None else {"end": end})
    check("Shape", np.zeros((2, 3, 4, 5), np.float32), **options)


def test_size_and_shape_of_a_scalar(check: Any) -> None:
    check("Size", np.array(3.0, np.float32))
    check("Shape", np.array(3.0, np.float32))
    check("Size", np.zeros((0, 3), np.int64))


@pytest.mark.parametrize("axes", [[0], [-1], [0, 2], [1, -1], [0, 1, 2, 3]])
def test_unsqueeze_and_squeeze_are_inverse(check: Any, axes: list[int]) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (more,) = check("Unsqueeze", x, np.array(axes))
    (back,) = check("Squeeze", more, np.array(axes))
    assert np.array_equal(back, x)
    (old,) = check("Unsqueeze", x, axes=axes, opset=11, engines=[])
    assert old.shape == more.shape
    assert check("Squeeze", old, axes=axes, opset=11, engines=[])[0].shape == x.shape


def test_squeeze_of_every_axis_of_length_one(check: Any) -> None:
    check("Squeeze", np.zeros((1, 3, 1, 2), np.float32))


@given(rank=st.integers(0, 4), dtype=DTYPES, seed=SEEDS)
def test_transpose(check: Any, made: Any, rank: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, tuple(rng.integers(0, 4, rank)), dtype)
    if rank:
        check("Transpose", x, perm=rng.permutation(rank).tolist(), engines=["reference"])
    check("Transpose", x, engines=["reference"])


@pytest.mark.parametrize(
    ("shape", "wanted"), [((3, 1), [2, 1, 6]), ((3, 1), [1, 1]), ((), [2, 3]), ((1, 0), [3, 1]), ((2,), [1])]
)
def test_expand_both_ways(check: Any, shape: Any, wanted: list[int]) -> None:
    check("Expand", np.ones(shape, np.float32), np.array(wanted), engines=["onnxruntime"])


@pytest.mark.parametrize(
    ("shape", "repeats"), [((2, 3), [2, 1]), ((2,), [3]), ((), []), ((2, 3), [0, 2]), ((1, 2, 3), [2, 2, 2])]
)
def test_tile(check: Any, shape: Any, repeats: list[int]) -> None:
    check("Tile", np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape), np.array(repeats, np.int64))


def test_tile_with_the_wrong_number_of_repeats_says_so(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="2 repeats for 1 axes"):
        compute("Tile", np.zeros(3, np.float32), np.array([1, 2]))


BOUND = st.integers(-8, 8) | st.sampled_from([np.iinfo(np.int64).min, np.iinfo(np.int64).max, np.iinfo(np.int32).max])


@given(
    starts=st.lists(BOUND, min_size=1, max_size=2), ends=st.lists(BOUND, min_size=2, max_size=2),
    steps=st.lists(st.sampled_from([-3, -2, -1, 1, 2, 3]), min_size=2, max_size=2), axes=st.sampled_from([[0, 2], [-1, 1], [2, 0]]),
)  # fmt: skip
def test_slice_clamps_any_bound(
    check: Any, starts: list[int], ends: list[int], steps: list[int], axes: list[int]
) -> None:
    x = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
    n = len(starts)
    # going backward, onnxruntime takes the largest end for "to the start"; the specification clamps it
    backward = any(end >= 1 << 30 and step < 0 for end, step in zip(ends, steps, strict=True))
    engines = ["reference"] if backward else ["reference", "onnxruntime"]
    check("Slice", x, *(np.array(v[:n], np.int64) for v in (starts, ends, axes, steps)), engines=engines)


def test_slice_with_attributes_before_opset_10(check: Any) -> None:
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    check("Slice", x, opset=9, starts=[1, -3], ends=[-1, 1000], axes=[0, 1])
    check("Slice", x, opset=9, starts=[1], ends=[3])


def test_strings_are_sliced_joined_and_split(compute: Any) -> None:
    x = words((2, 3))
    assert compute("Slice", x, np.array([1]), np.array([3]), np.array([1]))[0].tolist() == [["w1", "w2"], ["w4", "w5"]]
    assert compute("Concat", x, x, axis=1)[0].shape == (2, 6)
    assert [part.tolist() for part in compute("Split", x, axis=1, num_outputs=2, outputs=2)] == [
        [["w0", "w1"], ["w3", "w4"]],
        [["w2"], ["w5"]],
    ]


@pytest.mark.parametrize(("length", "count"), [(6, 3), (7, 3), (2, 2), (5, 1)])
def test_split_into_equal_parts_the_last_one_smaller(check: Any, length: int, count: int) -> None:
    check(
        "Split", np.arange(length * 2, dtype=np.float32).reshape(2, length), axis=-1, num_outputs=count, outputs=count
    )


def test_split_by_lengths_in_every_version(check: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    check("Split", x, np.array([1, 0, 5]), outputs=3)
    check("Split", x, np.array([2, 4]), opset=13, outputs=2)
    check("Split", x, opset=11, split=[2, 4], outputs=2)
    check("Split", x, opset=11, outputs=3)
    check("Split", x, opset=1, split=[2, 4], outputs=2, engines=[])


def test_a_split_that_does_not_add_up_says_so(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="add up to 5, the axis has 6"):
        compute("Split", np.zeros((6, 2), np.float32), np.array([2, 3]), outputs=2)


@given(axis=st.integers(-2, 1), counts=st.lists(st.integers(0, 3), min_size=1, max_size=4), dtype=DTYPES, seed=SEEDS)
def test_concat(check: Any, made: Any, axis: int, counts: list[int], dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [made(rng, (n, 3) if axis % 2 == 0 else (3, n), dtype) for n in counts]
    check("Concat", *parts, axis=axis)


PADS = st.lists(st.integers(-1, 3), min_size=4, max_size=4)


@given(pads=PADS, mode=st.sampled_from(["constant", "edge", "reflect", "wrap"]), seed=SEEDS)
def test_pad_in_every_mode(check: Any, made: Any, pads: list[int], mode: str, seed: int) -> None:
    x = made(np.random.default_rng(seed), (2, 5, 6), "float32")
    value = [] if mode != "constant" else [np.array(1.5, np.float32)]
    amounts = [0, *pads[:2], 0, *pads[2:]]
    engines = ["reference"] if min(pads) >= 0 else []
    check("Pad", x, np.array(amounts), *value, mode=mode, engines=engines)
    if mode == "constant" or min(pads) >= 0:
        check("Pad", x, np.array(amounts), *value, mode=mode, engines=["onnxruntime"])


def test_pad_along_some_axes_and_in_old_versions(check: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    check("Pad", x, np.array([1, 2]), None, np.array([-1]), mode="edge")
    check("Pad", x, opset=10, pads=[1, 0, 0, 2], value=7.0)
    (first,) = check("Pad", x, opset=1, paddings=[1, 0, 0, 2], engines=[])
    assert first.shape == (4, 6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool", "float64"])
def test_pad_fills_with_zero_of_the_type(check: Any, made: Any, dtype: str) -> None:
    check("Pad", made(np.random.default_rng(0), (2, 3), dtype), np.array([1, 1, 0, 2]))


def test_a_pad_of_strings_fills_with_nothing(compute: Any) -> None:
    assert compute("Pad", words((2,)), np.array([1, 0]))[0].tolist() == ["", "w0", "w1"]


def test_reflection_goes_on_beyond_the_length(compute: Any) -> None:
    (got,) = compute("Pad", np.array([1.0, 2.0, 3.0], np.float32), np.array([5, 4]), mode="reflect")
    assert got.tolist() == np.pad([1.0, 2.0, 3.0], (5, 4), mode="reflect").tolist()


@pytest.mark.parametrize(
    ("shape", "wanted", "axes"), [((5, 6), [3, 9], None), ((5, 6, 3), [8, 2], [1, 2]), ((4, 4), [3], [-1])]
)
def test_center_crop_pad(check: Any, shape: Any, wanted: list[int], axes: Any) -> None:
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    check("CenterCropPad", x, np.array(wanted), **({} if axes is None else {"axes": axes}), engines=["reference"])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_and_space(check: Any, mode: str) -> None:
    x = np.arange(2 * 8 * 3 * 2, dtype=np.float32).reshape(2, 8, 3, 2)
    (wide,) = check("DepthToSpace", x, blocksize=2, mode=mode)
    (back,) = check("SpaceToDepth", wide, blocksize=2, opset=28, mode=mode, engines=[])
    assert np.array_equal(back, x)
    if mode == "DCR":
        check("SpaceToDepth", wide, blocksize=2)
