"""Arrays from .npz and .npy files, by input: under the input's name, as the user says, or where only one can be meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exec.arrayfile import open_arrays
from exec.errors import FeedError
from exec.ir import Model, ValueInfo

MEANT = ("calib", "train")
"""How the names of arrays begin that are there to be calibrated with, where several fit."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A file, and which of its arrays is which input.

    arrays  input → array, as far as the user said
    """

    path: Path
    arrays: Mapping[str, str]

    @classmethod
    def of(cls, text: str | Path) -> Archive:
        """Understand FILE, or FILE.npz:input=array,input=array."""
        found = None if Path(text).exists() else re.fullmatch(r"(.+\.npz):([^:]*=.*)", str(text))
        if found is None:
            return cls(Path(text), {})
        pairs = [part.partition("=") for part in found[2].split(",")]
        return cls(Path(found[1]), {name.strip(): array.strip() for name, _, array in pairs})

    def read(self, model: Model) -> tuple[dict[str, Any], str]:
        """The arrays by input, and a remark on those that go by another name."""
        hint = "an .npz or .npy file made by numpy is needed"
        with open_arrays(self.path, "calibration data cannot be read", hint) as loaded:
            if loaded.is_single:
                return self._single(model, loaded[""]), ""
            names = list(loaded.names)
            unknown = [n for n in self.arrays if n not in {i.name for i in model.inputs}]
            if unknown:
                inputs = ", ".join(i.name for i in model.inputs)
                raise FeedError(f"the model has no input {unknown[0]!r}", str(self.path), f"its inputs are {inputs}")
            chosen = {i.name: self.arrays.get(i.name, i.name) for i in model.inputs}
            missing = [i for i in model.inputs if chosen[i.name] not in names]
            if missing and any(i.name in self.arrays for i in missing):
                wrong = next(self.arrays[i.name] for i in missing if i.name in self.arrays)
                raise FeedError(f"no array {wrong!r}", str(self.path), f"it has {', '.join(names) or 'none'}")
            arrays = {n: loaded[n] for n in (names if missing else chosen.values())}
        free = {n: a for n, a in arrays.items() if n not in {chosen[i.name] for i in model.inputs if i not in missing}}
        for info in missing:
            chosen[info.name] = self._meant(info, free, arrays)
            free.pop(chosen[info.name])
        renamed = ", ".join(f"{array} as {name}" for name, array in chosen.items() if name != array)
        return {name: arrays[array] for name, array in chosen.items()}, f" ({renamed})" if renamed else ""

    def _single(self, model: Model, array: Any) -> dict[str, Any]:
        names = [i.name for i in model.inputs]
        if len(names) != 1:
            why = f"the model has {len(names)} inputs: {', '.join(names)}"
            raise FeedError("an .npy file holds one array", str(self.path), why, "use .npz with arrays by input name")
        return {names[0]: array}

    def _meant(self, info: ValueInfo, free: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
        """The one free array that fits `info`."""
        fitting = [n for n, a in free.items() if fits(info, a)]
        marked = [n for n in fitting if n.lower().startswith(MEANT)]
        for found in (fitting, marked):
            if len(found) == 1:
                return found[0]
        if fitting:
            hint = f"--data {self.path}:{info.name}={fitting[0]}"
            raise FeedError(
                f"no array for input {info.name!r}",
                str(self.path),
                f"{len(fitting)} arrays fit it: {', '.join(fitting)}",
                hint,
            )
        held = ", ".join(f"{n} {a.dtype}{list(a.shape)}" for n, a in arrays.items()) or "none"
        wanted = "" if info.shape is None else f" of {info.dtype}[{', '.join(str(d) for d in info.shape)}]"
        hint = f"numpy.savez(path, {info.name}=array{wanted})"
        raise FeedError(f"no array for input {info.name!r}", str(self.path), f"it has {held}", hint)


def fits(info: ValueInfo, array: Any) -> bool:
    """Whether `array` can be samples of `info`, stacked along the first axis."""
    if info.shape is None or array.ndim != len(info.shape) or not array.ndim:
        return False
    if _class(array.dtype) != _class(info.dtype):
        return False
    return all(
        not isinstance(want, int) or want == got for want, got in zip(info.shape[1:], array.shape[1:], strict=True)
    )


def _class(dtype: np.dtype[Any]) -> str:
    return "float" if dtype.kind in "fV" else "integer" if dtype.kind in "iu" else dtype.kind
