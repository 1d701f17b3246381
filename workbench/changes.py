"""What a change did, gathered for one page: `gather(before, after) -> ChangeReport`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exec.ir import Model
from exec.progress import Cancel, Progress
from exec.timing import Profile
from workbench.card import Summary, inspect
from workbench.comparison import Comparison, compare
from workbench.delta import Delta, diff
from workbench.feeding import feeds_for


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """Cards, structure, numbers and time of two models."""

    before: Summary
    after: Summary
    delta: Delta
    comparison: Comparison
    profiles: tuple[Profile, Profile]
    engine: str


def gather(
    before: Model, after: Model, feeds: Mapping[str, Any] | None = None, *, engine: str = "embedded", runs: int = 12,
    progress: Progress | None = None, cancel: Cancel | None = None,
) -> ChangeReport:  # fmt: skip
    """Compare and profile both models on the same inputs."""
    from exec.timing import profile

    given = feeds if feeds is not None else feeds_for(before).values
    wanted = {i.name for i in after.inputs}
    own = {n: v for n, v in given.items() if n in wanted}
    comparison = compare(before, after, given, progress=progress, cancel=cancel)
    first = profile(before, given, runs, engine=engine, progress=progress, cancel=cancel)
    second = profile(after, own, runs, engine=engine, progress=progress, cancel=cancel)
    return ChangeReport(
        inspect(before),
        inspect(after),
        diff(before, after, progress=progress, cancel=cancel),
        comparison,
        (first, second),
        engine,
    )
