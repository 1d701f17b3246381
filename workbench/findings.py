"""Run the checks: `check(model) -> Findings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from exec.errors import BenchError, Cancelled, OptionError, nearest
from exec.ir import Model
from exec.progress import Cancel, Progress, report
from exec.progress import check as stop_if
from workbench.lint.base import Check, Finding, Subject
from workbench.lint.catalog import BY_CODE, CHECKS

_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Findings:
    """What the checks found, worst first within the order of codes; `clean` are the codes that found nothing."""

    findings: tuple[Finding, ...]
    clean: tuple[str, ...]

    @property
    def counts(self) -> Counter[str]:
        """Findings by level."""
        return Counter(f.level for f in self.findings)

    def fails(self, level: str = "warning") -> bool:
        """Whether there is a finding of this level or a worse one; "never" asks for none."""
        return level != "never" and any(_ORDER[f.level] <= _ORDER[level] for f in self.findings)


def check(
    model: Model, *, select: Sequence[str] = (), ignore: Sequence[str] = (), progress: Progress | None = None, cancel: Cancel | None = None
) -> Findings:  # fmt: skip
    """Look at `model` with every check, those selected by code or by the start of a code, less those ignored."""
    chosen = [c for c in CHECKS if (not select or _matches(c, select)) and not _matches(c, ignore)]
    for pattern in (*select, *ignore):
        if not any(_matches(c, (pattern,)) for c in CHECKS):
            raise OptionError(f"no check {pattern!r}", hint=nearest(pattern, BY_CODE) or "`owb list checks` shows all")
    subject = Subject(model, progress, cancel)
    found: list[Finding] = []
    clean = []
    for k, cls in enumerate(chosen):
        stop_if(cancel, "the check")
        report(progress, k, len(chosen), cls.title)
        here = _looked(cls(), subject)
        found += here
        if not here:
            clean.append(cls.code)
    return Findings(tuple(sorted(found, key=lambda f: (_ORDER[f.level], f.code))), tuple(clean))


def _looked(check: Check, subject: Subject) -> list[Finding]:
    """What a check finds; where the model breaks off its look, that is what it found last."""
    found: list[Finding] = []
    try:
        for finding in check.look(subject):
            found.append(finding)  # noqa: PERF402 - what was found before the error is kept
    except Cancelled:
        raise
    except BenchError as error:
        found.append(check.found(error.where or "model", f"not looked at any further: {error.what}", error.hint))
    return found


def _matches(cls: type[Check], patterns: Sequence[str]) -> bool:
    return any(cls.code.startswith(p) for p in patterns)


def repair(
    model: Model, found: Findings, *, progress: Progress | None = None, cancel: Cancel | None = None
) -> tuple[Model, tuple[str, ...]]:
    """A model in which the rewrites that findings name were applied, verified, and those rewrites; the model itself where none is named."""
    from passes.optimize import optimize

    rules = tuple(sorted({f.fix for f in found.findings if f.fix}))
    if not rules:
        return model, ()
    return optimize(model, rules, progress=progress, cancel=cancel).model, rules
