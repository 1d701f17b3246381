"""Conversions one after another, and the check that the result is the same function: sizes, opset, integer and float types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from exec.arrays import Value
from exec.dtypes import BY_NAME
from exec.errors import OptionError, nearest
from exec.ir import Model
from exec.progress import Cancel
from exec.wording import counted
from passes.convert.batch import set_batch
from passes.convert.float16 import to_float16
from passes.convert.int32 import to_int32
from passes.convert.opset import convert_opset
from passes.convert.verified import Conversion, ConversionVerifier
from passes.regional import RegionalVerifier
from passes.report import Verification, census
from passes.verify import VerifyBudget
from workbench.editing import set_dims
from workbench.render.text import display_name

Narrow = Literal["float16", "bfloat16"]

NAMED = 3
"""So many nodes are named for each reason."""


@dataclass(frozen=True, slots=True)
class Converted:
    """The result, one sentence for each thing done, and the verdict.

    problem  how the result differs from the original, "" where nothing speaks against it
    """

    model: Model
    done: tuple[str, ...]
    verification: Verification
    problem: str


def convert(
    model: Model,
    *,
    opset: int | None = None,
    sizes: Mapping[str, int | str] | None = None,
    batch: int | None = None,
    to: Narrow | None = None,
    int32: bool = False,
    keep_io: bool = True,
    block: Sequence[str] = (),
    verify: bool = True,
    feeds: Mapping[str, Value] | None = None,
    budget: VerifyBudget | None = None,
    cancel: Cancel | None = None,
) -> Converted:
    """Convert `model`, which is never changed: sizes first, then the opset, then the types.

    sizes    symbolic dims of the inputs and their sizes
    batch    the first axis of every input
    to       a narrow float type; `block` names ops and nodes that stay in float32
    int32    int64 becomes int32 where nothing can change
    keep_io  inputs and outputs keep their types
    verify   run the result against the original
    """
    done: list[str] = []
    out = model
    if sizes:
        out = set_dims(out, sizes)
        done.append(", ".join(f"{name} = {size}" for name, size in sizes.items()))
    if batch is not None:
        out = set_batch(out, batch)
        done.append(f"batch {batch}")
    limit = budget or VerifyBudget()
    witness = RegionalVerifier() if verify and census(model).weight_bytes > limit.weights else None
    if opset is not None:
        out = convert_opset(out, opset, witness)
        done.append(f"opset {model.opset} → {out.opset}")
    if int32:
        narrowed = to_int32(out, keep_io=keep_io)
        out = narrowed.model
        done.append(
            f"int32: {counted(narrowed.constants, 'constant')}, {counted(narrowed.inputs, 'input')}; {narrowed.kept:,} stay int64"
        )
    if to is not None:
        out, said = _narrowed(out, to, keep_io, block)
        done += said
    checked = Conversion(Verification("none", reason="verification is off"))
    if verify:
        narrow = np.dtype(BY_NAME[to].numpy) if to is not None else None
        same = keep_io and not sizes and batch is None
        verifier = ConversionVerifier(
            model, out, narrow=narrow, interface=same, witness=witness, budget=limit, cancel=cancel
        )
        checked = verifier.check(feeds)
    return Converted(out, tuple(done), checked.verification, checked.problem)


def _narrowed(model: Model, to: str, keep_io: bool, block: Sequence[str]) -> tuple[Model, list[str]]:
    nodes = {n.name for n in model.graph.nodes if n.name}
    ops = {n.op for n in model.graph.nodes}
    for name in block:
        if name not in nodes and name not in ops:
            raise OptionError(
                f"no op and no node called '{name}'", why="it should stay in float32", hint=nearest(name, nodes | ops)
            )
    blocked: dict[str, Any] = {"block": [b for b in block if b in ops], "nodes": [b for b in block if b not in ops]}
    result = to_float16(model, cast("Narrow", to), keep_io=keep_io, **blocked)
    before, after = census(model).weight_bytes, census(result.model).weight_bytes
    said = f"{to}: weights {before:,} → {after:,} bytes, {counted(len(result.kept), 'node')} left in float32, {counted(result.casts, 'Cast')}"
    if result.clipped:
        said += f", {counted(result.clipped, 'constant')} out of its range, now its largest number"
    return result.model, [said, *_reasons(result.kept)]


def _reasons(kept: Sequence[tuple[str, str]]) -> list[str]:
    """Why nodes stay in float32, with some of their names; the commonest reason first."""
    by_reason: dict[str, list[str]] = {}
    for name, why in kept:
        by_reason.setdefault(why, []).append(name)
    said = []
    for why, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        said.append(f"  float32: {', '.join(display_name(n, 60) for n in names[:NAMED])}{more}: {why}")
    return said


__all__ = ["Converted", "convert"]
