"""How far a quantized model is from its float one: per output, per slice of an output, over many samples as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.ir import Model
from exec.progress import Cancel
from quantize.parts import run
from quantize.report import OutputQuality
from quantize.samples import Sample

MOST_SLICES = 64
FINAL = ("Softmax", "LogSoftmax")


@dataclass
class Tally:
    """Sums of one output over the samples.

    axis    of the slices, None when there are too many to name
    signal, noise, other, dot   one entry a slice
    """

    axis: int | None
    is_choice: bool
    signal: Any = 0.0
    noise: Any = 0.0
    other: Any = 0.0
    dot: Any = 0.0
    max_abs: float = 0.0
    same: int = 0
    choices: int = 0
    broken: int = 0

    def add(self, want: Array, got: Array) -> None:
        """One sample's pair of values."""
        if want.shape != got.shape:
            self.broken += max(want.size, 1)
            return
        a, b = want.astype(np.float64), got.astype(np.float64)
        usable = np.isfinite(a) & np.isfinite(b)
        if not usable.all():
            self.broken += int(np.count_nonzero(~usable & ~((a == b) | (np.isnan(a) & np.isnan(b)))))
            a, b = np.where(usable, a, 0.0), np.where(usable, b, 0.0)
        if self.is_choice:
            self.same += int(np.count_nonzero(a.argmax(-1) == b.argmax(-1)))
            self.choices += a[..., 0].size
        self.signal, self.other = self.signal + self._sum(a, a), self.other + self._sum(b, b)
        self.dot = self.dot + self._sum(a, b)
        gap = np.subtract(a, b, out=a)
        self.noise = self.noise + self._sum(gap, gap)
        self.max_abs = max(self.max_abs, float(gap.max(initial=0.0)), -float(gap.min(initial=0.0)))

    def _sum(self, a: Array, b: Array) -> Any:
        """Σ a·b of each slice, without an array of the products: an output may be as large as a model."""
        axes = list(range(a.ndim))
        return np.einsum(a, axes, b, axes, [] if self.axis is None else [self.axis])

    def quality(self, name: str) -> OutputQuality:
        """What the sums say; an element that is finite on one side only makes an output worthless."""
        if self.broken:
            return OutputQuality(name, -math.inf, 0.0, math.inf, None, ())
        signal, noise, other, dot = (float(np.sum(v)) for v in (self.signal, self.noise, self.other, self.dot))
        norm = math.sqrt(signal * other)
        slices = (
            ()
            if self.axis is None
            else tuple(decibels(float(s), float(n)) for s, n in zip(self.signal, self.noise, strict=True))
        )
        agreement = self.same / self.choices if self.choices else None
        return OutputQuality(
            name,
            decibels(signal, noise),
            dot / norm if norm else float(signal == other),
            self.max_abs,
            agreement,
            slices,
        )


def decibels(signal: float, noise: float) -> float:
    """10·log10(signal / noise); infinite without noise."""
    if noise == 0.0:
        return math.inf
    return 10.0 * math.log10(signal / noise) if signal else -math.inf


@dataclass
class Judge:
    """Expected outputs of some samples, and what another model makes of them.

    wanted   value compared → name in the report; by default the outputs, or what a last Softmax is made of
    at_once  see `parts.run`: for many models
    """

    samples: Sequence[Sample]
    wanted: Mapping[str, str]
    choices: frozenset[str]
    at_once: bool = False
    expected: list[dict[str, Value]] = field(default_factory=list)

    @classmethod
    def of(cls, model: Model, samples: Iterable[Sample], *, logits: bool = False, at_once: bool = False) -> Judge:
        """Run the float model on `samples`.

        logits  compare before a last Softmax: behind it a single decided position hides all others
        """
        kept = list(samples)
        wanted = {(_before(o) if logits else o.name): o.name for o in model.graph.outputs}
        judge = cls(kept, wanted, frozenset(o.name for o in model.graph.outputs if _is_choice(o)), at_once)
        judge.expected = run(model, kept, list(wanted), at_once=at_once)
        return judge

    def outputs(self, model: Model, *, cancel: Cancel | None = None) -> tuple[OutputQuality, ...]:
        """Run `model` on the same samples."""
        return self.compared(run(model, self.samples, list(self.wanted), at_once=self.at_once, cancel=cancel))

    def compared(self, found: Iterable[Mapping[str, Value]]) -> tuple[OutputQuality, ...]:
        """The quality of the compared values, one mapping a sample."""
        tallies: dict[str, Tally] = {}
        for got, expected in zip(found, self.expected, strict=True):
            for name, want in expected.items():
                value = got[name]
                if isinstance(want, np.ndarray) and isinstance(value, np.ndarray) and want.dtype.kind in "fiub":
                    if name not in tallies:
                        tallies[name] = Tally(
                            _slices(want), self.wanted[name] in self.choices and want.ndim > 1 and want.shape[-1] > 1
                        )
                    tallies[name].add(want, value)
        return tuple(tally.quality(self.wanted[name]) for name, tally in tallies.items())

    def first(self, count: int) -> Judge:
        """A judge by the first samples only."""
        return replace(self, samples=self.samples[:count], expected=self.expected[:count])

    def sqnr_db(self, model: Model, *, cancel: Cancel | None = None) -> float:
        """Of the worst floating-point output."""
        return min((o.sqnr_db for o in self.outputs(model, cancel=cancel)), default=math.inf)


def _before(output: Any) -> str:
    if after_softmax(output):
        return str(output.inputs[0].inputs[0].name)
    return str(output.name)


def after_softmax(output: Any) -> bool:
    """Whether the output is what a Softmax makes."""
    return bool(output.inputs) and output.inputs[0].op in FINAL and not output.inputs[0].domain


def _is_choice(output: Any) -> bool:
    """Whether the last axis is a choice among classes: behind a Softmax, or logits of rank 2."""
    return after_softmax(output) or (output.shape is not None and len(output.shape) == 2)


def _slices(value: Array) -> int | None:
    """The axis along which an output falls into few parts of different meaning: boxes and scores, classes, heads."""
    few = [(n, k) for k, n in enumerate(value.shape) if k and 1 < n <= MOST_SLICES]
    return min(few)[1] if few else None
