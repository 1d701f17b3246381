"""Two models on the same inputs: `compare(before, after) -> Comparison`. Which value is the first to differ, and who lost it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.dtypes import dtype_name
from exec.engines import open_engine
from exec.errors import FeedError, nearest
from exec.ir import Model
from exec.metrics import Difference, difference, judge
from exec.progress import Cancel, Progress, check, report
from exec.wording import counted
from workbench.comparable import comparable
from workbench.feeding import feeds_for
from workbench.runnable import Lost
from workbench.values import Pair, aligned_values, undone

CHUNK_BYTES = 256 << 20
_LOSS_DB = 6.0
_CEILING_DB = 100.0  # beyond it float32 rounding decides


@dataclass(frozen=True, slots=True)
class ValueDiff:
    """One value of both models.

    share    what the verdict looked at: the largest difference as a share of the range of `measure`, of the values where that is ""
    lost_db  how much less it agrees than the worst of what it is made from; None at the top
    culprit  its inputs agree and it does not
    """

    before: str
    after: str
    op: str
    node: str
    shape: tuple[int, ...] | None
    dtype: str
    sqnr_db: float
    cosine: float
    max_abs: float
    max_of_range: float
    share: float
    measure: str
    within: bool
    lost_db: float | None
    culprit: bool
    how: str
    note: str


@dataclass(frozen=True, slots=True)
class OutputDiff:
    """One output of both models; `share` and `measure` as for a value."""

    name: str
    sqnr_db: float
    cosine: float
    max_abs: float
    max_of_range: float
    share: float
    measure: str
    within: bool
    note: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the runs showed. `values` stand in the order in which B computes them.

    tolerance    largest difference that counts as equal, as a share of the value's range
    first        the first value that differs, None when all agree
    only_before, only_after  values that have no partner
    lost         nodes that no engine here runs; what lies before and behind them is compared
    unreached    outputs of B that could not be compared for that
    """

    engines: tuple[str, str]
    tolerance: float
    outputs: tuple[OutputDiff, ...]
    values: tuple[ValueDiff, ...]
    first: ValueDiff | None
    culprits: tuple[ValueDiff, ...]
    only_before: int
    only_after: int
    nodes: tuple[int, int]
    assumptions: tuple[str, ...]
    lost: tuple[Lost, ...] = ()
    unreached: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Every output that was compared agrees within the tolerance."""
        return all(o.within for o in self.outputs)


def compare(
    before: Model,
    after: Model,
    feeds: Mapping[str, Value] | None = None,
    *,
    engines: tuple[str, str] = ("embedded", "embedded"),
    tolerance: float | None = None,
    kernels: str = "auto",
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Comparison:
    """Run both models on the same inputs and compare every value they share.

    feeds      inputs by name; seeded ones otherwise, and what they assume is in the result
    engines    what runs A and what runs B: "embedded", "onnxruntime", "reference"
    tolerance  share of a value's range; when not given 1e-4, or 1e-2 where a model holds float16 or 8-bit values, and a function
               with a range of its own (Sigmoid, Softmax) whose values stay near one end is measured by that range
    kernels    of the embedded engine: "auto", "numpy", "compiled", "plain"
    """
    assumptions: tuple[str, ...] = ()
    if feeds is None:
        made = feeds_for(before)
        feeds, assumptions = made.values, made.assumptions
    given: Mapping[str, Value] = feeds
    known = {t.name for m in (before, after) for t in m.graph.inputs}
    for name in given:
        if name not in known:
            raise FeedError(f"no input '{name}'", hint=nearest(name, known))
    wanted = {info.name for info in after.inputs}
    if wanted - set(given):
        raise FeedError(
            f"B has inputs that A has not: {', '.join(sorted(wanted - set(given)))}",
            f"A has {', '.join(info.name for info in before.inputs) or 'none'}",
            "both models run on the same inputs",
            "`owb diff` compares models by structure; `owb edit rename` gives an input another name",
        )
    sizes = len(before.graph.nodes), len(after.graph.nodes)
    part = comparable(before, after, given, engines)
    before, after, given = part.before, part.after, part.feeds
    pairs = aligned_values(before, after)
    limit = default_tolerance(before, after) if tolerance is None else tolerance
    left, right = (open_engine(m, e, kernels=kernels) for m, e in zip((before, after), engines, strict=True))
    strict = tolerance is not None
    outputs = _outputs(before, after, left, right, given, limit, strict, whole=not part.lost)
    found: dict[str, tuple[Difference, Any]] = {}
    chunks = list(_chunks(before, pairs))
    for k, chunk in enumerate(chunks):
        check(cancel, "the comparison")
        report(progress, k, len(chunks), "comparing values")
        one = left.run(_for(before, given), [p.before for p in chunk])
        other = right.run(_for(after, given), [p.after for p in chunk])
        for pair in chunk:
            want = one[pair.before]
            gap = difference(want, undone(other[pair.after], want, pair.how))
            found[pair.after] = gap, (getattr(want, "shape", None), getattr(want, "dtype", None))
    values = _value_diffs(after, pairs, found, limit, strict)
    first = next((v for v in values if not v.within), None)
    return Comparison(
        engines, limit, outputs, values, first, tuple(v for v in values if v.culprit),
        sum(len(n.outputs) for n in before.graph.nodes) - len(pairs), sum(len(n.outputs) for n in after.graph.nodes) - len(pairs),
        sizes, assumptions, part.lost, part.unreached,
    )  # fmt: skip


def default_tolerance(before: Model, after: Model) -> float:
    """1e-4 of the range; 1e-2 where either holds float16, bfloat16 or quantized values."""
    for model in (before, after):
        for node in model.graph.nodes:
            if node.op in ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear") or node.op.startswith(
                "QLinear"
            ):
                return 1e-2
            if any(
                dtype_name(t.dtype) in ("float16", "bfloat16")
                for t in node.inputs
                if getattr(t, "dtype", None) is not None
            ):
                return 1e-2
    return 1e-4


def _chunks(model: Model, pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Groups of pairs whose values fit the memory set aside; a size that is not known counts as a megabyte."""
    size = {}
    for node in model.graph.nodes:
        for tensor in node.outputs:
            dims = [d if isinstance(d, int) and d > 0 else 64 for d in tensor.shape or ()] or [1 << 18]
            size[tensor.name] = math.prod(dims) * (tensor.dtype.itemsize if isinstance(tensor.dtype, np.dtype) else 4)
    chunk: list[Pair] = []
    held = 0
    for pair in pairs:
        need = 2 * size.get(pair.before, 1 << 20)
        if chunk and held + need > CHUNK_BYTES:
            yield chunk
            chunk, held = [], 0
        chunk.append(pair)
        held += need
    if chunk:
        yield chunk


