"""What of two models can be compared although an operator of theirs runs nowhere: all up to it, and all behind it on values that are made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exec.arrays import Value
from exec.feeds import make_feeds
from exec.ir import Model
from workbench.runnable import Lost, runnable

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Comparable:
    """The parts of both models, and inputs for them.

    lost       nodes of either that cannot be run, each once
    unreached  outputs of B that are not compared
    """

    before: Model
    after: Model
    feeds: Mapping[str, Value]
    lost: tuple[Lost, ...] = ()
    unreached: tuple[str, ...] = ()


def comparable(before: Model, after: Model, feeds: Mapping[str, Value], engines: tuple[str, str]) -> Comparable:
    """Both models whole where their engines run them, else their parts; raises `UnsupportedOp` where nothing is left."""
    models = (before, after)
    parts = [runnable(m) if e == EMBEDDED else (m, ()) for m, e in zip(models, engines, strict=True)]
    if not any(lost for _, lost in parts):
        return Comparable(before, after, feeds)
    # A value may be made up only if both models begin again with it.
    shared = set.intersection(
        *(
            {i.name for i in part.inputs} - {i.name for i in m.inputs}
            for m, (part, _) in zip(models, parts, strict=True)
        )
    )
    parts = [runnable(m, shared) if e == EMBEDDED else (m, ()) for m, e in zip(models, engines, strict=True)]
    (one, lost), (other, more) = parts
    made = {**make_feeds(one).feeds, **make_feeds(other).feeds, **feeds}
    reached = {o.name for o in other.outputs} & {o.name for o in one.outputs}
    unreached = tuple(o.name for o in after.outputs if o.name not in reached)
    return Comparable(one, other, made, tuple(dict.fromkeys((*lost, *more))), unreached)
