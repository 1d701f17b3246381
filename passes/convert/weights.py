"""Overridable initializers: inputs that have a default. Which are weights, listed as inputs by habit, and how to make weights of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from exec.errors import OptionError, nearest
from exec.feedcheck import WEIGHTS
from exec.ir import Model

HABIT = 16
"""Where so many initializers are listed as inputs, a tool listed them, not a person; tools that came later may have added others."""


def overridable(model: Model) -> dict[str, Any]:
    """The inputs that have a default, by name."""
    return {t.name: t for t in model.graph.inputs if getattr(t, "default", None) is not None}


def listed_by_habit(model: Model) -> bool:
    """Whether initializers are inputs, too, because exporters that kept to IR version 3's rule wrote it so."""
    return len(overridable(model)) >= HABIT


def inputs_to_weights(model: Model, names: Sequence[str] = ()) -> Model:
    """Make overridable initializers weights: inputs that have a default are inputs no more, so that rewrites may fold them.

    names   which; all of them when empty
    Exporters of opset 9 and before listed every weight as an input, and only the caller knows whether anyone feeds one.
    """
    out = model.copy()
    optional = overridable(out)
    for name in names:
        if name not in optional:
            why = f"{len(optional):,} inputs have a default" if optional else "no input has a default"
            raise OptionError(f"no overridable initializer {name!r}", why=why, hint=nearest(name, optional))
    gone = {t for name, t in optional.items() if not names or name in names}
    out.graph.inputs = [t for t in out.graph.inputs if t not in gone]
    for tensor in gone:
        tensor.to_constant(tensor.default)
    before = json.loads(out.graph.metadata.get(WEIGHTS, "[]"))
    out.graph.metadata[WEIGHTS] = json.dumps([*before, *sorted(t.name for t in gone)], ensure_ascii=False)
    return out


__all__ = ["inputs_to_weights", "listed_by_habit", "overridable"]
