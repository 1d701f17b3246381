"""Does the exported model compute what its framework did? `verify_recorded` answers for every engine that is here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exec.engines import open_engine
from exec.errors import BenchError
from exec.ir import Model
from exec.metrics import difference
from workbench.comparison import default_tolerance
from workbench.recorded import Recording


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of one recording in one engine."""

    engine: str
    recording: str
    output: str
    within: bool
    sqnr_db: float
    max_abs: float
    max_of_range: float
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


def verify_recorded(
    model: Model,
    recordings: Iterable[Recording],
    *,
    engines: Sequence[str] = ("embedded", "onnxruntime", "reference"),
    tolerance: float | None = None,
) -> Verified:
    """Run every recording in every engine; one that cannot run the model is told, and the others go on."""
    limit = default_tolerance(model, model) if tolerance is None else tolerance
    absent: dict[str, str] = {}
    sessions = {}
    for name in engines:
        try:
            sessions[name] = open_engine(model, name)
        except BenchError as error:
            absent[name] = error.what
    checks = []
    for recording in recordings:
        for name, session in list(sessions.items()):
            try:
                got = session.run(recording.inputs)
            except BenchError as error:
                absent[name] = f"{error.what} ({recording.name})"
                del sessions[name]
                continue
            for output, want in recording.outputs.items():
                gap = difference(want, got.get(output))
                checks.append(
                    OutputCheck(
                        name,
                        recording.name,
                        output,
                        gap.within(limit),
                        gap.sqnr_db,
                        gap.max_abs,
                        gap.max_of_range,
                        gap.note,
                    )
                )
    return Verified(limit, tuple(checks), absent)
