"""Where 8-bit values may begin and end, as data: one row an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Preset = Literal["balanced", "fast", "full"]
PRESETS: tuple[Preset, ...] = ("balanced", "fast", "full")

LEAST_INTENSITY = {"balanced": 64.0, "fast": 32.0, "full": 0.0}
"""Multiply-adds per element read and written below which int8 saves nothing in a runtime (and often costs accuracy)."""


@dataclass(frozen=True, slots=True)
class Compute:
    """An operator whose products can be taken in 8 bits.

    weight  position of the weight, axis of its output channels (None: asked of the node)
    bias    position of the bias, None when it has none
    output  whether the fused integer kernel of runtimes needs its output quantized too
    """

    weight: int
    axis: int | None
    bias: int | None
    output: bool


COMPUTE: dict[str, Compute] = {
    "Conv": Compute(weight=1, axis=0, bias=2, output=True),
    "ConvTranspose": Compute(weight=1, axis=1, bias=2, output=False),
    "Gemm": Compute(weight=1, axis=None, bias=2, output=False),
    "MatMul": Compute(weight=1, axis=-1, bias=None, output=False),
}

PASS_THROUGH: dict[str, tuple[int, ...]] = {
    "MaxPool": (0,), "Reshape": (0,), "Transpose": (0,), "Flatten": (0,), "Squeeze": (0,), "Unsqueeze": (0,), "Slice": (0,), "Identity": (0,),
    "Gather": (0,), "DepthToSpace": (0,), "SpaceToDepth": (0,), "Expand": (0,), "Tile": (0,),
}  # fmt: skip
"""Operators that move values and make none: their output has the scale of the inputs named here."""

CLAMPS = ("Relu", "Clip")
"""Activations that only cut a range: the value is quantized after them, and a runtime removes them when the zero point says the same."""

FIXED_RANGES: dict[str, tuple[float, float]] = {
    "Softmax": (0.0, 1.0),
    "Sigmoid": (0.0, 1.0),
    "HardSigmoid": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
}
"""Outputs whose range is known without looking."""

READER_FLOORS: dict[str, float] = {"HardSwish": -3.0, "Relu": 0.0}
"""Below this an input of the operator makes no difference: a range may be cut there when nothing else reads the value."""
