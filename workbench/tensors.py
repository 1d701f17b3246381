"""The weights of a model: which there are, and what values they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exec.arrays import Array
from exec.dtypes import dtype_name
from exec.ir import Constant, Model
from workbench.nodes import default_of, graphs

BINS = 24
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One weight.

    readers  nodes that read it; a Constant node's value counts as read by that node
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    weight_bytes: int
    readers: tuple[str, ...]
    graph: str


@dataclass(frozen=True, slots=True)
class TensorStats:
    """Statistics over the finite elements.

    histogram  counts of equal-width bins from min to max
    int8_db    SQNR when rounded to symmetric int8 with one scale for the whole tensor
    channel_db the same with one scale a row of the first axis; None below rank 2
    """

    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    zeros: int
    nonfinite: int
    histogram: tuple[int, ...]
    int8_db: float | None
    channel_db: float | None


def constants(model: Model) -> Iterator[tuple[str, Constant, tuple[str, ...]]]:
    """(graph path, weight, names of its readers), each weight once; an input's default is one, too."""
    seen: set[int] = set()
    for path, graph in graphs(model):
        for node in graph.nodes:
            label = node.name or node.op
            for tensor in node.inputs:
                if id(tensor) not in seen:
                    weight = tensor if isinstance(tensor, Constant) else default_of(tensor)
                    if weight is not None:
                        seen.add(id(tensor))
                        yield path, weight, tuple(n.name or n.op for n in tensor.outputs)
            for key, value in node.attrs.items():
                if isinstance(value, Constant) and id(value) not in seen:
                    seen.add(id(value))
                    name = node.outputs[0].name if node.op == "Constant" and node.outputs else f"{label}.{key}"
                    yield path, _named(value, name), (label,)


def _named(value: Constant, name: str) -> Constant:
    return value if value.name else Constant(name, value._values)


def tensor_rows(model: Model) -> tuple[list[TensorRow], list[Constant]]:
    """Every weight, and the constant behind each row; no value is read."""
    rows, weights = [], []
    for path, constant, readers in constants(model):
        rows.append(
            TensorRow(constant.name, dtype_name(constant.dtype), tuple(constant.shape), constant.nbytes, readers, path)
        )
        weights.append(constant)
    return rows, weights


def tensor_stats(values: Array) -> TensorStats | None:
    """Look at the values in chunks; None for texts and complex numbers."""
    if values.dtype.kind in "OUSTc":
        return None
    flat = values.reshape(-1)
    if not flat.size:
        return TensorStats(None, None, None, None, 0, 0, (), None, None)
    low, high, total, square = np.inf, -np.inf, 0.0, 0.0
    zeros = finite = 0
    for part in _parts(flat):
        good = part[np.isfinite(part)]
        finite += good.size
        zeros += int(np.count_nonzero(good == 0))
        if good.size:
            low, high = min(low, float(good.min())), max(high, float(good.max()))
            total += float(good.sum())
            square += float(np.square(good).sum())
    if not finite:
        return TensorStats(None, None, None, None, 0, int(flat.size), (), None, None)
    mean = total / finite
    return TensorStats(
        low, high, mean, max(square / finite - mean * mean, 0.0) ** 0.5, zeros, int(flat.size) - finite,
        _histogram(flat, low, high), _int8_db(flat[None]), _int8_db(values.reshape(values.shape[0], -1)) if values.ndim > 1 else None,
    )  # fmt: skip


def _parts(flat: Array) -> Iterator[Array]:
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK].astype(np.float64)


def _histogram(flat: Array, low: float, high: float) -> tuple[int, ...]:
    if low == high:
        return (int(flat.size),)
    counts = np.zeros(BINS, np.int64)
    for part in _parts(flat):
        counts += np.histogram(part[np.isfinite(part)], BINS, (low, high))[0]
    return tuple(counts.tolist())


def _int8_db(rows: Array) -> float | None:
    """Noise of symmetric int8 with one scale a row; None for a weight that is not floating or has no signal."""
    if rows.dtype.kind not in "fV" or rows.size > 64 * _CHUNK:
        return None
    wide = rows.astype(np.float32)
    if not np.isfinite(wide).all():
        return None
    scale = np.abs(wide).max(1, keepdims=True) / 127
    scale[scale == 0] = 1
    noise = wide - np.clip(np.rint(wide / scale), -127, 127) * scale
    signal, lost = float(np.square(wide, dtype=np.float64).sum()), float(np.square(noise, dtype=np.float64).sum())
    if not signal:
        return None
    return float("inf") if not lost else 10 * float(np.log10(signal / lost))
