"""Runs a converted model against the one it came from: another opset, type or size must not be another function.

A conversion changes the interface on purpose (sizes, types), so the inputs are made for the result and brought into the original's types;
a batch the original does not take is run through it sample by sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array, Value
from exec.errors import BenchError
from exec.ir import Model
from exec.metrics import difference
from exec.progress import Cancel, check
from exec.session import Session
from passes.base import Safety
from passes.convert.by_nodes import compare_nodes
from passes.drawn import NARROW
from passes.regional import RegionalVerifier
from passes.report import Verification, census
from passes.samples import Samples, unproven
from passes.ties import edge, flips, moves, on_edge
from passes.verify import VerifyBudget, interface_change

BITS = {np.dtype(np.float16): 1 << 13, np.dtype(ml_dtypes.bfloat16): 1 << 16}
"""The last bit of a narrow type, in last bits of float32."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The verdict on a conversion; `problem` is "" where nothing speaks against it."""

    verification: Verification
    problem: str = ""


class ConversionVerifier:
    """Original and result on the same inputs.

    narrow   the type the result computes in, where it is a narrower one
    witness  saw the patches of an opset conversion
    interface  whether inputs and outputs must have kept their types and sizes
    """

    def __init__(
        self,
        before: Model,
        after: Model,
        *,
        narrow: np.dtype[Any] | None = None,
        interface: bool = True,
        witness: RegionalVerifier | None = None,
        budget: VerifyBudget | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self.before, self.after, self.narrow, self.interface = before, after, narrow, interface
        self.budget, self.cancel = budget or VerifyBudget(), cancel
        self.witness, self.worst = witness, 0.0
        self.began = perf_counter()
        self._types = {info.name: info.dtype for info in before.inputs}
        self._batch = {info.name: info.shape[0] for info in before.inputs if info.shape}
        self._original: Session | None = None

    def check(self, feeds: Mapping[str, Value] | None = None) -> Conversion:
        """Compare on `feeds`, or on inputs made for the result."""
        if self.interface and (problem := interface_change(self.before, self.after)):
            return Conversion(self._verdict("whole", 0), problem)
        if feeds is None and not self.affordable:
            return self._by_parts()
        session = Session(self.after, kernels="numpy")
        made = Samples(self.after, lambda: session, self._late)
        try:
            if feeds is not None:
                made.pairs.append((feeds, session.run(feeds)))
            else:
                # far values overflow a narrow type, and that is no news
                made.make(self.budget.limit / 8, levels=("wide", "extreme") if self.narrow is None else ())
        except BenchError as error:
            check(self.cancel, "the verification")
            if not made.pairs:
                return self._failed(error)
        for given, got in made.pairs:
            problem = self._differs(given, got)
            if problem:
                return Conversion(self._verdict("whole", len(made.pairs)), problem)
        names = unproven(self.after, made.pairs)
        return Conversion(self._verdict("whole", len(made.pairs), unproven=names))

    @property
    def affordable(self) -> bool:
        """Whether original and result can both be run whole."""
        return census(self.before).weight_bytes <= self.budget.weights

    def _by_parts(self) -> Conversion:
        """What can be said where two whole runs are over the budget: the adapters' patches, and narrow nodes one by one."""
        size = census(self.before).weight_bytes >> 20
        reason = f"two runs of {size} MiB of weights are over the budget"
        seen, total = (self.witness.seen, self.witness.total) if self.witness is not None else (0, 0)
        worst = self.witness.worst if self.witness is not None else 0.0
        problem = ""
        if self.narrow is not None:
            nodes, of, gap, problem = compare_nodes(self.before, self.after, self.narrow)
            seen, total, worst = seen + nodes, total + of, max(worst, gap)
        seconds = perf_counter() - self.began
        scope = "regions" if seen else "none"
        return Conversion(Verification(scope, 0, seen, total, worst, seconds=seconds, reason=reason), problem)

    def _failed(self, error: BenchError) -> Conversion:
        """The result cannot be run: its fault only if the original can."""
        from exec.feeds import make_feeds

        try:
            self._run(make_feeds(self.before).feeds)
        except BenchError as own:
            return Conversion(self._verdict("none", 0, f"the original cannot be run: {own.what}"))
        return Conversion(self._verdict("whole", 0), f"the result cannot be run: {error.what}")

    def _verdict(self, scope: str, runs: int, reason: str = "", unproven: tuple[str, ...] = ()) -> Verification:
        allowed = self._allowed(np.dtype(np.float32))
        seconds = perf_counter() - self.began
        return Verification(
            scope, runs, worst=self.worst, tolerance=allowed, seconds=seconds, reason=reason, unproven=unproven
        )

    def _late(self) -> bool:
        check(self.cancel, "the verification")
        return perf_counter() - self.began > self.budget.limit / 3

    def _allowed(self, dtype: np.dtype[Any]) -> float:
        return Safety.ROUNDING.tolerance(self.narrow or dtype, whole=True)

    def _run(self, given: Mapping[str, Value], names: list[str] | None = None) -> dict[str, Value]:
        """The original on inputs of the result's types and sizes."""
        if self._original is None:
            self._original = Session(self.before, kernels="numpy")
        feeds = {name: self._typed(name, value) for name, value in given.items()}
        rows = self._rows(feeds)
        if rows is None:
            return self._original.run(feeds, names)
        parts = [self._original.run({k: _part(v, r, self._batch[k]) for k, v in feeds.items()}, names) for r in rows]
        return {k: _joined([p[k] for p in parts]) for k in parts[0]}

    def _typed(self, name: str, value: Value) -> Value:
        wanted = self._types.get(name)
        if isinstance(value, np.ndarray) and isinstance(wanted, np.dtype) and value.dtype != wanted:
            return np.asarray(value.astype(wanted))
        return value

    def _rows(self, feeds: Mapping[str, Value]) -> range | None:
        """Which samples to run one by one, where the original has a fixed batch and the result another."""
        for name, value in feeds.items():
            batch = self._batch.get(name)
            if isinstance(value, np.ndarray) and isinstance(batch, int) and 0 < batch < value.shape[0]:
                return range(value.shape[0] // batch) if value.shape[0] % batch == 0 else None
        return None

    def _differs(self, given: Mapping[str, Value], got: Mapping[str, Value]) -> str:
        try:
            wanted = self._run(given)
        except BenchError as error:
            return f"the original does not take what the result takes: {error.what}"
        if list(wanted) != list(got):
            return f"the outputs are {', '.join(got)}, not {', '.join(wanted)}"
        for name, want in wanted.items():
            found = self._like(want, got[name])
            gap = difference(want, found)
            dtype = want.dtype if isinstance(want, np.ndarray) else np.dtype(np.float32)
            allowed = self._allowed(dtype) if dtype.kind not in "iub" else 0.0
            if gap.within(allowed) or self._by_rounding(name, want, found, gap.max_of_range, gap.mismatches, given):
                self.worst = max(self.worst, gap.max_of_range if dtype.kind not in "iub" else 0.0)
                continue
            if gap.note or gap.mismatches:
                return f"output {name}: {gap.note or f'{gap.mismatches} of {gap.elements} elements differ'}"
            return f"output {name} differs by {gap.max_of_range:.2g} of its range, {allowed:.0e} is allowed"
        return ""

    def _like(self, want: Value, got: Value) -> Value:
        """A narrow output in the original's float type, so that the numbers can be compared."""
        if isinstance(want, np.ndarray) and isinstance(got, np.ndarray) and want.dtype != got.dtype:
            narrower = got.dtype == np.float16 or got.dtype in NARROW
            integer = want.dtype == np.int64 and got.dtype == np.int32
            if (narrower and want.dtype.kind == "f") or integer:
                return np.asarray(got.astype(want.dtype))
        return got

    def _by_rounding(
        self, name: str, want: Value, got: Value, gap: float, mismatches: int, given: Mapping[str, Value]
    ) -> bool:
        """Whether the original turns the last bits of the type the result computes in into such a difference."""
        if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray) or want.shape != got.shape:
            return False
        bits = BITS.get(self.narrow, 1) if self.narrow is not None else 1

        def run(moved: Mapping[str, Value]) -> Value:
            return self._run(moved)[name]

        feeds = {k: self._typed(k, v) for k, v in given.items()}
        if want.dtype.kind not in "iub":
            return not mismatches and gap <= 8 * moves(run, feeds, want, bits)
        return self._tied(name, want, got, feeds) or flips(run, feeds, want, got, bits)

    def _tied(self, name: str, want: Array, got: Array, feeds: Mapping[str, Value]) -> bool:
        node = edge(self.before.graph, name)
        if node is None or self._rows(feeds) is not None:
            return False
        try:
            names = [t.name for t in node.inputs if t.name and not hasattr(t, "values")]
            made = self._run(feeds, names)
        except BenchError:
            return False
        inputs: list[Value] = [getattr(t, "values", None) if t.name not in made else made[t.name] for t in node.inputs]
        return on_edge(node, inputs, want, got, self._allowed)


def _part(value: Value, row: int, size: Any) -> Value:
    return value[row * size : (row + 1) * size] if isinstance(value, np.ndarray) and value.ndim else value


def _joined(values: list[Value]) -> Value:
    arrays = [v for v in values if isinstance(v, np.ndarray) and v.ndim]
    return np.concatenate(arrays) if len(arrays) == len(values) else values[0]


__all__ = ["Conversion", "ConversionVerifier"]
