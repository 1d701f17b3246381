"""One streaming pass over the samples: each tensor goes to its watchers as it is made, then is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from exec.arrays import Array, Value
from exec.errors import QuantizationError
from exec.ir import Model
from exec.progress import Cancel, Progress, check, report
from exec.session import Session
from quantize.samples import Samples


class Watcher(Protocol):
    """What is shown a tensor's value, sample by sample: an observer of its range, or of its products."""

    def see(self, values: Array) -> None:
        """One sample's value."""


@dataclass
class Calibration:
    """What the pass saw.

    samples  how many
    shapes   of every value of the first sample, by name
    kept     inputs and outputs of the first samples, to judge the result by
    """

    samples: int = 0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kept: list[tuple[Mapping[str, Value], dict[str, Value]]] = field(default_factory=list)


def calibrate(
    model: Model,
    samples: Samples,
    watchers: Mapping[str, Sequence[Watcher]],
    *,
    keep: int = 4,
    most: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Calibration:
    """Run every sample once (at most `most`) and show each value named in `watchers` to its watchers.

    keep   samples whose inputs and outputs are kept
    Raises QuantizationError on NaN, naming tensor and sample.
    """
    session = Session(model)
    found = Calibration()
    outputs = [o.name for o in model.outputs]
    for number, feeds in enumerate(samples):
        if number == most:
            break
        check(cancel, "the calibration")
        report(progress, number, samples.count or 0, "calibrating")
        for name, value in feeds.items():
            _show(watchers.get(name, ()), name, value, number)

        def hook(node: Any, values: Mapping[str, Value], number: int = number) -> None:
            for name, value in values.items():
                if number == 0 and isinstance(value, np.ndarray):
                    found.shapes[name] = value.shape
                if name in watchers:
                    _show(watchers[name], name, value, number)

        results = session.run(feeds, outputs, hook=hook)
        if number == 0:
            found.shapes.update({n: v.shape for n, v in feeds.items() if isinstance(v, np.ndarray)})
        if len(found.kept) < keep:
            found.kept.append((feeds, results))
        found.samples += 1
    if not found.samples:
        raise QuantizationError("no calibration sample", why=samples.source, hint="give at least one sample of inputs")
    return found


def _show(to: Sequence[Watcher], name: str, value: Value, number: int) -> None:
    if not to or not isinstance(value, np.ndarray) or value.dtype.kind not in "fV":
        return
    values = value.astype(np.float32) if value.dtype.kind == "V" else value
    if values.size and np.isnan(values).any():
        what = f"sample {number} makes NaN"
        raise QuantizationError(
            what, f"tensor {name}", "a range cannot be taken of it", "leave the sample out, or look at its inputs"
        )
    for watcher in to:
        watcher.see(values)
