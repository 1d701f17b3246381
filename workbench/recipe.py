"""What was done to a model, as data: a TOML file that replays to the byte-same model. It loads no code.

version = 1
model = "det.onnx"            # what it was made from, for people

[[step]]
do = "optimize"
passes = ["default"]
opset = 17

[[step]]
do = "set-dim"                # edits too: extract, rename, prune, set-dim, inputs-to-weights, strip
dims = { batch = 1 }

[[step]]
do = "quantize"
data = "pages.npz"            # beside the recipe
preset = "balanced"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from exec.errors import OptionError
from exec.ir import Model
from exec.progress import Cancel, Progress, check, report
from exec.sidefile import read_decoded
from workbench.editsteps import ExtractStep, InputsToWeightsStep, PruneStep, RenameStep, SetDimStep, StripStep

VERSION = 1


class OptimizeStep(msgspec.Struct, tag_field="do", tag="optimize", forbid_unknown_fields=True, omit_defaults=True):
    """`optimize` with the options that change its result."""

    passes: list[str] = []
    skip: list[str] = []
    opset: int | None = None
    target: str = "portable"
    verify: bool = True


class QuantizeStep(msgspec.Struct, tag_field="do", tag="quantize", forbid_unknown_fields=True, omit_defaults=True):
    """`quantize` with its options; `data` is a path beside the recipe, or a number of generated samples."""

    mode: str = "static"
    data: str | int | None = None
    activations: str = "u8"
    weights: str = "s8"
    per_channel: bool = True
    block_size: int | None = None
    method: str = "auto"
    format: str = "qdq"
    preset: str = "balanced"
    include: list[str] = []
    exclude: list[str] = []
    ranges: dict[str, tuple[float, float]] = {}
    opset: int | None = None


class Recipe(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Ordered steps."""

    version: int = VERSION
    model: str = ""
    step: list[
        OptimizeStep
        | QuantizeStep
        | ExtractStep
        | RenameStep
        | PruneStep
        | SetDimStep
        | InputsToWeightsStep
        | StripStep
    ] = []


@dataclass(frozen=True, slots=True)
class Replay:
    """The model after all steps, and each step's report."""

    model: Model
    reports: tuple[Any, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Edited:
    """The model after an edit; the step is all there is to report."""

    model: Model
    report: Any


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe; an error names the key and what was expected there."""
    try:
        recipe = read_decoded(path, lambda data: msgspec.toml.decode(data, type=Recipe))
    except OSError as error:
        raise OptionError("the recipe cannot be read", str(path), str(error)) from error
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise OptionError(
            "this is no recipe", str(path), str(error), "`owb recipe show` prints one that works"
        ) from error
    if recipe.version != VERSION:
        raise OptionError(
            f"recipe version {recipe.version}",
            str(path),
            f"this workbench reads version {VERSION}",
            "upgrade onnx-workbench",
        )
    return recipe


def write_recipe(recipe: Recipe) -> str:
    """The TOML text of a recipe."""
    import tomli_w

    plain: dict[str, Any] = _without_none(msgspec.to_builtins(recipe))
    return tomli_w.dumps({"version": VERSION, **plain})


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    return [_without_none(v) for v in value] if isinstance(value, (list, tuple)) else value


def replay(
    recipe: Recipe,
    model: Model,
    *,
    folder: str | Path = ".",
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Replay:
    """Run the steps in order; `folder` is where the recipe lies, and no data is read from outside it.

    Each step begins as if the one before had been written to a file, so that a recipe gives the bytes its session gave.
    """
    reports: list[Any] = []
    for number, step in enumerate(recipe.step):
        check(cancel, "the recipe")
        inner = within(progress, number, recipe.step)
        report(inner, 0, 0, "begins")
        if isinstance(step, OptimizeStep):
            from passes.optimize import optimize

            done: Any = optimize(
                model, step.passes or "default", skip=step.skip, opset=step.opset, target=step.target, verify=step.verify, progress=inner, cancel=cancel
            )  # fmt: skip
        elif isinstance(step, QuantizeStep):
            from quantize.quantize import quantize

            options = {k: v for k, v in msgspec.structs.asdict(step).items() if k not in ("data", "mode")}
            done = quantize(model, step.mode, inside(Path(folder), step.data), progress=inner, cancel=cancel, **options)
        else:
            done = Edited(step.apply(model), step)
        model = done.model.snapshot().restore() if number + 1 < len(recipe.step) else done.model
        reports.append(done.report)
    return Replay(model, tuple(reports))


def within(progress: Progress | None, number: int, steps: Sequence[Any]) -> Progress | None:
    """The progress of one step, said with its place among all."""
    if progress is None:
        return None
    title = f"step {number + 1} of {len(steps)}, {steps[number].__struct_config__.tag}"

    def inner(done: int, total: int, text: str) -> None:
        progress(done, total, f"{title}: {text}")

    return inner


def inside(folder: Path, data: str | int | None) -> str | int | None:
    """A recipe's data, which lies beside it or below: also what FILE.npz:input=array names, and every file of a folder."""
    if not isinstance(data, str):
        return data
    from quantize.archives import Archive

    path, root = (folder / data).resolve(), folder.resolve()
    read = [Archive.of(str(path)).path]
    if path.is_dir():
        read += path.iterdir()
    if not all(file.resolve().is_relative_to(root) for file in (path, *read)):
        raise OptionError(
            "a recipe reads nothing outside its folder",
            data,
            f"the folder is {folder}",
            "put the data beside the recipe",
        )
    return str(path)


def recipe_of(steps: Sequence[dict[str, Any]], model: str = "") -> Recipe:
    """A recipe from the options of a history's steps; raises OptionError for a step that cannot be replayed."""
    for number, step in enumerate(steps):
        if "in_memory" in step:
            raise OptionError(
                f"step {number + 1} cannot be replayed",
                why=str(step["in_memory"]),
                hint="calibrate from a file beside the recipe",
            )
    try:
        return msgspec.convert({"version": VERSION, "model": model, "step": list(steps)}, Recipe)
    except msgspec.ValidationError as error:
        raise OptionError("this history cannot be replayed", why=str(error)) from error
