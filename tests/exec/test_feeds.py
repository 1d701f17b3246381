"""Inputs nobody gave: valid, repeatable, and with every assumption said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from exec.errors import FeedError, OptionError
from exec.feeds import make_feeds
from exec.ir import load
from exec.session import Session


def feeds_of(proto: Any, text: str, **options: Any) -> Any:
    weights = options.pop("weights", {})
    return make_feeds(load(proto(text, **weights)), **options)


def test_one_symbol_has_one_size_in_all_inputs(proto: Any) -> None:
    made = feeds_of(
        proto, "g (float[batch, seq, 8] x, float[batch, seq, 8] w) => (float[batch, seq, 8] y) { y = Add(x, w) }"
    )
    assert made.feeds["x"].shape == made.feeds["w"].shape
    assert set(made.sizes) == {"batch", "seq"}
    assert any("batch" in said for said in made.assumptions)


def test_the_same_seed_makes_the_same_feeds(proto: Any) -> None:
    text = "g (float[N, 4] x) => (float[N, 4] y) { y = Neg(x) }"
    first, again, other = (feeds_of(proto, text, seed=seed).feeds["x"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_samples_differ_but_have_one_shape(proto: Any) -> None:
    made = feeds_of(proto, "g (float[N, 4] x) => (float[N, 4] y) { y = Neg(x) }", count=3)
    assert len({s["x"].shape for s in made.samples}) == 1
    assert len({s["x"].tobytes() for s in made.samples}) == 3


def test_sizes_can_be_said_by_name_or_by_place(proto: Any) -> None:
    text = "g (float[N, M] x) => (float[N, M] y) { y = Neg(x) }"
    assert feeds_of(proto, text, dims={"N": 5, "M": 7}).feeds["x"].shape == (5, 7)
    model = proto("g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }")
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    assert make_feeds(load(model), dims={"x:1": 6}).feeds["x"].shape == (2, 6)


@pytest.mark.parametrize("how", ["i", "c = Cast<to = 7>(i)", "u = Unsqueeze(i, axis) c = Cast<to = 7>(u)"])
def test_ids_stay_below_the_table_they_index(how: str, proto: Any) -> None:
    body = "" if how == "i" else how
    ids = "i" if how == "i" else "c"
    text = f"g (int32[N, 9] i) => (float[A, B, 2] y) <int64[1] axis = {{0}}> {{ {body} y = Gather(w, {ids}) }}"
    made = feeds_of(proto, text, weights={"w": np.zeros((13, 2), np.float32)}, count=4)
    values = np.concatenate([s["i"].ravel() for s in made.samples])
    assert 0 <= values.min() <= values.max() < 13
    assert any("below 13" in said for said in made.assumptions)


def test_ids_of_two_tables_stay_below_the_smaller(proto: Any) -> None:
    text = "g (int64[N, 9] i) => (float[A, B, 2] y) { a = Gather(w, i) b = Gather(v, i) y = Add(a, b) }"
    made = feeds_of(proto, text, weights={"w": np.zeros((13, 2), np.float32), "v": np.zeros((5, 2), np.float32)})
    assert made.feeds["i"].max() < 5


def test_masks_positions_and_segments_are_known_by_name(proto: Any) -> None:
    text = """g (int64[B, S] attention_mask, int64[B, S] position_ids, int64[B, S] token_type_ids) => (int64[B, S] y)
        { a = Add(attention_mask, position_ids) y = Add(a, token_type_ids) }"""
    feeds = feeds_of(proto, text).feeds
    assert (feeds["attention_mask"] == 1).all()
    assert feeds["position_ids"][0].tolist() == list(range(feeds["position_ids"].shape[1]))
    assert not feeds["token_type_ids"].any()


def test_a_scalar_is_what_the_model_compares_it_with(proto: Any) -> None:
    text = """g (int64 sr, float[4] x) => (float[4] y) <int64 rate = {16000}>
        { e = Equal(sr, rate) c = Cast<to = 1>(e) y = Mul(x, c) }"""
    made = feeds_of(proto, text)
    assert made.feeds["sr"] == 16000
    assert any("16000" in said for said in made.assumptions)


def test_images_and_sounds_look_like_some(proto: Any) -> None:
    image = feeds_of(proto, "g (float[1, 3, H, W] x) => (float[1, 3, H, W] y) { y = Neg(x) }").feeds["x"]
    assert 0 <= image.min() <= image.max() <= 1
    sound = feeds_of(proto, "g (float[1, 16000] x) => (float[1, 16000] y) { y = Neg(x) }").feeds["x"]
    assert np.abs(sound).max() <= 0.1


def test_every_element_type_can_be_made(proto: Any) -> None:
    for kind in ("float16", "bfloat16", "double", "int8", "uint8", "int16", "uint64", "bool", "string", "complex64"):
        model = proto(f"g ({kind}[2, 3] x) => ({kind}[2, 3] y) {{ y = Identity(x) }}")
        made = make_feeds(load(model))
        got = Session(load(model), kernels="numpy").run(made.feeds)["y"]
        assert got.shape == (2, 3)


def test_an_input_with_a_default_is_left_to_it(proto: Any) -> None:
    model = proto("g (float[2] x, float[2] w) => (float[2] y) { y = Mul(x, w) }", w=np.ones(2, np.float32))
    assert list(make_feeds(load(model)).feeds) == ["x"]


def test_channels_come_from_the_convolution_that_reads_them(proto: Any) -> None:
    text = "g (float[N, C, H, W] x) => (float[N, M, P, Q] y) { y = Conv(x, w) }"
    made = feeds_of(proto, text, weights={"w": np.zeros((4, 6, 3, 3), np.float32)})
    assert made.feeds["x"].shape[1] == 6


def test_an_image_with_its_colours_last_is_as_high_as_wide(proto: Any) -> None:
    text = "g (float[N, H, W, 3] x) => (float[N, H, W, 3] y) { y = Neg(x) }"
    assert feeds_of(proto, text).feeds["x"].shape == (1, 224, 224, 3)


def test_sizes_the_model_does_not_take_are_tried_until_one_fits(proto: Any) -> None:
    text = "g (float[1, S] x) => (float[A, B, C] y) <int64[3] s = {1, -1, 128}> { y = Reshape(x, s) }"
    model = proto(text)
    made = make_feeds(load(model))
    assert made.feeds["x"].shape[1] % 128 == 0


def test_where_nothing_fits_the_sizes_tried_are_said(proto: Any) -> None:
    text = "g (float[1, S] x) => (float[A, B] y) <int64[2] s = {1, 7919}, int64[2] t = {1, 7907}> { u = Reshape(x, s)  y = Reshape(x, t) }"
    with pytest.raises(FeedError, match="no sizes were found that the model takes") as error:
        feeds_of(proto, text)
    assert "--dim" in error.value.hint


def test_a_table_inside_a_branch_bounds_the_ids_too(proto: Any) -> None:
    model = proto("g (int64[4] i, bool c) => (float[4, 2] y) { z = Identity(c) }", w=np.zeros((3, 2), np.float32))
    branches = [
        helper.make_graph(
            [helper.make_node("Gather", ["w", "i"], [n])], n, [], [helper.make_tensor_value_info(n, 1, [4, 2])]
        )
        for n in ("a", "b")
    ]
    model.graph.node.append(helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1]))
    made = make_feeds(load(model))
    assert made.feeds["i"].max() < 3


def test_a_batch_that_a_reshape_has_written_into_it_is_found(proto: Any) -> None:
    made = feeds_of(
        proto, "g (float[batch,4,6] x) => (float[2,4,2,3] y) <int64[4] t = {2, 4, 2, 3}> { y = Reshape (x, t) }"
    )
    assert made.feeds["x"].shape == (2, 4, 6)
    assert "batch = 2" in made.assumptions


def test_a_length_that_was_traced_into_a_list_of_sizes_is_found(proto: Any) -> None:
    made = feeds_of(
        proto,
        """ g (float[batch,length,6] x) => (float[batch,10,6] y) <int64[1] n = {10}, int64[1] six = {6}> {
            b = Shape <end = 1> (x)  t = Concat <axis = 0> (b, n, six)  y = Reshape (x, t) } """,
    )
    assert made.feeds["x"].shape[1:] == (10, 6)


def test_a_dimension_nobody_has_is_answered_with_each_name_once(proto: Any) -> None:
    with pytest.raises(OptionError) as error:
        feeds_of(
            proto,
            "g (float[batch, 3] x, float[batch, 3] z) => (float[batch, 3] y) { y = Add(x, z) }",
            dims={"batch_size": 2},
        )
    assert error.value.hint.count("batch") == 1
