"""Where 8-bit values may begin and end, as data: one row an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exec.ir import Node

Preset = Literal["balanced", "fast", "full"]
PRESETS: tuple[Preset, ...] = ("balanced", "fast", "full")

LEAST_INTENSITY = {"balanced": 64.0, "fast": 32.0, "full": 0.0}
"""Multiply-adds per element read and written below which int8 saves nothing in a runtime (and often costs accuracy)."""

LEAST_SPATIAL = {"balanced": 100.0, "fast": 32.0, "full": 0.0}
"""The same for windows of more than one element: their many taps hide how few channels there are to sum over."""

FILL_INTENSITY = 32.0
"""What is enough between two 8-bit nodes, where a float node costs conversions on both sides."""

LEAST_SHARE = 0.02
EVEN_SHARE = 5.0
"""`balanced` leaves out a node with less than LEAST_SHARE of all multiply-adds, or, of n chosen ones, than EVEN_SHARE / n².
PP-OCR gains 1.4 to 4 dB at the same latency; where the work lies evenly on many nodes, each left out would cost two conversions."""


@dataclass(frozen=True, slots=True)
class Compute:
    """An operator whose products can be taken in 8 bits.

    weight  position of the weight
    bias    position of the bias, None when it has none
    output  whether the fused integer kernel of runtimes needs its output quantized too
    """

    weight: int
    bias: int | None
    output: bool


COMPUTE: dict[str, Compute] = {
    "Conv": Compute(weight=1, bias=2, output=True),
    "ConvTranspose": Compute(weight=1, bias=2, output=False),
    "Gemm": Compute(weight=1, bias=2, output=False),
    "MatMul": Compute(weight=1, bias=None, output=False),
}

PASS_THROUGH = frozenset((
    "MaxPool", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Identity", "Gather",
    "DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Resize",
))  # fmt: skip
"""Operators that move the values of their first input and make none: what they give has its scale."""

JOINED: dict[str, frozenset[str]] = {
    "balanced": frozenset(("Sigmoid", "Mul", "Add", "Concat")),
    "fast": frozenset(("Sigmoid", "Mul", "Add", "Concat", "LeakyRelu", "AveragePool", "GlobalAveragePool")),
    "full": frozenset(("Sigmoid", "Mul", "Add", "Concat", "LeakyRelu", "AveragePool", "GlobalAveragePool")),
}
"""Operators with an integer kernel in runtimes that join 8-bit values to 8-bit values: float between them costs two conversions."""

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


def moves(node: Node) -> bool:
    """Whether `node` only moves values; a Resize does when it takes the nearest."""
    if node.domain or node.op not in PASS_THROUGH:
        return False
    return node.op != "Resize" or node.attrs.get("mode", "nearest") in ("nearest", b"nearest")
