"""OWB090: what an optimizer would do."""

from __future__ import annotations

from collections.abc import Iterator

from exec.wording import counted
from workbench.lint.base import Check, Finding, Subject


class Leftovers(Check):
    """Rewrites that would apply.

    What   The dry run of the default preset.
    Why    A model that ships should have none left, or a reason.
    Fix    `owb optimize` applies and verifies them.
    """

    code, title, level = "OWB090", "a rewrite would apply", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        from passes.optimize import dry_run

        report = dry_run(subject.model, progress=subject.progress, cancel=subject.cancel)
        for use in report.rules:
            if use.applied:
                first = next(a.node for a in report.applied if a.rule == use.rule)
                yield Finding(
                    self.code,
                    self.level,
                    f"rule {use.rule}",
                    f"{counted(use.applied, 'place')}, for example {first}",
                    fix=use.rule,
                )
