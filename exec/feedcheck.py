"""Do these arrays fit the model's inputs? Said by name, with what was expected and what came."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.binding import describe
from exec.errors import FeedError, nearest

WEIGHTS = "owb.weights"
"""A graph's metadata: the JSON list of inputs that had a default and are weights now."""


def check_feeds(
    feeds: Mapping[str, Value], inputs: Sequence[Any], optional: Mapping[str, Any], weights: str = ""
) -> dict[str, Value]:
    """The feeds by name, plain Python numbers made arrays; `FeedError` where one does not fit.

    inputs    the graph's input tensors
    optional  names that have a default (overridable initializers)
    weights   what the graph's metadata say under `WEIGHTS`
    """
    names = dict.fromkeys(t.name for t in inputs)
    for name in feeds:
        if name not in names:
            if json.dumps(name, ensure_ascii=False) in weights:
                raise FeedError(
                    f"'{name}' is no input any more",
                    why="it had a default, and became a weight that may be folded into others",
                    hint="`owb optimize --overridable keep` leaves such inputs as they are",
                )
            known = ", ".join(names) or "none"
            hint = nearest(name, names)
            raise FeedError(f"the model has no input '{name}'", why=f"its inputs are {known}", hint=hint)
    checked: dict[str, Value] = {}
    for tensor in inputs:
        if tensor.name in feeds:
            checked[tensor.name] = _fitted(feeds[tensor.name], tensor)
        elif tensor.name not in optional and tensor.type != "optional_type":
            given = ", ".join(feeds) or "nothing"
            raise FeedError(
                f"input '{tensor.name}' is missing", why=f"expected {expected(tensor)}; given: {given}",
                hint="every input without a default must be given",
            )  # fmt: skip
    return checked


def expected(tensor: Any) -> str:
    """ "float32[batch,3,224,224]" of a graph input."""
    dtype = _dtype(tensor)
    name = "a value of unknown type" if dtype is None else "string" if dtype.kind == "O" else str(dtype)
    if tensor.type in ("sequence_type", "optional_type", "map_type"):
        return f"{tensor.type.removesuffix('_type')} of {name}"
    return name if tensor.shape is None else f"{name}[{','.join('?' if d is None else str(d) for d in tensor.shape)}]"


def _dtype(tensor: Any) -> np.dtype[Any] | None:
    if tensor.dtype is None or isinstance(tensor.dtype, int):
        return None
    return np.dtype(tensor.dtype)  # type: ignore[no-any-return, unused-ignore]


def _fitted(value: Value, tensor: Any) -> Value:
    if tensor.type in ("sequence_type", "optional_type", "map_type"):
        fits = {"sequence_type": (list, tuple), "map_type": (dict, list), "optional_type": (object,)}[tensor.type]
        if not isinstance(value, fits):
            why = f"expected {expected(tensor)}, got {describe(value)}"
            raise FeedError(f"input '{tensor.name}' has another type", why=why)
        return list(value) if isinstance(value, tuple) else value
    dtype = _dtype(tensor)
    if not isinstance(value, (np.ndarray, np.generic)):
        try:
            array = np.asarray(value)
            value = array if dtype is None else array.astype(dtype, casting="same_kind")
        except (TypeError, ValueError) as error:
            raise FeedError(
                f"input '{tensor.name}' is no array", why=f"expected {expected(tensor)}, got {type(value).__name__}"
            ) from error
    value = np.asarray(value)
    text = dtype is not None and dtype.kind in "OUS" and value.dtype.kind in "OUST"
    if dtype is not None and value.dtype != dtype and not text:
        raise FeedError(
            f"input '{tensor.name}' has another element type",
            why=f"expected {expected(tensor)}, got {describe(value)}",
            hint=f"convert it: x.astype('{dtype}')",
        )
    shape = tensor.shape
    if shape is not None:
        fixed = len(shape) == value.ndim and all(
            not isinstance(want, int) or want <= 0 or want == got for want, got in zip(shape, value.shape, strict=True)
        )
        if not fixed:
            why = f"expected {expected(tensor)}, got {describe(value)}"
            raise FeedError(f"input '{tensor.name}' has another shape", why=why)
    return value
