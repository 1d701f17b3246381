"""Keeping nodes in float: what a plan would give, estimated from what each node alone costs."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from exec.ir import Constant, Model
from quantize.sensitivity import NodeSensitivity, Sensitivity


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A plan that was not built.

    sqnr_db     of the worst output, estimated: noise powers of the nodes in 8 bits add up, scaled to what all of them measured
    macs_int8   share of the multiply-adds in 8 bits
    """

    kept: int
    sqnr_db: float
    macs_int8: float


def what_if(found: Sensitivity, kept: Collection[str]) -> WhatIf:
    """The plan that keeps the named nodes float."""
    chosen = [n for n in found.nodes if n.name not in kept]
    total = sum(n.macs for n in found.nodes) or 1
    return WhatIf(len(found.nodes) - len(chosen), _db(found, chosen), sum(n.macs for n in chosen) / total)


def _db(found: Sensitivity, chosen: list[NodeSensitivity]) -> float:
    noise = sum(n.noise for n in chosen)
    taken = sum(n.noise for n in found.nodes if n.is_default)
    measured = 10.0 ** (-found.all_db / 10.0) if math.isfinite(found.all_db) else 0.0
    scale = measured / taken if taken and measured else 1.0
    return -10.0 * math.log10(noise * scale) if noise * scale > 0 else math.inf


def weight_share(model: Model, found: Sensitivity, kept: Collection[str]) -> float:
    """The bytes of the weights that the plan takes in 8 bits, as a share of those it could take."""
    bytes_of = {n.name: sum(t.nbytes for t in n.inputs[1:] if isinstance(t, Constant)) for n in model.graph.nodes}
    able = [n.name for n in found.nodes if n.is_default] or [n.name for n in found.nodes]
    total = sum(bytes_of.get(name, 0) for name in able)
    return sum(bytes_of.get(n.name, 0) for n in found.nodes if n.name not in kept) / total if total else 0.0


def between(now: float, whole: float, share: float) -> float:
    """What a part of the plan gives where the whole of it takes `now` to `whole`."""
    return now + (whole - now) * share


def curve(found: Sensitivity) -> list[float]:
    """Estimated dB with the 0, 1, 2, … worst nodes kept float."""
    out: list[float] = []
    kept: set[str] = set()
    for node in (None, *found.nodes):
        if node is not None:
            kept.add(node.name)
        if len(kept) < len(found.nodes):
            out.append(what_if(found, kept).sqnr_db)
    return out


def just_enough(found: Sensitivity, target_db: float) -> set[str]:
    """The fewest of the worst nodes to keep float so that the estimate reaches the target; those the preset leaves stay too."""
    kept = {n.name for n in found.nodes if not n.is_default}
    for node in found.nodes:
        if what_if(found, kept).sqnr_db >= target_db:
            break
        kept.add(node.name)
    return kept
