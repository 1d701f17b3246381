"""What each node or value costs: one quantized at a time, all others float, judged before a last Softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from exec.errors import OptionError, nearest
from exec.ir import Model
from exec.progress import Cancel, Progress, check, report
from quantize.prepare import prepared
from quantize.probing import TensorSensitivity, ranked_values
from quantize.quality import Judge
from quantize.report import OutputQuality
from quantize.samples import samples_of
from quantize.selection import Selector
from quantize.static import Measured, Options, build, measure

RANKED = ("node", "tensor", "both")
JUDGED = 4  # samples: the order of nodes settles with few


@dataclass(frozen=True, slots=True)
class NodeSensitivity:
    """One node's share of the noise.

    sqnr_db     of the worst output with this node alone in 8 bits
    outputs     all of them, compared before a last Softmax
    is_default  whether the preset takes the node
    """

    name: str
    op: str
    sqnr_db: float
    outputs: tuple[OutputQuality, ...]
    macs: int
    intensity: float
    is_default: bool

    @property
    def noise(self) -> float:
        """Noise power over signal power; noises of nodes add up, roughly."""
        return 10.0 ** (-self.sqnr_db / 10.0) if math.isfinite(self.sqnr_db) else 0.0 if self.sqnr_db > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Nodes, values or both, the most harmful first.

    all_db   with every node the preset takes in 8 bits
    samples  judged by
    tensors  values rounded to 8 bits alone, without the weights of the nodes around them
    """

    nodes: tuple[NodeSensitivity, ...]
    all_db: float
    samples: int
    data: str
    seconds: float
    tensors: tuple[TensorSensitivity, ...] = ()


def sensitivity(
    model: Model, data: Any = None, *, preset: str = "balanced", method: str = "auto", activations: str = "u8", weights: str = "s8",
    include: Sequence[Selector] = (), exclude: Sequence[Selector] = (), judged: int = JUDGED, by: str = "node", progress: Progress | None = None, cancel: Cancel | None = None,
) -> Sensitivity:  # fmt: skip
    """Rank the nodes of `model` that can be quantized, or the values between them, by what each does to the outputs; the argument is never changed.

    data    calibration samples as `quantize` takes them
    judged  of them, how many each is judged by
    by      "node", "tensor" or "both"
    """
    began = perf_counter()
    if by not in RANKED:
        raise OptionError(f"no ranking by {by!r}", why=f"there are {', '.join(RANKED)}", hint=nearest(by, RANKED))
    options = Options(
        activations, weights, method=method, preset=preset, include=tuple(include), exclude=tuple(exclude)
    )
    work = prepared(model, None, options, [], progress, cancel)
    samples = samples_of(work, data)
    measured = measure(work, samples, options, every=True, keep=judged, progress=progress, cancel=cancel)
    judge = Judge.of(work, measured.calibration.kept, logits=True, at_once=True)
    nodes = ranked(measured, judge, progress=progress, cancel=cancel) if by != "tensor" else ()
    tensors = ranked_values(measured, judge, progress=progress, cancel=cancel) if by != "node" else ()
    whole = judge.sqnr_db(build(measured, halves=False).model, cancel=cancel)
    return Sensitivity(nodes, whole, len(judge.samples), samples.source, perf_counter() - began, tensors)


def ranked(
    measured: Measured, judge: Judge, *, progress: Progress | None = None, cancel: Cancel | None = None
) -> tuple[NodeSensitivity, ...]:
    """Each node that can be quantized alone, the most harmful first."""
    rows: list[NodeSensitivity] = []
    possible = sorted(measured.chosen.possible, key=lambda c: -c.macs)
    taken = {c.node.name for c in measured.chosen.taken}
    measured = replace(measured, options=replace(measured.options, rounding="nearest"))
    for number, choice in enumerate(possible):
        check(cancel, "the sensitivity analysis")
        report(progress, number, len(possible), choice.node.name)
        outputs = judge.outputs(build(measured, {choice.node.name}, halves=False).model, cancel=cancel)
        worst = min((o.sqnr_db for o in outputs), default=math.inf)
        name = choice.node.name
        rows.append(NodeSensitivity(name, choice.node.op, worst, outputs, choice.macs, choice.intensity, name in taken))
    return tuple(sorted(rows, key=lambda row: row.sqnr_db))
