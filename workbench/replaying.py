"""Steps done again in a session: those of a recipe, or of the last time the file was open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from exec.progress import Cancel, Progress, check, report
from workbench.bench import Bench
from workbench.recipe import OptimizeStep, QuantizeStep, inside, within


def do_again(
    bench: Bench, steps: Sequence[Any], *, folder: Path | None = None, progress: Progress | None = None, cancel: Cancel | None = None
) -> int:  # fmt: skip
    """Do a recipe's steps on B, each a step of the history; how many were done.

    folder  where the recipe lies: its data is read from there and from nowhere else; None takes data as it was recorded
    """
    for number, step in enumerate(steps):
        check(cancel, "the recipe")
        inner = within(progress, number, steps)
        report(inner, 0, 0, "begins")
        given = msgspec.structs.asdict(step)
        if isinstance(step, OptimizeStep):
            passes = given.pop("passes") or ["default"]
            bench.optimize(passes[0] if len(passes) == 1 else passes, progress=inner, cancel=cancel, **given)
        elif isinstance(step, QuantizeStep):
            data = given.pop("data")
            if data is not None:
                bench.data = inside(folder, data) if folder is not None else data
            usual = msgspec.structs.asdict(QuantizeStep())
            bench.quantize(progress=inner, cancel=cancel, **{k: v for k, v in given.items() if v != usual[k]})
        else:
            bench.edit(step)
    return len(steps)
