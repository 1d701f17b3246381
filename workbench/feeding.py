"""Inputs for a run: from a file, or generated and said what was assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exec.arrayfile import open_arrays
from exec.arrays import Value
from exec.errors import FeedError, OptionError
from exec.feeds import make_feeds
from exec.ir import Model
from exec.wording import counted


@dataclass(frozen=True, slots=True)
class Feeds:
    """Inputs by name, and the sentences that say where they come from.

    values       one array an input
    assumptions  what was made up: "batch = 1", "ids below 30522, the rows of embeddings.weight"
    """

    values: dict[str, Value]
    assumptions: tuple[str, ...] = ()


def parse_dims(pairs: Sequence[str]) -> dict[str, int]:
    """("batch=2", "seq=128") → {"batch": 2, "seq": 128}."""
    dims = {}
    for pair in pairs:
        name, equals, size = pair.partition("=")
        if not equals or not size.isdigit() or not name:
            raise OptionError(f"--dim {pair!r} is not NAME=N", hint="for example --dim batch=1")
        dims[name] = int(size)
    return dims


def feeds_for(model: Model, path: str | None = None, *, dims: Mapping[str, int] | None = None, seed: int = 0) -> Feeds:
    """Inputs from an .npz file, or generated from the seed. What a recording holds of outputs beside its inputs is left aside."""
    if path is not None:
        found = read_inputs(path, [info.name for info in model.inputs])
        recorded = {t.name for t in model.graph.outputs} - {t.name for t in model.graph.inputs}
        values = {name: value for name, value in found.items() if name not in recorded}
        aside = (
            f", without the outputs {', '.join(sorted(found.keys() - values.keys()))}"
            if len(values) < len(found)
            else ""
        )
        return Feeds(values, (f"inputs from {path}{aside}",))
    made = make_feeds(model, seed=seed, dims=dict(dims or {}))
    return Feeds(made.feeds, made.assumptions)


def read_inputs(path: str | Path, names: Sequence[str] = ()) -> dict[str, Value]:
    """The arrays of an .npz file by name, or the one of an .npy file for a model of one input; never unpickles."""
    with open_arrays(path, "the inputs cannot be read", "an .npz file made by numpy.savez is needed") as archive:
        if not archive.is_single:
            return {name: archive[name] for name in archive.names}
        if len(names) != 1:
            raise FeedError(
                f"this file holds one array, and the model has {counted(len(names), 'input')}",
                str(path),
                hint="save with numpy.savez(path, input_name=array)",
            )
        return {names[0]: archive[""]}


def save_npz(path: str | Path, values: Mapping[str, Value]) -> None:
    """Write arrays by name."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in values.items()}
    np.savez(Path(path), **arrays)
