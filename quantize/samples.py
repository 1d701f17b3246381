"""Calibration data: files, folders, Python, or generated; one sample at a time, never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.errors import FeedError, OptionError, QuantizationError
from exec.feeds import make_feeds
from exec.ir import Model
from exec.wording import counted
from quantize.archives import Archive
from quantize.findings import Finding
from quantize.images import SUFFIXES, Images
from quantize.importing import imported, is_callable

Sample = Mapping[str, Value]
GENERATED = 16
MOST_GENERATED = 100_000
"""More is a slip of a finger, or a recipe that wants to run for ever."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Where samples come from; iterating starts again from the first.

    source     for the report: "calib.npz, 128 samples", "generated, seed 0"
    generated  nobody gave data: accuracy figures mean nothing
    bare       pictures that were only scaled: nobody said how the training normalised them
    """

    source: str
    make: Callable[[], Iterator[Sample]]
    count: int | None
    generated: bool = False
    bare: bool = False

    def __iter__(self) -> Iterator[Sample]:
        return self.make()

    def remarks(self, *, calibrated: bool = True) -> list[Finding]:
        """What makes the figures of these samples doubtful.

        calibrated  whether ranges are measured on them; otherwise they only judge
        """
        found = []
        if self.generated:
            hint = "--data FILE: accuracy on real inputs is not known without it"
            found.append(Finding("Q001" if calibrated else "Q017", "warning", "", self.source, hint))
        if self.bare:
            hint = "--mean and --std as in the model's training"
            found.append(Finding("Q016", "warning", "", f"{self.source}: pixels were divided by 255 only", hint))
        return found


def samples_of(model: Model, data: Any) -> Samples:
    """Understand `data`.

    None or an int   that many generated samples
    a path           an .npz (one sample, or arrays stacked along a first sample axis), or a folder of .npy/.npz files or of pictures
    FILE.npz:input=array,…   an .npz whose arrays go by other names (found by themselves where only one fits)
    module:function  a Python callable, imported from the working directory or the environment
    Images           a folder of pictures, and how they are normalised
    a mapping        one sample
    an array         of the only input: samples along its first axis
    a callable       called for an iterator of samples
    an iterable      of samples, or of arrays of the only input
    Of a model that takes one at a time, a sample of many is split.
    """
    found = _understood(model, data)
    if found.generated:
        return found
    return replace(found, make=lambda: _one_by_one(model, found.make()))


def _one_by_one(model: Model, given: Iterator[Any]) -> Iterator[Sample]:
    for number, entry in enumerate(given):
        sample = named(model, entry)
        if _is_empty(model, sample):
            shapes = ", ".join(f"{n} is {list(np.shape(v))}" for n, v in sample.items())
            hint = "leave it out, or give it a batch of at least 1"
            raise QuantizationError(f"calibration sample {number} has no element", why=shapes, hint=hint)
        yield from split(model, sample)


def _is_empty(model: Model, sample: Sample) -> bool:
    """Whether no input has an element, and the model does not ask for that."""
    arrays = [(i.shape, sample[i.name]) for i in model.inputs if isinstance(sample.get(i.name), np.ndarray)]
    if not arrays or any(np.size(v) for _, v in arrays):
        return False
    return not all(shape is not None and 0 in shape for shape, _ in arrays)


def _understood(model: Model, data: Any) -> Samples:
    if data is None or isinstance(data, int):
        return _generated(model, data or GENERATED)
    if isinstance(data, str) and is_callable(data) and not Path(data).exists():
        return Samples(data, lambda: iter(imported(data)()), None)
    if isinstance(data, (str, Path)):
        return _from_path(model, Archive.of(data))
    if isinstance(data, Images):
        count = len(data.files)
        bare = not data.mean and model.inputs[0].dtype.kind not in "iu"
        return Samples(
            f"{Path(data.folder).name}/, {counted(count, 'image')}", lambda: data.read(model), count, bare=bare
        )
    if isinstance(data, np.ndarray):
        return Samples(f"an array of {len(data) if data.ndim else 1}", lambda: iter([named(model, data)]), None)
    if isinstance(data, Mapping):
        return Samples("one sample", lambda: iter([data]), 1)
    if callable(data):
        return Samples("a Python callable", lambda: iter(data()), None)
    if isinstance(data, Iterable):
        kept = data if isinstance(data, (list, tuple)) else list(data)
        return Samples(counted(len(kept), "sample"), lambda: iter(kept), len(kept))
    raise FeedError(
        f"calibration data of type {type(data).__name__}",
        hint="give a path, a list of dicts of arrays, or a callable that gives an iterator of them",
    )


def named(model: Model, sample: Any) -> Sample:
    """A sample by input names: an array is that of the only input."""
    if isinstance(sample, Mapping):
        return sample
    names = [i.name for i in model.inputs]
    if isinstance(sample, np.ndarray) and len(names) == 1:
        return {names[0]: sample}
    raise FeedError(
        f"a calibration sample of type {type(sample).__name__}",
        why=f"the model has {counted(len(names), 'input')}: {', '.join(names)}",
        hint="a sample is a dict of arrays by input name",
    )


def split(model: Model, sample: Sample) -> Iterator[Sample]:
    """The samples in one of several: where all inputs have the same multiple of the batch the model is fixed to."""
    steps: dict[str, int] = {}
    counts: set[int] = set()
    for info in model.inputs:
        value, shape = sample.get(info.name), info.shape
        step = shape[0] if shape else None
        if not isinstance(value, np.ndarray) or shape is None or value.ndim != len(shape):
            yield sample
            return
        if not isinstance(step, int) or step < 1 or len(value) % step:
            yield sample
            return
        steps[info.name] = step
        counts.add(len(value) // step)
    if len(counts) != 1 or set(steps) != set(sample) or max(counts) < 2:
        yield sample
        return
    arrays: dict[str, Any] = dict(sample)
    for k in range(counts.pop()):
        yield {n: arrays[n][k * step : (k + 1) * step] for n, step in steps.items()}


def _generated(model: Model, count: int) -> Samples:
    """Samples made one at a time, all of the first one's sizes."""
    if count > MOST_GENERATED:
        raise OptionError(
            f"{count:,} generated samples", why=f"{MOST_GENERATED:,} are the most", hint="16 to 256 are usual"
        )
    first = make_feeds(model)
    dims: dict[str, int] = {}
    for info in model.inputs:
        value = first.feeds.get(info.name)
        if info.shape is not None and isinstance(value, np.ndarray):
            dims.update(
                {f"{info.name}:{k}": value.shape[k] for k, d in enumerate(info.shape) if not isinstance(d, int)}
            )

    def make() -> Iterator[Sample]:
        return (make_feeds(model, seed=seed, dims=dims, check=False).feeds for seed in range(count))

    return Samples(f"{count} generated, seeds 0 to {count - 1}: " + "; ".join(first.assumptions[:6]), make, count, True)


