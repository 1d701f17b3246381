"""A recipe is data, and replays to the byte-same model."""

from __future__ import annotations

from pathlib import Path

import pytest

from exec.errors import OptionError
from workbench import load
from workbench.bench import Bench
from workbench.cli.start import run
from workbench.recipe import OptimizeStep, QuantizeStep, Recipe, read_recipe, replay, write_recipe
from workbench.samples import sample

CNN = sample("digits_cnn.onnx")


def test_a_recipe_survives_its_text(tmp_path: Path) -> None:
    recipe = Recipe(
        model="m.onnx",
        step=[
            OptimizeStep(passes=["default"], opset=17),
            QuantizeStep(data=4, exclude=["op:Gemm"], ranges={"x": (0.0, 1.5)}),
        ],
    )
    path = tmp_path / "r.toml"
    path.write_text(write_recipe(recipe))
    assert read_recipe(path) == recipe


def test_what_was_done_by_hand_replays_to_the_same_bytes(tmp_path: Path) -> None:
    bench = Bench(CNN, data=4)
    bench.optimize(["fuse-conv-bn"])
    bench.optimize("default")
    bench.quantize()
    bench.save(tmp_path / "by_hand.onnx")
    bench.save_recipe(tmp_path / "r.toml")
    assert run(["recipe", "run", str(tmp_path / "r.toml"), str(CNN), "-o", str(tmp_path / "replayed.onnx")]) == 0
    assert (tmp_path / "by_hand.onnx").read_bytes() == (tmp_path / "replayed.onnx").read_bytes()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version = 1\n[[step]]\ndo = 'format-disk'\n", "format-disk"),
        ("version = 1\n[[step]]\ndo = 'optimize'\npases = []\n", "pases"),
        ("version = 1\n[[step]]\ndo = 'optimize'\npasses = 3\n", "array"),
        ("not toml", "Expected"),
        ("version = 99\n", "version 99"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(OptionError) as caught:
        read_recipe(path)
    assert reason in f"{caught.value.what} {caught.value.why}"


def test_a_recipe_reads_nothing_outside_its_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        replay(Recipe(step=[QuantizeStep(data="../secret.npz")]), load(CNN), folder=tmp_path)
    assert "outside its folder" in caught.value.what
