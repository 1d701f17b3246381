"""Kernels of installed packages: loaded when they are named, and only then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import numpy as np
import onnx
import pytest

from workbench import plugins
from workbench.cli.group import owb
from workbench.cli.start import run

CODE = '''
from exec.kernels.registry import kernel


@kernel("Twice", domain="my.package")
def twice(x, /):
    """2·x."""
    return x + x
'''
MODEL = """<ir_version: 10, opset_import: ["" : 21, "my.package" : 1]>
g (float[3] x) => (float[3] y) { [two] y = my.package.Twice(x) }"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a model with an operator that a package brings."""
    (tmp_path / "my_kernels_package.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("mine", "my_kernels_package", "workbench.kernels")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == "workbench.kernels" else [])
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return str(path)


def test_a_package_is_loaded_when_it_is_named(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, made = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(given, x=np.arange(3, dtype=np.float32))
    assert run(["run", model, "--inputs", str(given)]) == 2
    said = capsys.readouterr().err
    assert "my.package::Twice" in said
    assert "--ort-library" in said
    assert "my_kernels_package" not in sys.modules
    assert run(["run", model, "--inputs", str(given), "--kernels", "mine", "--save-outputs", str(made)]) == 0
    assert np.load(made)["y"].tolist() == [0, 2, 4]


def test_a_name_nobody_has_is_an_error_that_says_what_there_is(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", model, "--kernels", "elsewhere"]) == 2
    assert "no kernels called 'elsewhere'" in capsys.readouterr().err


def _leaves(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            inner = click.Context(found, parent=context, info_name=name)
            yield from _leaves(found, inner)
    else:
        yield context.command_path, command


def test_every_command_that_runs_models_takes_kernels_as_the_error_says() -> None:
    without = [
        path
        for path, command in _leaves(owb, click.Context(owb, info_name="owb"))
        if (options := {flag for p in command.params for flag in p.opts}) >= {"--max-memory"}
        and "--kernels" not in options
    ]
    assert without == []


def test_kernels_of_ones_own_serve_in_quantize(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CODE.replace("my.package", "my.file"))
    model, out = tmp_path / "m.onnx", tmp_path / "q.onnx"
    text = MODEL.replace("my.package", "my.file").replace("float[3]", "float[8,8]").replace("[two] y", "[two] t")
    weights = ", ".join(["0.5"] * 64)
    text = text.replace("}", f"w = Constant<value = float[8,8] {{{weights}}}>()  y = MatMul(t, w) }}")
    onnx.save(onnx.parser.parse_model(text), model)
    assert (
        run(["quantize", str(model), "-o", str(out), "--preset", "full", "--kernels", str(tmp_path / "mine.py")]) == 0
    )
    assert "DequantizeLinear" in {n.op_type for n in onnx.load(out).graph.node}
