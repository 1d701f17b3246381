"""A recipe as the command lines, or the Python, that do the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from workbench.editsteps import command_of
from workbench.recipe import OptimizeStep, QuantizeStep, Recipe

_FLAGS = {"format": "operators", "block_size": "block-size"}
"""What an option is called where the step calls it otherwise."""

_WITHOUT_OPTION = ("ranges", "opset")
"""What a quantize step may say and `owb quantize` has no option for."""


def command_lines(steps: Sequence[Any], source: str, target: str) -> list[str]:
    """A line for each step, from `source` to `target`, which stand as a shell takes them; what has no option is a remark."""
    lines: list[str] = []
    for number, step in enumerate(steps, 1):
        out = target if number == len(steps) else f"step{number}.onnx"
        if isinstance(step, (OptimizeStep, QuantizeStep)):
            given = dict(_changed(step))
            lines += [f"# {n}: `owb recipe run` takes it, no option does" for n in _WITHOUT_OPTION if n in given and isinstance(step, QuantizeStep)]  # fmt: skip
            lines.append(command_line(str(step.__struct_config__.tag), given, source, out))
        else:
            lines.append(command_of(step, source, out))
        source = out
    return lines


def command_line(command: str, options: Mapping[str, Any], source: str, target: str) -> str:
    """`owb optimize` or `owb quantize` with a step's options."""
    return " ".join(["owb", command, source, *map(shlex.quote, _words(command, options)), "-o", target])


def python_lines(recipe: Recipe, source: str, target: str) -> list[str]:
    """A script that loads `source` and saves `target`; each step begins as if the one before had been written to a file."""
    edits = sorted({type(s).__name__ for s in recipe.step if not isinstance(s, (OptimizeStep, QuantizeStep))})
    lines = ["import workbench as wb"]
    lines += [f"from workbench.editsteps import {', '.join(edits)}"] if edits else []
    lines += ["from workbench.saving import save_result", "", f"model = wb.load({source!r})"]
    for number, step in enumerate(recipe.step):
        if number:
            lines.append("model = model.snapshot().restore()")
        if isinstance(step, (OptimizeStep, QuantizeStep)):
            given = "".join(f", {name}={value!r}" for name, value in _changed(step))
            lines.append(f"model = wb.{step.__struct_config__.tag}(model{given}).model")
        else:
            lines.append(f"model = {step!r}.apply(model)")
    return [*lines, f"save_result(model, {target!r})"]


def _changed(step: OptimizeStep | QuantizeStep) -> Iterator[tuple[str, Any]]:
    """What a step says beyond the defaults."""
    usual = type(step)()
    for name, value in msgspec.structs.asdict(step).items():
        if value != getattr(usual, name):
            yield name, value


def _words(command: str, options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if command == "quantize" and name in _WITHOUT_OPTION:
            continue
        if isinstance(value, bool):
            yield from {"verify": ["--no-verify"], "per_channel": ["--per-tensor"]}.get(name, []) if not value else []
        elif name == "data" and isinstance(value, int):
            yield from ("--samples", str(value))
        elif value is not None:
            yield f"--{_FLAGS.get(name, name)}"
            yield ",".join(value) if isinstance(value, (list, tuple)) else str(value)
