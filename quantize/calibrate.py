"""One streaming pass over the samples: each tensor goes to its observer as it is made, then is gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.errors import QuantizationError
from exec.ir import Model
from exec.progress import Cancel, Progress, check, report
from exec.session import Session
from quantize.observers import Observer, observer
from quantize.samples import Samples


@dataclass
class Calibration:
    """What the pass saw.

    observers  by tensor name
    shapes     of every value of the first sample, by name
    outputs    the float outputs of the samples kept for judging the result
    """

    observers: dict[str, Observer]
    samples: int = 0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kept: list[tuple[Mapping[str, Value], dict[str, Value]]] = field(default_factory=list)


def calibrate(
    model: Model, samples: Samples, names: Collection[str], method: str, *, keep: int = 4, progress: Progress | None = None, cancel: Cancel | None = None
) -> Calibration:  # fmt: skip
    """Run every sample once and observe the tensors called `names`.

    keep   samples whose inputs and outputs are kept, spread over the first ones
    Raises QuantizationError on NaN, naming tensor and sample.
    """
    session = Session(model)
    wanted = set(names)
    found = Calibration({name: observer(method) for name in wanted})
    outputs = [o.name for o in model.outputs]
    for number, feeds in enumerate(samples):
        check(cancel, "the calibration")
        report(progress, number, samples.count or 0, "calibrating")
        for name, value in feeds.items():
            if name in wanted:
                _see(found.observers[name], name, value, number)

        def hook(node: Any, values: Mapping[str, Value], number: int = number) -> None:
            for name, value in values.items():
                if number == 0 and isinstance(value, np.ndarray):
                    found.shapes[name] = value.shape
                if name in wanted:
                    _see(found.observers[name], name, value, number)

        results = session.run(feeds, outputs, hook=hook)
        if number == 0:
            found.shapes.update({n: v.shape for n, v in feeds.items() if isinstance(v, np.ndarray)})
        if len(found.kept) < keep:
            found.kept.append((feeds, results))
        found.samples += 1
    if not found.samples:
        raise QuantizationError("no calibration sample", why=samples.source, hint="give at least one sample of inputs")
    return found


def _see(into: Observer, name: str, value: Value, number: int) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fV":
        return
    if value.size and np.isnan(value.astype(np.float32) if value.dtype.kind == "V" else value).any():
        raise QuantizationError(
            f"sample {number} makes NaN",
            f"tensor {name}",
            "a range cannot be taken of it",
            "leave the sample out, or look at its inputs",
        )
    into.see(value)


def names_of(tensors: Iterable[Any]) -> list[str]:
    """The names of tensors, each once, in order."""
    return list(dict.fromkeys(t.name for t in tensors))
