"""`r` and `R` of Quantize: how numbers get smaller, and what counts as good enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tui.dialogs.options import Option, OptionsDialog

_OPTIONS = (
    Option("preset", "nodes worth it", ("balanced", "fast", "full")),
    Option("method", "ranges by", ("auto", "minmax", "percentile", "entropy", "mse")),
    Option("activations", "activations", ("u8", "s8", "u16")),
    Option("weights", "weights", ("s8", "u8")),
    Option("target_db", "target", (15.0, 20.0, 25.0, 30.0, 35.0, 40.0), lambda db: f"≥ {db:.0f} dB"),
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """Static QDQ, per channel.

    data   a file or folder of samples, "" for what the session has
    """

    preset: str = "balanced"
    method: str = "auto"
    activations: str = "u8"
    weights: str = "s8"
    target_db: float = 20.0
    data: str = ""

    def options(self) -> dict[str, object]:
        """What `quantize` takes; its defaults are left out, so that a recipe stays short."""
        given = {"preset": self.preset, "method": self.method, "activations": self.activations, "weights": self.weights}
        usual = {"preset": "balanced", "method": "auto", "activations": "u8", "weights": "s8"}
        return {k: v for k, v in given.items() if v != usual[k]}


class SchemeDialog(OptionsDialog[Scheme]):
    """Returns the scheme to rank the nodes with."""

    title_text = "Quantize B: static, QDQ, weights per channel"
    file_label = "samples: an .npz, .npy or folder of them; generated ones without"
    does = "ranks every node"

    def __init__(self, scheme: Scheme, data: str, path: str) -> None:
        super().__init__(_OPTIONS, asdict(scheme), (f"data  {data}",), path)

    def words(self, values: dict[str, Any], path: str) -> list[str]:
        chosen = Scheme(**{**values, "data": path}).options()
        given = [w for k, v in chosen.items() for w in (f"--{k}", str(v))]
        return ["owb", "sensitivity", "B", *given, *(["--data", path] if path else [])]

    def result(self, values: dict[str, Any], path: str) -> Scheme:
        return Scheme(**{**values, "data": path})
