"""Strings, images, boxes and optimizer steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exec.errors import ExecutionError


def words(*texts: str) -> Any:
    return np.array(texts, object)


def test_strings_are_joined_by_broadcast(compute: Any) -> None:
    (got,) = compute("StringConcat", words("a", "b").reshape(2, 1), words("x", "", "z"))
    assert got.tolist() == [["ax", "a", "az"], ["bx", "b", "bz"]]
    (one,) = compute("StringConcat", np.array("a", object), np.array("b", object))
    assert (one.shape, one.item()) == ((), "ab")


def test_strings_are_split_and_filled_up(compute: Any) -> None:
    parts, counts = compute("StringSplit", words("a b", "  c ", ""), outputs=2)
    assert parts.tolist() == [["a", "b"], ["c", ""], ["", ""]]
    assert counts.tolist() == [2, 1, 0]
    parts, counts = compute("StringSplit", words("a,,b", "c"), delimiter=",", maxsplit=1, outputs=2)
    assert parts.tolist() == [["a", ",b"], ["c", ""]]
    parts, counts = compute("StringSplit", np.zeros((2, 0), object), outputs=2)
    assert (parts.shape, counts.shape) == ((2, 0, 0), (2, 0))


@pytest.mark.parametrize(("action", "kept"), [("NONE", "Sunday"), ("LOWER", "sunday"), ("UPPER", "SUNDAY")])
@pytest.mark.parametrize("shape", [(-1,), (1, -1)])
def test_stop_words_are_dropped(compute: Any, action: str, kept: str, shape: tuple[int, ...]) -> None:
    options = {"case_change_action": action, "stopwords": ["monday", "Friday"]}
    x = words("Monday", "monday", "friday", "Sunday").reshape(shape)
    assert compute("StringNormalizer", x, **options)[0].reshape(-1).tolist() == [kept]
    (strict,) = compute("StringNormalizer", x, is_case_sensitive=1, **options)
    assert [text.lower() for text in strict.reshape(-1)] == ["monday", "friday", "sunday"]
    (none,) = compute("StringNormalizer", words("monday").reshape(shape), **options)
    assert none.reshape(-1).tolist() == [""]
    assert none.ndim == len(shape)


def test_a_matrix_of_strings_is_not_normalized(compute: Any) -> None:
    with pytest.raises(ExecutionError, match=r"takes shape \[C\] or \[1, C\]"):
        compute("StringNormalizer", words("a", "b").reshape(2, 1))


def test_a_pattern_matches_the_whole_string(check: Any) -> None:
    x = words("www.google.com", "google.com", "www.google.org", "").reshape(2, 2)
    check("RegexFullMatch", x, pattern=r"www\.[\w.-]+\.\bcom\b")
    with pytest.raises(ExecutionError, match="no regular expression"):
        check("RegexFullMatch", x, pattern="(", engines=[])


@pytest.mark.parametrize("pixels", ["RGB", "BGR", "Grayscale"])
@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF"])
def test_an_image_is_decoded(compute: Any, pixels: str, kind: str) -> None:
    image_module = pytest.importorskip("PIL.Image")
    import io

    x = np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    stream = io.BytesIO()
    image_module.fromarray(x).save(stream, kind)
    (got,) = compute("ImageDecoder", np.frombuffer(stream.getvalue(), np.uint8), pixel_format=pixels)
    if pixels == "Grayscale":
        assert got.shape == (4, 5, 1)
    else:
        assert np.array_equal(got, x if pixels == "RGB" else x[:, :, ::-1])


def test_bytes_that_are_no_image_are_refused(compute: Any) -> None:
    pytest.importorskip("PIL.Image")
    with pytest.raises(ExecutionError, match="no image"):
        compute("ImageDecoder", np.frombuffer(b"not an image at all", np.uint8))


@pytest.mark.parametrize("centred", [0, 1])
@pytest.mark.parametrize(("most", "overlap", "score"), [(3, 0.5, 0.0), (100, 0.3, 0.4), (2, 0.0, 0.6), (0, 0.5, 0.0)])
def test_boxes_that_overlap_a_better_one_are_dropped(
    check: Any, centred: int, most: int, overlap: float, score: float
) -> None:
    rng = np.random.default_rng(0)
    boxes, scores = rng.random((2, 40, 4), dtype=np.float32), rng.random((2, 3, 40), dtype=np.float32)
    limits = [np.array([most], np.int64), np.array([overlap], np.float32), np.array([score], np.float32)]
    check("NonMaxSuppression", boxes, scores, *limits, center_point_box=centred, engines=["onnxruntime"])


def test_without_a_limit_no_box_is_chosen(compute: Any) -> None:
    (got,) = compute("NonMaxSuppression", np.zeros((1, 2, 4), np.float32), np.zeros((1, 1, 2), np.float32))
    assert (got.shape, got.dtype) == ((0, 3), np.int64)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sampling", [0, 2])
@pytest.mark.parametrize("transform", ["half_pixel", "output_half_pixel"])
def test_regions_are_pooled(check: Any, made: Any, mode: str, sampling: int, transform: str) -> None:
    rng = np.random.default_rng(0)
    x = made(rng, (2, 3, 10, 12), "float32")
    corner, size = rng.random((5, 2)) * 14 - 2, rng.random((5, 2)) * 8
    rois = np.concatenate((corner, corner + size), 1).astype(np.float32)
    options = {"mode": mode, "output_height": 3, "output_width": 2, "sampling_ratio": sampling, "spatial_scale": 0.8}
    check(
        "RoiAlign",
        x,
        rois,
        np.array([0, 1, 1, 0, 1]),
        coordinate_transformation_mode=transform,
        **options,
    )
    if transform == "output_half_pixel":
        check("RoiAlign", x, rois, np.array([0, 1, 1, 0, 1]), opset=10, **options, engines=["onnxruntime"])


DOMAIN = "ai.onnx.preview.training"
STEPS = [
    ("Adagrad", 3, {"decay_factor": 0.1, "norm_coefficient": 0.01}),
    ("Adam", 4, {"norm_coefficient": 0.01, "norm_coefficient_post": 0.02}),
    ("Momentum", 3, {"alpha": 0.9, "beta": 0.8, "mode": "standard", "norm_coefficient": 0.01}),
    ("Momentum", 3, {"alpha": 0.9, "beta": 0.8, "mode": "nesterov", "norm_coefficient": 0.01}),
]


@pytest.mark.parametrize(("op", "kinds", "options"), STEPS, ids=["Adagrad", "Adam", "Momentum", "Nesterov"])
@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("tensors", [1, 2])
def test_an_optimizer_step(check: Any, op: str, kinds: int, options: dict[str, Any], count: int, tensors: int) -> None:
    if op == "Adam" and count and tensors == 1:
        pytest.skip("onnx.reference answers in float64")
    rng = np.random.default_rng(0)
    given = [rng.random((2, 3), dtype=np.float32) for _ in range(kinds * tensors)]
    check(
        op, np.array(0.1, np.float32), np.array(count), *given, domain=DOMAIN, opset=1, outputs=(kinds - 1) * tensors,
        engines=["reference"], **options,
    )  # fmt: skip
