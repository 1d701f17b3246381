"""Inputs nobody gave: valid ones, made from shapes, tables, comparisons and a seed, with every assumption said.

Random integers crash any embedding, and a random sample rate takes the wrong branch: verification, profiles, calibration and
comparison all stand on inputs a model would really get.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import BenchError, FeedError, UnsupportedOp
from exec.feed_pinned import pinned_sizes, pins_elements
from exec.feed_roles import Roles, roles_of
from exec.feed_sizes import PRESETS, SMALL, STATE, Preset, Sizes
from exec.kernels.growth import ask
from exec.program import function_key

MOST_NAME = 1000
"""Characters of a name that are searched for what it means."""

MOST_GUESSED = 1 << 24
"""Elements of inputs whose sizes are guesses: twelve times a picture of 640 by 640. Six open axes of 16 are more."""


@dataclass(frozen=True, slots=True)
class MadeFeeds:
    """Inputs, and what had to be assumed to make them.

    samples      one dict per sample, input name to array
    assumptions  one sentence each
    sizes        symbol to size
    """

    samples: tuple[dict[str, Value], ...]
    assumptions: tuple[str, ...]
    sizes: Mapping[str, int]

    @property
    def feeds(self) -> dict[str, Value]:
        """The first sample."""
        return self.samples[0]


def make_feeds(
    model: Any, *, seed: int = 0, dims: Mapping[str, int] | None = None, count: int = 1, check: bool = True
) -> MadeFeeds:
    """Make `count` samples for `model`.

    dims   sizes for open axes: {"batch": 2}, or {"input_ids:1": 64} where an axis has no name
    check  where sizes had to be guessed, run once and try others if the model does not take them
    """
    functions = {function_key(f.domain, f.name, getattr(f, "overload", "")): f for f in model.graph.functions}
    inputs = [t for t in model.graph.inputs if getattr(t, "default", None) is None]
    roles = {t.name: roles_of(t, functions) for t in inputs}
    first: tuple[MadeFeeds, BenchError] | None = None
    tried: set[tuple[tuple[int, ...], ...]] = set()
    unsure: bool | None = None if check else False
    for preset in _presets(model):
        made, sizes = _make(inputs, roles, dict(dims or {}), preset, seed, count)
        if unsure is None:
            unsure = sizes.open or (sizes.batch and pins_elements(model))
        if not unsure:
            return made
        shapes = tuple(np.shape(v) if isinstance(v, np.ndarray) else () for v in made.feeds.values())
        if shapes in tried:
            continue
        tried.add(shapes)
        from exec.session import Session  # only what runs a model needs all that running takes

        try:
            Session(model, kernels="numpy").run(made.feeds)
        except UnsupportedOp:
            return made  # no sizes help: who runs it is told which node has no kernel
        except BenchError as refused:
            first = first or (made, refused)
        else:
            return made
    assert first is not None
    made, error = first
    raise FeedError(
        "no sizes were found that the model takes",
        why=f"with {', '.join(made.assumptions)}: {error.what}",
        hint="say them: --dim NAME=SIZE, or give inputs with --inputs",
    ) from error


def _presets(model: Any) -> Iterator[Preset]:
    """What to try in turn: usual sizes, then those that stand in the model."""
    yield from PRESETS
    pinned = pinned_sizes(model)
    for batch in (1, *pinned):
        for size in (PRESETS[0].tokens, *pinned):
            yield Preset(size, size, size, size, batch)


def _make(
    inputs: list[Any], roles: Mapping[str, Roles], dims: Mapping[str, int], preset: Preset, seed: int, count: int
) -> tuple[MadeFeeds, Sizes]:
    sizes = Sizes(inputs, dims, preset)
    shapes = {t.name: sizes.shape(t, _kind(t), roles[t.name]) for t in inputs}
    if sizes.open and sum(map(math.prod, shapes.values())) > MOST_GUESSED:
        sizes = Sizes(inputs, dims, SMALL)
        shapes = {t.name: sizes.shape(t, _kind(t), roles[t.name]) for t in inputs}
    notes = list(sizes.notes)
    samples = []
    for sample in range(count):
        said: list[str] = []
        rng = np.random.default_rng([seed, sample])
        samples.append({t.name: _value(t, shapes[t.name], roles[t.name], rng, said) for t in inputs})
        if sample == 0:
            notes += said
    return MadeFeeds(tuple(samples), tuple(notes), dict(sizes.symbols)), sizes


def _kind(tensor: Any) -> str:
    dtype = tensor.dtype
    if dtype is None or isinstance(dtype, int):
        return "f"
    kind = np.dtype(dtype).kind
    return "f" if kind == "V" else kind


def _value(tensor: Any, shape: tuple[int, ...], roles: Roles, rng: np.random.Generator, said: list[str]) -> Value:
    if tensor.type == "optional_type":
        said.append(f"{tensor.name}: empty")
        return None
    array = _array(tensor, shape, roles, rng, said)
    if tensor.type == "sequence_type":
        said.append(f"{tensor.name}: a sequence of one")
        return [array]
    return array


def _array(tensor: Any, shape: tuple[int, ...], roles: Roles, rng: np.random.Generator, said: list[str]) -> Array:
    name, lower, kind = tensor.name, tensor.name[:MOST_NAME].lower(), _kind(tensor)
    if len(shape) > 64 or math.prod(shape) * 8 >= 1 << 63:
        said_shape = f"its shape is {list(shape)}" if len(shape) <= 8 else f"it has {len(shape)} axes"
        raise FeedError(f"no array can be made for input '{name}'", why=said_shape, hint="give one with --inputs")
    ask(math.prod(shape) * 8)
    dtype = np.dtype(np.float32) if tensor.dtype is None or isinstance(tensor.dtype, int) else np.dtype(tensor.dtype)

    def note(what: str) -> None:
        said.append(f"{name}: {what}")

    if kind == "b":
        on = len(shape) > 0 and int(np.prod(shape)) > 1
        note("all true" if on else "false")
        return np.full(shape, on)
    if kind in "OUST":
        note("the text 'a'")
        return np.full(shape, "a", dtype=object)
    if kind in "iu":
        return _integers(lower, shape, dtype, roles, rng, note)
    if roles.compared and int(np.prod(shape)) == 1:
        note(f"{roles.compared[0]:g}, which it is compared with")
        return np.full(shape, roles.compared[0], dtype)
    if kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if roles.positive or (len(shape) >= 4 and shape[1] in (1, 3, 4)):
        note("uniform in [0, 1)")
        return rng.random(shape, np.float32).astype(dtype)
    if len(shape) == 2 and shape[-1] >= 400:
        note("noise in ±0.1, as from a microphone")
        return ((rng.random(shape, np.float32) - 0.5) * 0.2).astype(dtype)
    scale = 0.1 if STATE.search(lower) else 1.0
    note(f"normal, standard deviation {scale:g}")
    return (rng.standard_normal(shape, np.float32) * scale).astype(dtype)


def _integers(
    name: str, shape: tuple[int, ...], dtype: np.dtype[Any], roles: Roles, rng: np.random.Generator, note: Any
) -> Array:
    if "position" in name and shape:
        note("0, 1, 2, … along the last axis")
        return np.broadcast_to(np.arange(shape[-1]), shape).astype(dtype)
    if "mask" in name:
        note("all ones")
        return np.ones(shape, dtype)
    if "token_type" in name or "segment" in name:
        note("all zeros")
        return np.zeros(shape, dtype)
    if roles.bound is not None:
        note(f"below {roles.bound}, the table of {roles.bounded_by}")
        top = min(roles.bound, int(np.iinfo(dtype).max) + 1)
        return rng.integers(0, top, shape).astype(dtype)
    if roles.compared and int(np.prod(shape)) == 1:
        note(f"{roles.compared[0]:g}, which it is compared with")
        return np.full(shape, roles.compared[0]).astype(dtype)
    if len(roles.compared) > 2:
        note(f"any of the {len(roles.compared)} values it is compared with")
        return rng.choice(np.asarray(roles.compared), shape).astype(dtype)
    if dtype.itemsize == 1 and len(shape) >= 3:
        info = np.iinfo(dtype)
        note(f"uniform in [{info.min}, {info.max}]")
        return rng.integers(info.min, int(info.max) + 1, shape).astype(dtype)
    note("all ones")
    return np.ones(shape, dtype)
