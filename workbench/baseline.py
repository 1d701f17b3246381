"""Figures kept in a file, for CI: today's must not be worse than those."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from exec.errors import OptionError
from exec.sidefile import read_decoded

VERSION = 1


class Baseline(msgspec.Struct, forbid_unknown_fields=True):
    """Figures by name: "nodes", "weight_bytes", "sqnr_db logits". `more_is_better` names those that must not fall."""

    kind: str
    figures: dict[str, float]
    more_is_better: list[str] = []
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure against its baseline; `allowed` is what it may be."""

    name: str
    was: float
    now: float | None
    allowed: float
    holds: bool


def save_baseline(path: str | Path, baseline: Baseline) -> None:
    """Write the figures as JSON."""
    Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(baseline), indent=2) + b"\n")


def load_baseline(path: str | Path, kind: str) -> Baseline:
    """Read figures of one kind; an error says what is wrong with the file."""
    try:
        found = read_decoded(path, lambda data: msgspec.json.decode(data, type=Baseline))
    except OSError as error:
        raise OptionError("the baseline cannot be read", str(path), str(error), "--save-baseline makes one") from error
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise OptionError("this is no baseline", str(path), str(error)) from error
    if found.kind != kind:
        raise OptionError(f"a baseline of {found.kind!r}", str(path), f"one of {kind!r} is needed")
    return found


def judge(baseline: Baseline, now: dict[str, Any], slack: float) -> list[Verdict]:
    """Compare; a figure may be worse by `slack` (0.01 is one percent), one that is gone does not hold."""
    rows = []
    for name, was in baseline.figures.items():
        more = name in baseline.more_is_better
        allowed = was - abs(was) * slack if more else was + abs(was) * slack
        value = now.get(name)
        holds = value is not None and (value >= allowed if more else value <= allowed)
        rows.append(Verdict(name, was, value, allowed, holds))
    return rows
