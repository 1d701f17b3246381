"""Calibration data: files, folders, Python, or generated; one sample at a time, never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.errors import FeedError, QuantizationError
from exec.feeds import make_feeds
from exec.ir import Model

Sample = Mapping[str, Value]
GENERATED = 16


@dataclass(frozen=True, slots=True)
class Samples:
    """Where samples come from; iterating starts again from the first.

    source     for the report: "calib.npz, 128 samples", "generated, seed 0"
    generated  nobody gave data: accuracy figures mean nothing
    """

    source: str
    make: Callable[[], Iterator[Sample]]
    count: int | None
    generated: bool = False

    def __iter__(self) -> Iterator[Sample]:
        return self.make()


def samples_of(model: Model, data: Any) -> Samples:
    """Understand `data`.

    None or an int   that many generated samples
    a path           an .npz (one sample, or arrays stacked along a first sample axis), or a folder of .npy/.npz files
    a mapping        one sample
    a callable       called for an iterator of samples
    an iterable      of samples
    """
    if data is None or isinstance(data, int):
        return _generated(model, data or GENERATED)
    if isinstance(data, (str, Path)):
        return _from_path(model, Path(data))
    if isinstance(data, Mapping):
        return Samples("one sample", lambda: iter([data]), 1)
    if callable(data):
        return Samples("a Python callable", lambda: iter(data()), None)
    if isinstance(data, Iterable):
        kept = data if isinstance(data, (list, tuple)) else list(data)
        return Samples(f"{len(kept)} samples", lambda: iter(kept), len(kept))
    raise FeedError(
        f"calibration data of type {type(data).__name__}",
        hint="give a path, a list of dicts of arrays, or a callable that gives an iterator of them",
    )


def _generated(model: Model, count: int) -> Samples:
    """Samples made one at a time, all of the first one's sizes."""
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


def _from_path(model: Model, path: Path) -> Samples:
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".npy", ".npz"))
        if not files:
            raise FeedError(
                "no .npy or .npz file in this folder",
                str(path),
                hint="one file a sample: an array for a model of one input, or arrays by input name",
            )
        return Samples(f"{path.name}/, {len(files)} files", lambda: (_read(model, f) for f in files), len(files))
    arrays = _read(model, path)
    count = _stacked(model, arrays)
    if count is None:
        return Samples(f"{path.name}, one sample", lambda: iter([arrays]), 1)
    return Samples(
        f"{path.name}, {count} samples",
        lambda: ({n: a[k : k + 1] for n, a in arrays.items()} for k in range(count)),
        count,
    )


def _read(model: Model, path: Path) -> dict[str, Any]:
    names = [i.name for i in model.inputs]
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FeedError(
            "calibration data cannot be read", str(path), str(error), "an .npy or .npz file made by numpy is needed"
        ) from error
    if isinstance(loaded, np.ndarray):
        if len(names) != 1:
            raise FeedError(
                "an .npy file holds one array",
                str(path),
                f"the model has {len(names)} inputs: {', '.join(names)}",
                "use .npz with arrays by input name",
            )
        return {names[0]: loaded}
    with loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    missing = [n for n in names if n not in arrays]
    if missing:
        raise FeedError(
            f"no array for input {missing[0]!r}",
            str(path),
            f"it has {', '.join(arrays) or 'none'}",
            f"numpy.savez(path, {missing[0]}=array)",
        )
    return {n: arrays[n] for n in names}


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
