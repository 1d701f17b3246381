"""How far one value is from another: signal-to-noise ratio, cosine, largest difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array, Value

_BLOCK = 1 << 20  # elements: a few temporaries of 8 MB, whatever the size of the value


@dataclass(frozen=True, slots=True)
class Difference:
    """What separates `got` from `want`.

    sqnr_db         10·log10(Σ want² / Σ (want − got)²); infinite when equal
    cosine          of the two as vectors; 1 when both are zero
    max_abs         largest |want − got| where both are finite
    max_of_range    the same as a share of max |want|
    mismatches      elements that differ in being finite, NaN, ±inf, or (integers, strings) in value
    elements        how many were compared
    note            why nothing could be compared: another shape, dtype or kind; "" otherwise
    """

    sqnr_db: float
    cosine: float
    max_abs: float
    max_of_range: float
    mismatches: int
    elements: int
    note: str = ""

    @property
    def equal(self) -> bool:
        """No element differs."""
        return not self.note and not self.mismatches and self.max_abs == 0.0

    def within(self, tolerance: float) -> bool:
        """Comparable, the same specials, and no difference above `tolerance` of the range."""
        return not self.note and not self.mismatches and self.max_of_range <= tolerance


SPANS: Mapping[str, float] = {"Sigmoid": 1.0, "HardSigmoid": 1.0, "Softmax": 1.0, "Tanh": 1.0}
"""Functions whose own range is the measure: a detector that says 1e-7 everywhere is not wrong by the seventh digit."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a difference counts, and the number that was looked at.

    share    the largest difference as a share of the range it was measured by: infinite where that cannot be said
    measure  the function whose range that is; "" for the largest of the values themselves
    """

    within: bool
    share: float
    measure: str
    note: str


def judge(gap: Difference, limit: float, op: str = "", *, strict: bool = False) -> Judgement:
    """Hold a difference against `limit`, the largest share of a value's range that counts as equal.

    op      the operator that makes the value: one with a range of its own is measured by that where the values stay well inside it
    strict  measure by the values in any case
    """
    peak = gap.max_abs / gap.max_of_range if gap.max_of_range and math.isfinite(gap.max_of_range) else 0.0
    span = SPANS.get(op, 0.0)
    if strict or gap.note or span <= peak or not gap.max_abs:
        return Judgement(gap.within(limit), gap.max_of_range, "", gap.note)
    share = gap.max_abs / span
    note = f"of {op}'s {span:g}; of its own values {gap.max_of_range:.2g}"
    return Judgement(not gap.mismatches and share <= limit, share, op, note if gap.max_of_range > limit else "")


def difference(want: Value, got: Value) -> Difference:
    """Compare two values: arrays in blocks, sequences and maps part by part, the worst part counts."""
    if isinstance(want, np.ndarray) or isinstance(got, np.ndarray) or np.isscalar(want):
        return _arrays(np.asarray(want), np.asarray(got))
    if want is None and got is None:
        return Difference(math.inf, 1.0, 0.0, 0.0, 0, 0)
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)) and len(want) == len(got):
        return _worst([difference(a, b) for a, b in zip(want, got, strict=True)])
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        return _worst([difference(value, got[key]) for key, value in want.items()])
    return _incomparable(f"{_kind(want)} against {_kind(got)}")


def _kind(value: Value) -> str:
    if isinstance(value, (list, tuple)):
        return f"a sequence of {len(value)}"
    if isinstance(value, dict):
        return f"a map of {len(value)}"
    return "an empty optional" if value is None else f"{type(value).__name__}"


def _incomparable(note: str) -> Difference:
    return Difference(-math.inf, 0.0, math.inf, math.inf, 0, 0, note)


def _worst(parts: list[Difference]) -> Difference:
    if not parts:
        return Difference(math.inf, 1.0, 0.0, 0.0, 0, 0)
    return Difference(
        min(p.sqnr_db for p in parts), min(p.cosine for p in parts), max(p.max_abs for p in parts), max(p.max_of_range for p in parts),
        sum(p.mismatches for p in parts), sum(p.elements for p in parts), next((p.note for p in parts if p.note), ""),
    )  # fmt: skip


def _arrays(want: Array, got: Array) -> Difference:
    if want.shape != got.shape:
        return _incomparable(f"shape {want.shape} against {got.shape}")
    text = want.dtype.kind in "OUST" and got.dtype.kind in "OUST"
    if want.dtype != got.dtype and not text:
        return _incomparable(f"{want.dtype} against {got.dtype}")
    if text:
        wrong = sum(_text(a) != _text(b) for a, b in zip(want.flat, got.flat, strict=True))
        return Difference(-math.inf if wrong else math.inf, 1.0 - wrong / max(want.size, 1), 0.0, 0.0, wrong, want.size)
    return _numbers(want.reshape(-1), got.reshape(-1))


def _text(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def difference_in_parts(want: Iterable[Array], got: Iterable[Array]) -> Difference:
    """The same of two numeric values of one type and shape that come in equal parts, in constant memory."""
    sums = _Sums()
    for a, b in zip(want, got, strict=True):
        for start in range(0, a.size, _BLOCK):
            sums.add(a[start : start + _BLOCK], b[start : start + _BLOCK])
    return sums.result()


def _numbers(want: Array, got: Array) -> Difference:
    return difference_in_parts([want], [got])


class _Sums:
    """What a difference is made of, added up over parts."""

    def __init__(self) -> None:
        self.signal = self.noise = self.dot = self.other = 0.0
        self.largest = self.peak = 0.0
        self.mismatches = self.elements = 0

    def add(self, want: Array, got: Array) -> None:
        """Count two parts of equal size."""
        a, b = _wide(want), _wide(got)
        signal, other = _power(a), _power(b)
        if not math.isfinite(signal + other):  # not one look at every element where all are finite
            both = np.isfinite(a) & np.isfinite(b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            self.mismatches += int(np.count_nonzero(~both & ~same))
            a, b = np.where(both, a, 0.0), np.where(both, b, 0.0)
            signal, other = _power(a), _power(b)
        gap = a - b
        if want.dtype.kind in "biu":
            self.mismatches += int(np.count_nonzero(gap))
        self.signal += signal
        self.other += other
        self.noise += _power(gap)
        self.dot += float(np.einsum("i,i->", a, b.conj()).real)
        self.largest = max(self.largest, _peak(gap))
        self.peak = max(self.peak, _peak(a))
        self.elements += want.size

    def result(self) -> Difference:
        """The difference of all parts so far."""
        signal, noise, largest, peak = self.signal, self.noise, self.largest, self.peak
        sqnr = math.inf if noise == 0.0 else (10.0 * math.log10(signal / noise) if signal else -math.inf)
        norm = math.sqrt(signal * self.other)
        cosine = self.dot / norm if norm else float(signal == self.other)
        return Difference(
            sqnr,
            min(cosine, 1.0),
            largest,
            largest / peak if peak else (math.inf if largest else 0.0),
            self.mismatches,
            self.elements,
        )


def _power(part: np.ndarray[Any, np.dtype[Any]]) -> float:
    return float(np.einsum("i,i->", part, part.conj()).real)


def _peak(part: np.ndarray[Any, np.dtype[Any]]) -> float:
    if part.dtype.kind == "c":
        return float(np.abs(part).max(initial=0.0))
    return max(float(part.max(initial=0.0)), -float(part.min(initial=0.0)))


def _wide(part: Array) -> np.ndarray[Any, np.dtype[Any]]:
    """To the widest type of its kind: products of float16 overflow, of integers wrap."""
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)


def sqnr_db(want: Array, got: Array) -> float:
    """Signal-to-quantization-noise ratio in dB, infinite when equal."""
    return difference(want, got).sqnr_db
