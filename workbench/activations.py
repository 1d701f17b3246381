"""The values a model computes on the way: which there are, and what they are in one run."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.dtypes import dtype_name
from exec.engines import open_engine
from exec.errors import OptionError
from exec.ir import Model
from exec.progress import Cancel, Progress, check, report
from workbench.feeding import feeds_for
from workbench.lookup import Lookup
from workbench.nodes import NodeId, Shape
from workbench.tensors import TensorStats, tensor_stats


@dataclass(frozen=True, slots=True)
class Activation:
    """A value that a node of the main graph makes.

    dtype, shape  as inferred: "" and None where they are not known
    """

    name: str
    dtype: str
    shape: Shape | None
    maker: NodeId
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """What a value was in a run; no statistics for texts, sequences and optionals."""

    dtype: str
    shape: tuple[int, ...]
    value_bytes: int
    stats: TensorStats | None


def activations(lookup: Lookup) -> list[Activation]:
    """In the order in which they are made; what a Constant node holds is a weight."""
    table, shapes = lookup.table, lookup.shapes
    out = []
    for node_id, node in zip(table.id, table.node, strict=True):
        if node_id.graph or node.op == "Constant":
            continue
        for tensor in node.outputs:
            if tensor.name:
                dtype, shape = shapes.get(id(tensor), ("", None))
                readers = tuple(table.label(lookup.row_of[lookup.places[id(n)]]) for n in tensor.outputs)
                out.append(Activation(tensor.name, dtype, shape, node_id, readers))
    return out


def computed(
    model: Model, feeds: Mapping[str, Value] | None = None, *, progress: Progress | None = None, cancel: Cancel | None = None
) -> dict[str, Computed]:  # fmt: skip
    """Run once and look at every value as it is made; none is kept. Inputs are made from a seed where none are given."""
    names = [t.name for n in model.graph.nodes if n.op != "Constant" for t in n.outputs if t.name]
    found: dict[str, Computed] = {}
    given = feeds_for(model).values if feeds is None else feeds
    for name, value in open_engine(model, "embedded").values(given, names):
        check(cancel, "the run")
        report(progress, len(found), len(names), "looking at values")
        if isinstance(value, np.ndarray):
            found[name] = Computed(dtype_name(value.dtype), value.shape, value.nbytes, tensor_stats(value))
    return found


def save_values(path: Path, found: Mapping[str, Array]) -> None:
    """One array as .npy, several by name as .npz; any name will do, and nothing is pickled."""
    for name, value in found.items():
        if value.dtype.kind in "OUT":
            raise OptionError(f"{name} holds texts", str(path), "an .npy file holds numbers", "mark other tensors")
    if path.suffix != ".npz":
        np.save(path, next(iter(found.values())), allow_pickle=False)
        return
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in found.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.ascontiguousarray(value), allow_pickle=False)


def values_of(model: Model, names: Sequence[str], feeds: Mapping[str, Value] | None = None, cancel: Cancel | None = None) -> dict[str, Array]:  # fmt: skip
    """The named values in a run; without feeds that which `computed` looks at."""
    found: dict[str, Any] = {}
    given = feeds_for(model).values if feeds is None else {t.name: feeds[t.name] for t in model.inputs if t.name in feeds}  # fmt: skip
    for name, value in open_engine(model, "embedded").values(given, names):
        check(cancel, "the run")
        if isinstance(value, np.ndarray):
            found[name] = value
    return found