def _from_path(model: Model, archive: Archive) -> Samples:
    path = archive.path
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".npy", ".npz"))
        if not files and any(p.suffix.lower() in SUFFIXES for p in path.iterdir()):
            return _understood(model, Images(path))
        if not files:
            raise FeedError(
                "no .npy, .npz or image file in this folder",
                str(path),
                hint="one file a sample: an array for a model of one input, or arrays by input name",
            )
        return Samples(
            f"{path.name}/, {counted(len(files), 'file')}",
            lambda: (Archive(f, {}).read(model)[0] for f in files),
            len(files),
        )
    arrays, remark = archive.read(model)
    count = _stacked(model, arrays)
    if count is None:
        return Samples(f"{path.name}{remark}, one sample", lambda: iter([arrays]), 1)
    return Samples(
        f"{path.name}{remark}, {counted(count, 'sample')}",
        lambda: ({n: a[k : k + 1] for n, a in arrays.items()} for k in range(count)),
        count,
    )


def _stacked(model: Model, arrays: Mapping[str, Any]) -> int | None:
    """How many samples lie along the first axis: one more than the model takes at once, the same for every input."""
    counts: set[int] = set()
    for info in model.inputs:
        array, shape = arrays[info.name], info.shape
        if shape is None or array.ndim != len(shape) or not array.ndim:
            return None
        counts.add(int(array.shape[0]))
        if isinstance(shape[0], int) and shape[0] not in (1, -1, 0) and array.shape[0] == shape[0]:
            return None
    if len(counts) != 1:
        raise QuantizationError(
            "the inputs have different numbers of samples",
            why=", ".join(f"{n} {a.shape[0]}" for n, a in arrays.items()),
        )
    return counts.pop()