def _outputs(
    before: Model, after: Model, left: Any, right: Any, feeds: Mapping[str, Value], limit: float, strict: bool, *, whole: bool
) -> tuple[OutputDiff, ...]:  # fmt: skip
    """Outputs in turn where the names differ; of parts only those that both have."""
    one, other = left.run(_for(before, feeds)), right.run(_for(after, feeds))
    if not whole:
        one, other = ({n: v for n, v in run.items() if n in one and n in other} for run in (one, other))
    maker = {t.name: n.op for n in before.graph.nodes for t in n.outputs}
    rows = []
    by_name = one.keys() == other.keys()
    for (name, want), in_turn in zip(one.items(), other.values(), strict=False):
        got = other[name] if by_name else in_turn
        gap = difference(want, got)
        verdict = judge(gap, limit, maker.get(name, ""), strict=strict)
        note = verdict.note
        if isinstance(want, np.ndarray) and want.dtype.kind == "f" and want.size and not np.isfinite(want).any():
            note = "no element is finite: these inputs show nothing"
        figures = gap.sqnr_db, gap.cosine, gap.max_abs, gap.max_of_range
        rows.append(OutputDiff(name, *figures, verdict.share, verdict.measure, verdict.within, note))
    if len(one) != len(other):
        rows.append(
            OutputDiff(
                "",
                -math.inf,
                0.0,
                math.inf,
                math.inf,
                math.inf,
                "",
                False,
                f"{counted(len(one), 'output')} against {len(other)}",
            )
        )
    return tuple(rows)


def _for(model: Model, feeds: Mapping[str, Value]) -> dict[str, Value]:
    """The inputs of one model."""
    wanted = {info.name for info in model.inputs}
    return {name: value for name, value in feeds.items() if name in wanted}


def _value_diffs(
    after: Model, pairs: Sequence[Pair], found: Mapping[str, tuple[Difference, Any]], limit: float, strict: bool
) -> tuple[ValueDiff, ...]:
    by_name = {p.after: p for p in pairs}
    agreement: dict[
        int, tuple[float, bool]
    ] = {}  # id of a value of B → (dB, agrees) of it, or of the worst it is made from
    rows = []
    for node in after.graph.nodes:
        above = [agreement[id(t)] for t in node.inputs if id(t) in agreement]
        worst = min((a[0] for a in above), default=math.inf)
        agrees = all(a[1] for a in above)
        for tensor in node.outputs:
            pair = by_name.get(tensor.name)
            if pair is None or pair.after not in found:
                agreement[id(tensor)] = (worst, agrees)
                continue
            gap, (shape, dtype) = found[pair.after]
            verdict = judge(gap, limit, node.op, strict=strict)
            within = verdict.within
            agreement[id(tensor)] = (gap.sqnr_db, within)
            lost = (
                None
                if math.isinf(worst) and worst > 0 and math.isinf(gap.sqnr_db)
                else max(min(worst, _CEILING_DB) - min(gap.sqnr_db, _CEILING_DB), 0.0)
            )
            culprit = not within and (agrees or (lost is not None and lost >= _LOSS_DB))
            rows.append(
                ValueDiff(
                    pair.before,
                    pair.after,
                    node.op,
                    node.name,
                    None if shape is None else tuple(shape),
                    dtype_name(dtype) if dtype is not None else "",
                    gap.sqnr_db,
                    gap.cosine,
                    gap.max_abs,
                    gap.max_of_range,
                    verdict.share,
                    verdict.measure,
                    within,
                    lost,
                    culprit,
                    pair.how,
                    verdict.note,
                )
            )
    return tuple(rows)
