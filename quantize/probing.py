"""What each value costs: one rounded to 8 bits at a time, all else float, judged before a last Softmax.

One session serves all: a value is rounded where it lies as soon as its node has made it, and its readers see the rounded one.
No model is built and none is planned for a value, so that a pass over a sample is all it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.ir import Constant, Variable
from exec.progress import Cancel, Progress, check, report
from exec.session import Session
from quantize.choose import Choice
from quantize.numerics import dequantize, quantize
from quantize.observing import KERNELS
from quantize.placement import JOINED, moves
from quantize.quality import Judge, decibels
from quantize.regions import region_of
from quantize.report import OutputQuality
from quantize.spans import Span
from quantize.static import Measured

Change = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class TensorSensitivity:
    """One value's share of the noise.

    op          that makes it, "" of an input
    sqnr_db     of the worst output with this value alone in 8 bits
    outputs     all of them, compared before a last Softmax
    kept_db     SQNR of the value itself, on the samples judged by
    is_default  whether it is in 8 bits with the preset
    """

    name: str
    op: str
    sqnr_db: float
    outputs: tuple[OutputQuality, ...]
    kept_db: float
    low: float
    high: float
    is_default: bool


@dataclass
class Prober:
    """The float model of a measurement, run with one value changed."""

    measured: Measured
    judge: Judge

    def __post_init__(self) -> None:
        self._session = Session(self.measured.model, kernels=KERNELS)

    def outputs(self, changes: Mapping[str, Change]) -> tuple[tuple[OutputQuality, ...], float]:
        """The outputs with `changes` made to values, and the SQNR of these values themselves."""
        signal = noise = 0.0

        def changed(name: str, value: Value) -> Array | None:
            nonlocal signal, noise
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.flags.writeable:
                return None
            new = changes[name](value)
            signal += float(np.square(value, dtype=np.float64).sum())
            noise += float(np.square(value - new, dtype=np.float64).sum())
            return new

        def hook(_node: Any, made: Mapping[str, Value]) -> None:
            for name in made.keys() & changes.keys():
                new = changed(name, made[name])
                if new is not None:
                    made[name][...] = new

        found = []
        for sample in self.judge.samples:
            feeds = dict(sample)
            for name in feeds.keys() & changes.keys():
                new = changed(name, np.array(feeds[name]))
                feeds[name] = feeds[name] if new is None else new
            found.append(self._session.run(feeds, list(self.judge.wanted), hook=hook))
        return self.judge.compared(found), decibels(signal, noise)


def rounding(span: Span, activations: str) -> Change:
    """To integers and back."""
    how = span.params(activations)
    return lambda value: dequantize(quantize(value, how), how)


def blurring(weight_db: float) -> Change:
    """Noise of that SQNR, as a rounded weight leaves in what its node makes; the same in every run."""

    def change(value: Array) -> Array:
        power = float(np.square(value, dtype=np.float64).mean()) if value.size else 0.0
        size = math.sqrt(power) * 10.0 ** (-weight_db / 20.0)
        noise = np.asarray(np.random.default_rng(0).standard_normal(size=value.shape, dtype=np.float32))
        blurred: Array = value + np.float32(size) * noise
        return blurred

    return change


def values_of(measured: Measured, chosen: Sequence[Choice]) -> dict[str, Variable]:
    """Values with a scale of their own when these nodes are in 8 bits."""
    joining = JOINED[measured.options.preset]
    return region_of(measured.model.graph, chosen, joining, measured.chosen.left).values


def place_of(tensor: Variable) -> Variable:
    """The value before what only moves it: behind, its memory may be shared with values other nodes read."""
    while tensor.inputs and moves(tensor.inputs[0]) and not isinstance(tensor.inputs[0].inputs[0], Constant):
        tensor = tensor.inputs[0].inputs[0]
    return tensor


def ranked_values(
    measured: Measured, judge: Judge, *, progress: Progress | None = None, cancel: Cancel | None = None
) -> tuple[TensorSensitivity, ...]:
    """Each value alone in 8 bits, of all that may be, the most harmful first."""
    default = values_of(measured, measured.chosen.taken)
    wanted = {**values_of(measured, measured.chosen.possible), **default}
    order = {t.name: k for k, n in enumerate(measured.model.graph.nodes) for t in n.outputs}
    prober, activations = Prober(measured, judge), measured.options.activations
    rows: list[TensorSensitivity] = []
    for number, name in enumerate(sorted(wanted, key=lambda n: order.get(n, -1))):
        check(cancel, "the sensitivity analysis")
        report(progress, number, len(wanted), name)
        tensor, span = wanted[name], measured.spans[name]
        outputs, kept = prober.outputs({place_of(tensor).name: rounding(span, activations)})
        worst = min((o.sqnr_db for o in outputs), default=math.inf)
        op = tensor.inputs[0].op if tensor.inputs else ""
        rows.append(TensorSensitivity(name, op, worst, outputs, kept, span.low, span.high, name in default))
    return tuple(sorted(rows, key=lambda row: row.sqnr_db))


def leader_of(tensor: Variable, known: Collection[str]) -> str:
    """The value a gate like x·Sigmoid(x) is made of: the three are in 8 bits together, or nearly always."""
    at = tensor
    while at.inputs and at.inputs[0].op in ("Sigmoid", "Mul") and not at.inputs[0].domain:
        sources = [t for t in at.inputs[0].inputs if not isinstance(t, Constant)]
        first = sources[0]
        if len(sources) == 2 and not any(t.inputs and t.inputs[0].op == "Sigmoid" for t in sources):
            break
        if len(sources) == 2 and sources[0].inputs and sources[0].inputs[0].op == "Sigmoid":
            first = sources[1]
        if first.name not in known:
            break
        at = first
    return at.name


def groups_of(measured: Measured) -> dict[str, dict[str, Variable]]:
    """Values that may be in 8 bits, those together that are a gate's; by the first of them, in the graph's order."""
    wanted = {**values_of(measured, measured.chosen.possible), **values_of(measured, measured.chosen.taken)}
    order = {t.name: k for k, n in enumerate(measured.model.graph.nodes) for t in n.outputs}
    found: dict[str, dict[str, Variable]] = {}
    for name in sorted(wanted, key=lambda n: order.get(n, -1)):
        found.setdefault(leader_of(wanted[name], wanted), {})[name] = wanted[name]
    return found
