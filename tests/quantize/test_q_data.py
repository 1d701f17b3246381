"""Calibration data in every form: arrays, batches, images, functions; ranges kept for later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper, parser

from exec.errors import FeedError, OptionError, QuantizationError
from quantize.calibration import calibration
from quantize.images import Images
from quantize.observers import METHODS, Entropy, observer
from quantize.ranges import load_ranges, save_ranges, write_ranges
from quantize.samples import samples_of
from quantize.spans import COSTLY_DB
from workbench import Model, load, quantize

R = np.random.default_rng(12)


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def build(text: str, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def product(batch: str = "1") -> Model:
    return build(f"g (float[{batch},8] x) => (float[{batch},4] y) {{ y = MatMul(x, w) }}", w=f32(8, 4))


@pytest.mark.parametrize("given", ["array", "dict", "list of arrays", "npz"])
def test_a_batch_is_split_where_the_model_takes_one(given: str, tmp_path: Path) -> None:
    batch = f32(6, 8)
    np.savez(tmp_path / "x.npz", x=batch)
    data = {"array": batch, "dict": {"x": batch}, "list of arrays": list(batch[:, None]), "npz": tmp_path / "x.npz"}[
        given
    ]
    found: list[Any] = [s["x"] for s in samples_of(product(), data)]
    assert [x.shape for x in found] == [(1, 8)] * 6
    np.testing.assert_array_equal(np.concatenate(found), batch)


def test_a_batch_of_an_open_model_stays_one_sample() -> None:
    assert [np.shape(s["x"]) for s in samples_of(product("N"), [{"x": f32(6, 8)}])] == [(6, 8)]


def test_a_batch_that_does_not_divide_is_refused_with_both_shapes() -> None:
    with pytest.raises(FeedError, match="another shape"):
        quantize(product("4"), data=[{"x": f32(6, 8)}], preset="full")


def test_a_sample_of_another_type_is_refused() -> None:
    with pytest.raises(FeedError, match="dict of arrays"):
        quantize(product(), data=["x"], preset="full")


def test_a_function_of_a_module_gives_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owb_calibration_data.py").write_text(
        "import numpy as np\ndef samples():\n    for k in range(3):\n        yield {'x': np.full((1, 8), k + 1, np.float32)}\n"
    )
    monkeypatch.chdir(tmp_path)
    report = quantize(product(), data="owb_calibration_data:samples", preset="full").report
    assert (report.samples, report.tensors[0].seen) == (3, (1.0, 3.0))
    with pytest.raises(OptionError, match="has no function 'sample'"):
        quantize(product(), data="owb_calibration_data:sample")
    with pytest.raises(OptionError, match="cannot be imported"):
        quantize(product(), data="owb_no_such_module:samples")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    image = pytest.importorskip("PIL.Image")
    for k in range(3):
        image.fromarray(np.full((10, 12, 3), (10 * k, 100, 200), np.uint8)).save(tmp_path / f"{k}.png")
    return tmp_path


def picture_model(shape: str = "1,3,5,6") -> Model:
    return build(f"g (float[{shape}] x) => (float[{shape}] y) {{ y = Relu(x) }}")


def read(model: Model, data: Any) -> Any:
    return np.concatenate([np.asarray(s["x"]) for s in samples_of(model, data)])


def test_images_are_normalised_as_was_asked(pictures: Path) -> None:
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.25, 2.0)
    found = read(picture_model(), Images(pictures, mean=mean, std=std))
    assert (found.shape, found.dtype) == ((3, 3, 5, 6), np.float32)
    for channel, level in enumerate((20, 100, 200)):
        np.testing.assert_allclose(found[2, channel], (level / 255 - mean[channel]) / std[channel], rtol=1e-6)


def test_images_follow_the_layout_and_the_order_of_channels(pictures: Path) -> None:
    last = read(picture_model("1,5,6,3"), Images(pictures, color="bgr", mean=(0.0,)))
    np.testing.assert_allclose(last[0, 0, 0] * 255, (200, 100, 0), rtol=1e-6)
    gray = read(picture_model("1,1,5,6"), Images(pictures))
    assert gray.shape == (3, 1, 5, 6)


def test_images_of_an_open_size_need_one(pictures: Path) -> None:
    with pytest.raises(OptionError, match="size of input 'x' is open"):
        read(picture_model("1,3,H,W"), Images(pictures))
    assert read(picture_model("1,3,H,W"), Images(pictures, size=(7, 9))).shape == (3, 3, 7, 9)
    with pytest.raises(OptionError, match="do not fit"):
        read(picture_model(), Images(pictures, size=(7, 9)))


def test_images_that_were_only_scaled_are_a_warning(pictures: Path) -> None:
    model = build("g (float[1,3,5,6] x) => (float[1,8,5,6] y) { y = Conv(x, w) }", w=f32(8, 3, 1, 1))
    bare = quantize(model, data=str(pictures), preset="full").report
    assert [f.level for f in bare.of("Q016")] == ["warning"]
    assert not quantize(model, data=Images(pictures, mean=(0.5,)), preset="full").report.of("Q016")


def test_an_image_that_cannot_be_read_is_named(pictures: Path) -> None:
    (pictures / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    with pytest.raises(FeedError, match=r"broken\.png"):
        read(picture_model(), Images(pictures))


def heavy() -> Iterator[dict[str, Any]]:
    return ({"x": R.standard_normal((64, 8)).astype(np.float32) * k} for k in (1, 2, 3))


def test_a_calibration_is_looked_at_saved_and_used_again(tmp_path: Path) -> None:
    model = product("N")
    data = list(heavy())
    found = calibration(model, data, preset="full", method="percentile")
    value = found.tensors[0]
    assert (found.samples, value.name) == (3, "x")
    assert sum(value.picture) == sum(d["x"].size for d in data)
    assert value.seen[0] <= value.low < value.high <= value.seen[1]
    write_ranges(found.tensors, tmp_path / "ranges.json", found.method, found.data)
    assert load_ranges(tmp_path / "ranges.json") == {"x": (value.low, value.high)}
    again = quantize(model, data=[{"x": f32(2, 8)}], preset="full", ranges=tmp_path / "ranges.json").report
    assert (again.tensors[0].low, again.tensors[0].high, again.tensors[0].samples) == (value.low, value.high, 0)


@pytest.mark.parametrize("name", ["X", "x_0", "w2"])
def test_a_range_of_no_value_is_an_error(name: str) -> None:
    with pytest.raises(OptionError, match="no value"):
        quantize(product(), data=[{"x": f32(1, 8)}], preset="full", ranges={name: (-1.0, 1.0)})


@pytest.mark.parametrize("method", ["auto", "percentile", "entropy", "mse", "minmax", "moving-average"])
def test_infinities_do_not_count_and_nothing_seen_is_said(method: str) -> None:
    report = quantize(product(), data=[{"x": np.full((1, 8), np.inf, np.float32)}], preset="full", method=method).report
    assert {"Q012", "Q013"} <= {f.code for f in report.findings}


CURVES = {
    "relu": lambda x: np.maximum(x, 0),
    "rare": lambda x: np.maximum(x - 1, 0),
    "plain": lambda x: x,
    "swish": lambda x: x / (1 + np.exp(-x)),
    "squared": lambda x: np.maximum(x, 0) ** 2,
}


@pytest.mark.parametrize("curve", CURVES)
def test_entropy_keeps_about_what_the_whole_range_keeps_however_many_zeros_there_are(curve: str) -> None:
    watcher = Entropy()
    for _ in range(4):
        watcher.see(CURVES[curve](f32(50_000)).astype(np.float32))
    low, high = watcher.range()
    kept, whole = watcher.sqnr_db(low, high, 255), watcher.sqnr_db(watcher.seen.low, watcher.seen.high, 255)
    assert kept is not None
    assert whole is not None
    assert kept > whole - COSTLY_DB


@pytest.mark.parametrize(("method", "is_said"), [("percentile", True), ("minmax", False), ("auto", False)])
def test_a_range_cut_so_that_much_is_lost_is_a_finding(method: str, is_said: bool) -> None:
    data = [{"x": f32(4096, 8)} for _ in range(8)]
    for sample in data:
        sample["x"][0, 0] = 60.0
    report = quantize(product("N"), data=data, preset="full", method=method).report
    assert [f.node for f in report.of("Q015")] == (["x"] if is_said else [])


def picture(names: str = "image") -> Model:
    return build(f"g (float[N,1,4,4] {names}) => (float[N,8,4,4] y) {{ y = Conv({names}, w) }}", w=f32(8, 1, 1, 1))


def test_the_only_array_that_fits_is_taken_and_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", pictures=f32(5, 1, 4, 4), labels=np.arange(5), turned=f32(5, 4, 4, 1))
    found = samples_of(picture(), tmp_path / "x.npz")
    assert len(list(found)) == 5
    assert found.source == "x.npz (pictures as image), 5 samples"


@pytest.mark.parametrize("name", ["calibration_images", "train_x"])
def test_of_several_that_fit_the_one_for_calibration_is_taken(name: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **{"heldout": f32(3, 1, 4, 4), name: f32(5, 1, 4, 4)})
    assert len(list(samples_of(picture(), tmp_path / "x.npz"))) == 5


def test_arrays_are_mapped_by_hand(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=f32(3, 1, 4, 4), b=f32(5, 1, 4, 4))
    assert len(list(samples_of(picture(), f"{tmp_path}/x.npz:image=b"))) == 5


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ("", "2 arrays fit it: a, b"),
        (":image=c", "no array 'c'"),
        (":img=a", "no input 'img'"),
        (":image=", "no array ''"),
    ],
)
def test_arrays_that_cannot_be_told_apart_or_found_are_named(mapping: str, says: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=f32(3, 1, 4, 4), b=f32(5, 1, 4, 4))
    with pytest.raises(FeedError, match=says):
        samples_of(picture(), f"{tmp_path}/x.npz{mapping}")


def test_arrays_of_other_shapes_are_listed_with_theirs(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=f32(3, 4, 4, 1), labels=np.arange(3))
    with pytest.raises(FeedError, match=r"a float32\[3, 4, 4, 1\], labels int64\[3\]"):
        samples_of(picture(), tmp_path / "x.npz")


@pytest.mark.parametrize("mode", ["static", "dynamic", "weight-only"])
def test_a_sample_without_elements_is_refused(mode: str) -> None:
    with pytest.raises(QuantizationError, match="calibration sample 1 has no element"):
        quantize(picture(), mode, [{"image": f32(2, 1, 4, 4)}, {"image": f32(0, 1, 4, 4)}], preset="full")


def test_the_report_says_where_given_ranges_are_from(tmp_path: Path) -> None:
    model, data = product(), f32(6, 8)
    first = quantize(model, data=data, preset="full").report
    save_ranges(first, tmp_path / "r.json")
    again = quantize(model, data=data, preset="full", ranges=tmp_path / "r.json").report
    assert again.data == "ranges of r.json (auto; an array of 6); judged on an array of 6"
    bare = quantize(model, preset="full", ranges=tmp_path / "r.json").report
    assert bare.data.startswith("ranges of r.json (auto; an array of 6); judged on 16 generated")
    assert {f.code for f in bare.findings} & {"Q001", "Q017"} == {"Q017"}
    assert bare.tensors[0].scale == first.tensors[0].scale


def test_ranges_for_some_values_leave_the_others_to_the_samples() -> None:
    model = build(
        "g (float[1,8] x) => (float[1,4] y) { a = MatMul(x, w) r = Relu(a) y = MatMul(r, v) }", w=f32(8, 8), v=f32(8, 4)
    )
    report = quantize(model, preset="full", ranges={"x": (-3.0, 3.0)}).report
    assert report.data.startswith("ranges given by the caller, 1 more measured on 16 generated")
    assert report.of("Q001")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("top", [1e-44, 2e-38, 1e-36, 1e-34, 1.0])
def test_values_as_small_as_float32_has_them_get_a_range(method: str, top: float) -> None:
    watcher = observer(method)
    for _ in range(3):
        watcher.see((f32(1000).clip(-3, 3) / 3 * top).astype(np.float32))
    low, high = watcher.range()
    assert -top * 1.001 <= low <= 0 <= high <= top * 1.001
    assert watcher.seen.elements == 3000
