"""Who did it: the rewrite that changes the numbers, or the smallest part of a model that still shows a difference or an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.engines import open_engine
from exec.errors import BenchError, OptionError
from exec.interpreter import Interpreter
from exec.ir import Constant, Model
from exec.metrics import difference, judge
from exec.program import Operation, flatten
from exec.progress import Cancel, Progress
from exec.wording import counted
from passes.optimize import optimize
from workbench.comparison import compare, default_tolerance
from workbench.editing import extract
from workbench.feeding import feeds_for


@dataclass(frozen=True, slots=True)
class Guilty:
    """A rewrite that was undone because the result was wrong with it."""

    rule: str
    node: str
    reason: str


def bisect(
    model: Model, passes: Any = "default", *, feeds: Mapping[str, Value] | None = None, rules: Any = (), progress: Progress | None = None, cancel: Cancel | None = None
) -> tuple[Guilty, ...]:  # fmt: skip
    """The applications of `passes` that break `model`, found by halving; () when the result is right.

    Each is undone before the search goes on, so several culprits are all found.
    """
    report = optimize(model, passes, feeds=feeds, rules=rules, verify=True, progress=progress, cancel=cancel).report
    return tuple(Guilty(u.rule, u.node, u.reason) for u in report.undone)


@dataclass(frozen=True, slots=True)
class Reduced:
    """A part that still shows the trouble, with the inputs that show it.

    shows  "SQNR −2.5 dB at value y of Gemm", or the error
    """

    model: Model = field(metadata={"json": False})
    inputs: dict[str, Value] = field(metadata={"json": False})
    nodes: int
    of: int
    shows: str


def reduce_error(model: Model, *, feeds: Mapping[str, Value] | None = None) -> Reduced:
    """The node that raises the error the embedded engine raises, fed with what it would have got."""
    given = feeds if feeds is not None else feeds_for(model).values
    values: dict[str, Value] = dict(given)
    program = flatten(model.graph, model.opsets, model.graph.functions)
    numbered: list[Any] = [None] * len(program.names)
    for tensor, number in zip(model.graph.inputs, program.inputs, strict=True):
        default = getattr(tensor, "default", None)
        numbered[number] = given[tensor.name] if tensor.name in given or default is None else default.load()

    def keep(operation: Operation, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        values.update({program.names[n]: v for n, v in zip(operation.outputs, outputs, strict=False) if n >= 0})

    try:
        with np.errstate(all="ignore"):
            Interpreter().run(program, numbered, watch=keep)
    except BenchError as error:
        first = error
    else:
        raise OptionError("this model runs", hint="reduce two models that differ: owb reduce A B")
    failed = next((n for n in model.graph.nodes if any(t.name and t.name not in values for t in n.outputs)), None)
    edge = [t.name for t in failed.inputs if t.name and not isinstance(t, Constant)] if failed is not None else []
    if failed is None or any(name not in values for name in edge):
        raise OptionError("no single node raises the error", why=first.what)
    part, inputs = _around(model, edge, [t.name for t in failed.outputs if t.name], values)
    return Reduced(part, inputs, len(part.graph.nodes), len(model.graph.nodes), first.what)


def reduce_difference(
    before: Model, after: Model, *, feeds: Mapping[str, Value] | None = None, engines: tuple[str, str] = ("embedded", "embedded"),
    tolerance: float | None = None, progress: Progress | None = None, cancel: Cancel | None = None,
) -> Reduced:  # fmt: skip
    """The part of `after` that loses the first value to differ: grown upwards from the node that makes it until the part alone shows it."""
    given = feeds if feeds is not None else feeds_for(before).values
    result = compare(before, after, given, engines=engines, tolerance=tolerance, progress=progress, cancel=cancel)
    culprit = result.culprits[0] if result.culprits else result.first
    if culprit is None:
        raise OptionError(
            "the two models agree",
            why=f"{counted(len(result.values), 'value')} within {result.tolerance:.0e} of their range",
        )
    wanted = {i.name for i in after.inputs}
    names = [v.before for v in result.values]
    truth = dict(given) | open_engine(before, engines[0]).run(given, names)
    known = {v.after: truth[v.before] for v in result.values} | {n: v for n, v in given.items() if n in wanted}
    limit = default_tolerance(before, after) if tolerance is None else tolerance
    maker = {t.name: n for n in after.graph.nodes for t in n.outputs if t.name}
    edge = _cut(maker, culprit.after, known)
    part: Model | None = None
    inputs: dict[str, Value] = {}
    for _ in range(len(after.graph.nodes)):
        part, inputs = _around(after, edge, [culprit.after], known)
        got = open_engine(part, engines[1]).run(inputs)[culprit.after]
        gap = difference(truth[culprit.before], got)
        if not judge(gap, limit, culprit.op, strict=tolerance is not None).within or not any(n in maker for n in edge):
            break
        edge = sorted({above for name in edge for above in (_cut(maker, name, known) if name in maker else [name])})
    assert part is not None
    return Reduced(
        part,
        inputs,
        len(part.graph.nodes),
        len(after.graph.nodes),
        f"{gap.sqnr_db:.1f} dB at {culprit.after} of {culprit.op} {culprit.node}".rstrip(),
    )


def _cut(maker: Mapping[str, Any], name: str, known: Mapping[str, Value]) -> list[str]:
    """The nearest values above `name` that are known: where a part that makes it may begin."""
    found: dict[str, None] = {}
    pending = [t.name for t in maker[name].inputs if t.name and not isinstance(t, Constant)]
    while pending:
        value = pending.pop()
        if value in known or value not in maker:
            found.setdefault(value)
        else:
            pending += [t.name for t in maker[value].inputs if t.name and not isinstance(t, Constant)]
    return list(found)


def _around(
    model: Model, edge: list[str], outputs: list[str], values: Mapping[str, Value]
) -> tuple[Model, dict[str, Value]]:
    part = extract(model, edge, outputs)
    return part, {
        i.name: np.asarray(values[i.name]) if not isinstance(values[i.name], (list, dict)) else values[i.name]
        for i in part.inputs
    }
