"""One streaming pass over the samples: each tensor goes to its watchers as it is made, then is gone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from exec.arrays import Array, Value
from exec.errors import QuantizationError
from exec.ir import Constant, Model
from exec.lowering.fallback import ShapeChangedError
from exec.progress import Cancel, Progress, check, report
from exec.session import Session
from quantize.memory import give_back
from quantize.samples import Sample, Samples

KERNELS = "numpy"
"""A pass is short: loading the compiler would take longer and more memory (70 MB) than its kernels save."""


class Watcher(Protocol):
    """What is shown a tensor's value, sample by sample: an observer of its range, or of its products."""

    def see(self, values: Array) -> None:
        """One sample's value."""


@dataclass
class Calibration:
    """What the pass saw.

    samples  how many
    kept     the first samples, to judge the result by
    """

    samples: int = 0
    kept: list[Sample] = field(default_factory=list)


class Runner:
    """The float model with its samples: shapes first, then one pass; the session is dropped with it."""

    def __init__(self, model: Model, samples: Samples) -> None:
        self.model, self.samples = model, samples
        self.session = Session(model, kernels=KERNELS)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all values of the first sample, and of the constants, by name."""
        first = next(iter(self.samples), None)
        if first is None:
            raise _nothing(self.samples)
        found = {t.name: tuple(t.shape) for n in self.model.graph.nodes for t in n.inputs if isinstance(t, Constant)}
        trace = self.session.traced(first)
        specs = trace.specs
        found.update({trace.names[n]: s.shape for n, s in specs.items() if trace.names[n]})
        known = {trace.names[n]: v.shape for n, v in trace.known.items() if isinstance(v, np.ndarray)}
        found.update({n: shape for n, shape in known.items() if n})
        give_back()  # what the trace tried out on the way
        return found

    def watch(
        self, watchers: Mapping[str, Sequence[Watcher]], *, keep: int = 4, progress: Progress | None = None, cancel: Cancel | None = None
    ) -> Calibration:  # fmt: skip
        """Run every sample once and show each value named in `watchers` to its watchers.

        keep   samples that are kept
        Raises QuantizationError on NaN, naming tensor and sample.
        """
        found = Calibration()
        for number, feeds in enumerate(self.samples):
            check(cancel, "the calibration")
            report(progress, number, self.samples.count or 0, "calibrating")
            for name, value in _values(self.session, feeds, watchers, cancel):
                _show(watchers[name], name, value, number)
            if len(found.kept) < keep:
                found.kept.append(feeds)
            found.samples += 1
        if not found.samples:
            raise _nothing(self.samples)
        return found


def _values(
    session: Session, feeds: Sample, names: Collection[str], cancel: Cancel | None
) -> Iterator[tuple[str, Value]]:
    """The named values of one run as they are made; together where shapes hang on the data."""
    try:
        yield from session.values(feeds, list(names), cancel=cancel)
    except ShapeChangedError:
        yield from session.run(feeds, list(names), cancel=cancel).items()


def _nothing(samples: Samples) -> QuantizationError:
    return QuantizationError("no calibration sample", why=samples.source, hint="give at least one sample of inputs")


def _show(to: Sequence[Watcher], name: str, value: Value, number: int) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fV":
        return
    values = value.astype(np.float32) if value.dtype.kind == "V" else value
    if values.size and np.isnan(values.min()):
        what = f"sample {number} makes NaN"
        raise QuantizationError(
            what, f"tensor {name}", "a range cannot be taken of it", "leave the sample out, or look at its inputs"
        )
    for watcher in to:
        watcher.see(values)
