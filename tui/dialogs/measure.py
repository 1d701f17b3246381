"""`R` of Profile and of Compare: what runs, how often, on which inputs, and what counts as equal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tui.dialogs.options import Option, OptionsDialog
from tui.numbers import number

ENGINES = ("embedded", "onnxruntime")
_SIZES = (None, 1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 224, 256, 320, 384, 448, 512, 640, 800, 960, 1024, 1280)
_INPUTS = "inputs from an .npz or .npy file; made from a seed without"


@dataclass(frozen=True, slots=True)
class Measuring:
    """How to measure.

    dims    (symbol, size); those not named get the usual ones
    inputs  a file with the inputs, "" for those made from a seed
    """

    engine: str = "embedded"
    runs: int = 12
    threads: int = 1
    dims: tuple[tuple[str, int], ...] = ()
    inputs: str = ""


@dataclass(frozen=True, slots=True)
class Comparing:
    """What counts as equal, a share of a value's range, None for what the change allows; and a file with the inputs."""

    tolerance: float | None = None
    inputs: str = ""


class MeasureDialog(OptionsDialog[Measuring]):
    """Returns the options to run with."""

    title_text = "Measure"
    file_label = _INPUTS
    does = "runs"

    def __init__(self, given: Measuring, symbols: Sequence[str], slot: str = "A") -> None:
        threads = tuple(sorted({1, 2, 4, 8, os.cpu_count() or 1, given.threads} - set(range((os.cpu_count() or 1) + 1, 9))))  # fmt: skip
        known, self.slot = dict(given.dims), slot
        options = (
            Option("engine", "engine", ENGINES),
            Option("runs", "runs", tuple(sorted({3, 6, 12, 25, 50, 100, 200, given.runs}))),
            Option("threads", "threads", threads),
            *(Option(f"dim {s}", s, _SIZES, lambda size: "as usual" if size is None else str(size)) for s in symbols),
        )
        values = {**asdict(given), **{f"dim {s}": known.get(s) for s in symbols}}
        super().__init__(options, values, ("one thread compares best",), given.inputs)

    def words(self, values: dict[str, Any], path: str) -> list[str]:
        sizes = [f"{k.removeprefix('dim ')}={v}" for k, v in values.items() if k.startswith("dim ") and v is not None]
        given = ["--engine", values["engine"], "--runs", str(values["runs"]), "--threads", str(values["threads"])]
        return ["owb", "profile", self.slot, *given, *(w for s in sizes for w in ("--dim", s)), *(["--inputs", path] if path else [])]  # fmt: skip

    def result(self, values: dict[str, Any], path: str) -> Measuring:
        sizes = {k.removeprefix("dim "): v for k, v in values.items() if k.startswith("dim ") and v is not None}
        return Measuring(values["engine"], values["runs"], values["threads"], tuple(sizes.items()), path)


class CompareDialog(OptionsDialog[Comparing]):
    """Returns what to compare with."""

    title_text = "Compare A and B"
    file_label = _INPUTS
    does = "compares"

    def __init__(self, given: Comparing) -> None:
        limits = (None, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)

        def show(limit: float | None) -> str:
            return "what the change allows" if limit is None else f"{number(limit, '.0e')} of the range"

        super().__init__((Option("tolerance", "counts as equal", limits, show),), asdict(given), (), given.inputs)

    def words(self, values: dict[str, Any], path: str) -> list[str]:
        limit = values["tolerance"]
        return ["owb", "compare", "A", "B", *(["--max-error", f"{limit:g}"] if limit is not None else []), *(["--inputs", path] if path else [])]  # fmt: skip

    def result(self, values: dict[str, Any], path: str) -> Comparing:
        return Comparing(values["tolerance"], path)
