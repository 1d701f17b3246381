"""`optimize`: a model in, a smaller one that computes the same out, and a report of what was done and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from exec.arrays import Value
from exec.errors import OptionError
from exec.ir import Model, Node, no_gc
from exec.progress import Cancel, Progress
from passes.base import OVERRIDABLE, Rewrite
from passes.catalog import Chosen, select
from passes.convert.weights import inputs_to_weights, listed_by_habit
from passes.convert.weights import overridable as has_default
from passes.ledger import Ledger
from passes.patch import provenance
from passes.pipeline import Pipeline, Place, Trace
from passes.region import Workspace
from passes.report import Application, Census, Refused, Report, RuleUse, Undone, Verification, census, value_names

if TYPE_CHECKING:
    from passes.regional import RegionalVerifier
    from passes.verify import VerifyBudget

TARGETS = ("portable", "onnxruntime")
OVERRIDABLE_AS = ("auto", "keep", "weights")


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """The optimized model and what was done to it."""

    model: Model
    report: Report


@dataclass(slots=True)
class Plan:
    """What to run, and with what: the same for every attempt on one model.

    allowance, limit  bytes the file may grow by at first, and in the end; without a limit, all at once
    """

    stages: list[list[Chosen]]
    target: str
    allowance: int
    limit: int | None = None
    progress: Progress | None = None
    cancel: Cancel | None = None

    def run(
        self,
        model: Model,
        *,
        fuel: int | None = None,
        barred: Collection[Place] = (),
        witness: RegionalVerifier | None = None,
        apply: bool = True,
    ) -> tuple[Model, Trace]:
        """The pipeline on a copy of `model`."""
        with no_gc():
            copy = model.copy()
            workspace = Workspace(copy, target=self.target, ledger=Ledger(self.allowance, self.limit))
            pipeline = Pipeline(
                workspace,
                self.stages,
                fuel=fuel,
                barred=barred,
                witness=witness,
                progress=self.progress,
                cancel=self.cancel,
                apply=apply,
            )
            return copy, pipeline.run()


def optimize(
    model: Model,
    passes: str | Sequence[str] = "default",
    *,
    skip: Iterable[str] = (),
    opset: int | None = None,
    target: str = "portable",
    feeds: Mapping[str, Value] | Sequence[Mapping[str, Value]] | None = None,
    verify: bool = True,
    rules: Iterable[Rewrite] = (),
    budget: VerifyBudget | None = None,
    grow: int | None = None,
    overridable: str = "auto",
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> OptimizeResult:
    """Rewrite `model` until no rule applies; the argument is never changed.

    passes   a preset ("default", "safe", "aggressive", "contrib"), rule ids, or both, comma-separated or as a list
    skip     rule ids to leave out
    opset    convert to this opset first, so that rules that need newer ops apply
    target   the runtime the result is for: "portable" or "onnxruntime"
    feeds    inputs to verify with; seeded ones otherwise
    verify   run the result against the original, and undo a rewrite that changes the numbers
    rules    further rewrites of your own
    grow     bytes the file may grow by; next to nothing by default
    overridable  inputs that have a default: "keep" them, take all as "weights", or "auto": only where there are so many that an exporter listed them
    """
    began = perf_counter()
    plan = plan_of(model, passes, skip=skip, target=target, rules=rules, grow=grow, progress=progress, cancel=cancel)
    before, model = model, settled(model, overridable)
    source = model if opset is None or opset == model.opset else converted(model, opset)
    if verify:
        from passes.verify import Verifier, VerifyBudget

        verifier = Verifier(model, feeds, budget or VerifyBudget(), cancel)
        witness = verifier.witness()
        result, trace = plan.run(source, witness=witness)
        if budget is None:
            verifier.budget = VerifyBudget(optimizer_seconds=perf_counter() - began - witness.spent)
        result, trace, undone, checked = verifier.verified(plan, source, result, trace, witness)
    else:
        result, trace = plan.run(source)
        undone = [Undone(e.rule, e.node, e.sources, why) for e, why in trace.broken]
        checked = Verification("none", reason="verification is off")
    report = summary(before, result, plan, trace, undone, checked, perf_counter() - began)
    return OptimizeResult(result, report)


def dry_run(
    model: Model,
    passes: str | Sequence[str] = "default",
    *,
    skip: Iterable[str] = (),
    opset: int | None = None,
    target: str = "portable",
    rules: Iterable[Rewrite] = (),
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Report:
    """What `optimize` would do, without verification and without a result."""
    return optimize(
        model,
        passes,
        skip=skip,
        opset=opset,
        target=target,
        rules=rules,
        verify=False,
        progress=progress,
        cancel=cancel,
    ).report


def settled(model: Model, overridable: str) -> Model:
    """`model` with the inputs that are weights by habit as weights, or all that have a default, or none."""
    if overridable not in OVERRIDABLE_AS:
        raise OptionError(f"overridable is '{overridable}'", why=f"known: {', '.join(OVERRIDABLE_AS)}")
    taken = overridable == "weights" and has_default(model)
    return inputs_to_weights(model) if taken or (overridable == "auto" and listed_by_habit(model)) else model


def plan_of(
    model: Model,
    passes: str | Sequence[str] = "default",
    *,
    skip: Iterable[str] = (),
    target: str = "portable",
    rules: Iterable[Rewrite] = (),
    grow: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Plan:
    """The stages for these options; `OptionError` for a name that means nothing."""
    if target not in TARGETS:
        raise OptionError(f"no target called '{target}'", why=f"known: {', '.join(TARGETS)}")
    stages = select(passes, skip=skip, rules=rules)
    size = census(model)
    limit = default_allowance(size) if grow is None else grow
    return Plan(stages, target, min(half_a_percent(size), limit), limit, progress, cancel)


def default_allowance(size: Census) -> int:
    """Half a percent of the model, and a few kilobytes for one that is tiny."""
    return 4096 if size.weight_bytes < 65536 else half_a_percent(size)


def half_a_percent(size: Census) -> int:
    """Of the model's bytes, about."""
    return max(512, (size.weight_bytes + 60 * size.nodes) // 200)


def converted(model: Model, opset: int) -> Model:
    """A copy of `model` at another opset."""
    from passes.convert.opset import convert_opset

    return convert_opset(model, opset)


def summary(
    before: Model,
    after: Model,
    plan: Plan,
    trace: Trace,
    undone: Sequence[Undone],
    checked: Verification,
    seconds: float,
) -> Report:
    """The report of a finished run."""
    applied = tuple(Application(e.rule, e.node, e.sources, e.note) for e in trace.events)
    taken = len(has_default(before)) - len(has_default(after))
    refused = tuple(Refused(r.rule, _named(r.node), r.reason, _behind(r.node)) for r in trace.refusals.values())
    times, declined = Counter(a.rule for a in applied), Counter(r.rule for r in refused)
    uses = tuple(
        RuleUse(rule.id, times[rule.id], declined[rule.id], trace.seconds.get(rule.id, 0.0))
        for stage in plan.stages
        for rule in stage
    )
    vanished = tuple(sorted(value_names(before) - value_names(after)))
    return Report(
        tuple(use.rule for use in uses), plan.target, (before.opset, after.opset), applied, refused, tuple(undone), uses,
        census(before), census(after), vanished, checked, seconds, trace.sweeps, _overridable(before, refused), taken,
    )  # fmt: skip


def _overridable(model: Model, refused: Iterable[Refused]) -> int:
    """How many initializers are also inputs, if that held a rewrite back."""
    if not any(OVERRIDABLE in r.reason for r in refused):
        return 0
    return len(has_default(model))


def _behind(node: Any) -> tuple[str, ...]:
    """The original nodes of a node; nothing for a whole graph."""
    return tuple(provenance((node,))) if isinstance(node, Node) else ()


def _named(node: Any) -> str:
    return node.name or f"{node.op} of {node.outputs[0].name}" if node.outputs else node.op


__all__ = ["OptimizeResult", "dry_run", "optimize"]
