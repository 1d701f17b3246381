"""`R` of Passes: which rules, for which opset and runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tui.dialogs.options import Option, OptionsDialog

PRESETS = ("safe", "default", "aggressive")
TARGETS = ("portable", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Optimizing:
    """What `optimize` takes beside its rules; an opset of None is the model's own."""

    preset: str = "default"
    opset: int | None = None
    target: str = "portable"
    verify: bool = True

    def options(self) -> dict[str, Any]:
        """Those that are not as usual, so that a recipe stays short."""
        usual = asdict(Optimizing())
        return {k: v for k, v in asdict(self).items() if k != "preset" and v != usual[k]}


class OptimizeDialog(OptionsDialog[Optimizing]):
    """Returns the options to apply a preset with."""

    title_text = "Apply a preset to B"
    does = "applies"

    def __init__(self, given: Optimizing, opset: int, opsets: Sequence[int]) -> None:
        options = (
            Option("preset", "rules", PRESETS),
            Option("opset", "opset", (None, *(n for n in opsets if n > opset)), lambda n: f"{opset}, as it is" if n is None else f"{opset} → {n}"),
            Option("target", "runs in", TARGETS),
            Option("verify", "verified", (True, False), lambda on: "against the original" if on else "not at all"),
        )  # fmt: skip
        values = asdict(given)
        if values["opset"] is not None and values["opset"] <= opset:
            values["opset"] = None
        about = ("newer opsets have operators that rules fuse into: d on a refused rule tells",)
        super().__init__(options, values, about)

    def result(self, values: dict[str, Any], path: str) -> Optimizing:
        return Optimizing(**values)
