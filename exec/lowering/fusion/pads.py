"""A Pad of zeros before a convolution becomes its padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.lowering.fusion.matching import is_op, scalar
from exec.lowering.units import Unit, Units


def fold_pads(units: Units) -> None:
    """Move Pads into the Convs behind them."""
    for unit in list(units.list):
        if unit in units.gone or not is_op(unit, "Conv"):
            continue
        pad = units.maker.get(unit.inputs[0])
        if pad is None or not is_op(pad, "Pad") or units.only_user(unit.inputs[0]) is not unit:
            continue
        amounts = zero_pads(units, pad)
        spec = units.spec(pad.inputs[0])
        if amounts is None or spec is None or spec.dtype != np.float32:
            continue
        if unit.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            continue
        rank = spec.ndim - 2
        before, after = amounts[: rank + 2], amounts[rank + 2 :]
        if any(before[:2]) or any(after[:2]) or min(amounts) < 0:
            continue
        _fold(units, pad, unit, before[2:], after[2:])


def _fold(units: Units, pad: Unit, conv: Unit, before: list[int], after: list[int]) -> None:
    rank = len(before)
    valid = conv.attributes.get("auto_pad", "NOTSET") == "VALID"
    own: list[int] = [0] * (2 * rank) if valid else list(conv.attributes.get("pads") or [0] * (2 * rank))
    pads = [a + b for a, b in zip(own, before + after, strict=True)]
    attributes: dict[str, Any] = {k: v for k, v in conv.attributes.items() if k not in ("pads", "auto_pad")}
    conv.attributes = {**attributes, "pads": pads}
    units.remove(pad)
    for number in pad.outputs:
        units.maker.pop(number, None)
    conv.inputs[0] = pad.inputs[0]
    units.users.setdefault(pad.inputs[0], {})[conv] = None

    conv.sources = pad.sources + conv.sources


def zero_pads(units: Units, pad: Unit) -> list[int] | None:
    """The amounts of a Pad with constant zeros on every axis, where they are known."""
    if str(pad.attributes.get("mode", "constant")) != "constant":
        return None
    if pad.opset < 11:
        given = pad.attributes.get("pads", pad.attributes.get("paddings"))
        return list(given) if given is not None and not pad.attributes.get("value", 0.0) else None
    amounts = units.constant(pad.inputs[1])
    if amounts is None or pad.input(3) >= 0:
        return None
    if pad.input(2) >= 0 and scalar(units, pad.inputs[2]) != 0.0:
        return None
    made: list[int] = amounts.tolist()
    return made
