"""Does the exported model compute what its framework did? `verify_recorded` answers for every engine that is here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exec.engines import open_engine
from exec.errors import BenchError
from exec.ir import Model
from exec.metrics import difference, judge
from exec.progress import Cancel, Progress, check, report
from exec.wording import counted
from workbench.comparison import default_tolerance
from workbench.recorded import Recording


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of one recording in one engine.

    share  what the verdict looked at: the largest difference as a share of the range of `measure`, of the values where that is ""
    """

    engine: str
    recording: str
    output: str
    within: bool
    sqnr_db: float
    max_abs: float
    max_of_range: float
    share: float
    measure: str
    note: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The verdict.

    absent  engines that could not be used, and why
    """

    tolerance: float
    checks: tuple[OutputCheck, ...]
    absent: dict[str, str]

    @property
    def holds(self) -> bool:
        """Every output of every recording agrees in every engine that is here."""
        return bool(self.checks) and all(c.within for c in self.checks)

    @property
    def verdict(self) -> str:
        """In a sentence: whether the export holds, in which engines it does not, where each first differs and by how much."""
        engines = list(dict.fromkeys(c.engine for c in self.checks))
        wrong = {c.engine: c for c in reversed(self.checks) if not c.within}
        if not self.checks:
            return "Nothing could be checked."
        if not wrong:
            return f"The export holds in {', '.join(engines)}: {self.tolerance:.0e} of the range is allowed."
        said = []
        for engine in engines:
            if engine not in wrong:
                said.append(f"{engine} agrees")
                continue
            first, count = wrong[engine], sum(c.engine == engine and not c.within for c in self.checks)
            how = (
                first.note
                if math.isinf(first.share)
                else f"{first.share:.2g} of its range, {self.tolerance:.0e} is allowed"
            )
            of = sum(c.engine == engine for c in self.checks)
            said.append(
                f"{engine} differs in {count} of {counted(of, 'output')}, first in {first.output} of {first.recording} ({how})"
            )
        return f"The export does not hold: {'; '.join(said)}."


def verify_recorded(
    model: Model,
    recordings: Iterable[Recording],
    *,
    engines: Sequence[str] = ("embedded", "onnxruntime", "reference"),
    opsets: Sequence[int] = (),
    tolerance: float | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Verified:
    """Run every recording in every engine; one that cannot run the model is told, and the others go on.

    opsets     the model converted to each of these, as well as it is
    tolerance  as for `workbench.compare`
    """
    limit = default_tolerance(model, model) if tolerance is None else tolerance
    maker = {t.name: n.op for n in model.graph.nodes for t in n.outputs}
    absent: dict[str, str] = {}
    sessions = {}
    for label, variant in _variants(model, opsets, absent):
        for name in engines:
            try:
                sessions[name + label] = open_engine(variant, name)
            except BenchError as error:
                absent[name + label] = error.what
    checks = []
    for done, recording in enumerate(recordings):
        for name, session in list(sessions.items()):
            check(cancel, "the verification")
            report(progress, done, 0, f"{recording.name} in {name}")
            try:
                got = session.run(recording.inputs)
            except BenchError as error:
                absent[name] = f"{error.what} ({recording.name})"
                del sessions[name]
                continue
            for output, want in recording.outputs.items():
                gap = difference(want, got.get(output))
                how = judge(gap, limit, maker.get(output, ""), strict=tolerance is not None)
                figures = gap.sqnr_db, gap.max_abs, gap.max_of_range, how.share, how.measure
                checks.append(OutputCheck(name, recording.name, output, how.within, *figures, how.note))
    return Verified(limit, tuple(checks), absent)


def _variants(model: Model, opsets: Sequence[int], absent: dict[str, str]) -> Iterator[tuple[str, Model]]:
    """The model, then the model at other opsets; one that it cannot be converted to is told in `absent`."""
    from passes.convert.opset import convert_opset

    yield "", model
    for number in opsets:
        if number != model.opset:
            try:
                yield f" at opset {number}", convert_opset(model, number)
            except BenchError as error:
                absent[f"opset {number}"] = error.what
