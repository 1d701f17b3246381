"""Values of a run, described: shape, type, range, mean, what is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exec.arrays import Value
from workbench.render.table import Column, Table


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """One value; statistics over its finite elements, None where there are none."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    min: float | None
    max: float | None
    mean: float | None
    nonfinite: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outputs of one run."""

    outputs: tuple[ValueSummary, ...]


def describe_values(values: Mapping[str, Value]) -> tuple[RunResult, Table]:
    """A result for JSON and a table for people."""
    rows = tuple(describe(name, value) for name, value in values.items())
    columns = (
        Column("name", "output", "name"), Column("dtype", "dtype"), Column("shape", "shape", "shape"),
        Column("min", "min", "number"), Column("max", "max", "number"), Column("mean", "mean", "number"), Column("nonfinite", "NaN, inf", "count"),
    )  # fmt: skip
    return RunResult(rows), Table(
        "", columns, tuple((r.name, r.dtype, r.shape, r.min, r.max, r.mean, r.nonfinite) for r in rows)
    )


def describe(name: str, value: Value) -> ValueSummary:
    """Summarize one value; sequences and maps say how many parts they have."""
    if value is None:
        return ValueSummary(name, "empty optional", None, None, None, None, 0)
    if isinstance(value, (list, tuple, dict)):
        kind = "map" if isinstance(value, dict) else "sequence"
        return ValueSummary(name, f"{kind} of {len(value)}", None, None, None, None, 0)
    array = np.asarray(value)
    if array.dtype.kind in "OUSTc" or not array.size:
        return ValueSummary(name, array.dtype.name, array.shape, None, None, None, 0)
    wide = array.astype(np.float64)
    finite = np.isfinite(wide)
    lost = int(array.size - np.count_nonzero(finite))
    good = wide[finite] if lost else wide
    if not good.size:
        return ValueSummary(name, array.dtype.name, array.shape, None, None, None, lost)
    return ValueSummary(
        name, array.dtype.name, array.shape, float(good.min()), float(good.max()), float(good.mean()), lost
    )
