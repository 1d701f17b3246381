"""Checks each patch by itself: both sides of it, on seeded values of what enters it.

For models whose whole run does not fit the budget. Nothing but the nodes around a patch is run, so its cost depends on the patches, not on
the model; what it cannot see is a patch that is right here and wrong in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import BenchError
from exec.ir import Constant, Graph, Node, Variable
from exec.metrics import difference
from exec.session import Session
from passes.base import Rewrite
from passes.dims import evaluate
from passes.patch import Applied, Patch
from passes.region import Region

MOST_ELEMENTS = 1 << 22


@dataclass(slots=True)
class Sighting:
    """What was there before a patch: the values that enter, and what the old nodes make of them."""

    known: dict[Any, Value]
    wanted: list[tuple[Any, Any]]


class RegionalVerifier:
    """Looks at every patch of a run; `seen` of `total` could be compared."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.seen = self.total = 0
        self.worst = 0.0
        self.sizes: dict[str, int] = {}

    def before(self, patch: Patch) -> Sighting | None:
        """Run the old nodes of a patch; None where that cannot be done."""
        self.total += 1
        wanted = [(t, t) for n in patch.nodes for t in n.outputs if t.inputs]
        wanted += [(old, new) for old, new in patch.redirects] + [(old, new) for new, old in patch.renames]
        nodes = _slice([old for old, _ in wanted], set(patch.sources))
        if nodes is None or any(any(isinstance(v, Graph) for v in n.attrs.values()) for n in nodes):
            return None
        known: dict[Any, Value] = {}
        for tensor in _entering(nodes):
            value = self._value(tensor, patch.region)
            if value is None:
                return None
            known[tensor] = value
        made = self._run(nodes, known, patch.region)
        if made is None:
            return None
        known.update(made)
        return Sighting(known, wanted) if all(old in known for old, _ in wanted) else None

    def after(self, done: Applied, sighting: Sighting, rule: Rewrite) -> str:
        """How the new nodes differ from the old ones, or ""."""
        nodes = [n for n in done.made if done.region.alive(n)]
        known = dict(sighting.known)
        for tensor in (t for n in nodes for t in n.outputs):
            known.pop(tensor, None)
        if any(t not in known for t in _entering(nodes)):
            return ""
        try:
            made = self._run(nodes, {t: known[t] for t in _entering(nodes)}, done.region, raises=True)
        except (BenchError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            return f"the new nodes cannot be run: {str(error).splitlines()[0]}"
        now = {**sighting.known, **(made or {})}
        for old, new in sighting.wanted:
            value = new.values if isinstance(new, Constant) else now.get(new)
            if value is None:
                return ""
            want = sighting.known[old]
            gap = difference(want, value)
            allowed = rule.safety.tolerance(np.asarray(want).dtype, bound=rule.bound) * 4
            if not gap.within(max(allowed, 1e-6 if np.asarray(want).dtype.kind == "f" else 0.0)):
                return f"value {old.name} differs by {gap.max_of_range:.2g} of its range here{': ' + gap.note if gap.note else ''}"
            self.worst = max(self.worst, gap.max_of_range)
        self.seen += 1
        return ""

    def _value(self, tensor: Any, region: Region) -> Array | None:
        """A seeded value of the type and shape that is known of `tensor`."""
        fact = region.fact(tensor)
        if fact.shape is None or fact.dtype is None:
            return None
        if fact.value is not None and fact.dtype.kind in "iubf":
            # shape arithmetic: only these numbers ever enter
            elements = [evaluate(v, self._size) for v in fact.value.reshape(-1)]
            return np.array(elements, fact.dtype).reshape(fact.value.shape)
        shape = [max(1, evaluate(d, self._size)) for d in fact.shape]
        if int(np.prod(shape, dtype=np.int64)) > MOST_ELEMENTS:
            return None
        if fact.dtype.kind == "f":
            return self.rng.standard_normal(shape).astype(fact.dtype)
        if fact.dtype.kind in "iub":
            return self.rng.integers(0, 2, shape).astype(fact.dtype)
        return None

    def _size(self, name: str) -> int:
        return self.sizes.setdefault(name, 2 + len(self.sizes) % 3)

    def _run(
        self, nodes: list[Node], feeds: dict[Any, Value], region: Region, raises: bool = False
    ) -> dict[Any, Value] | None:
        """Every value the nodes make."""
        graph, names = _copied(nodes, feeds)
        opsets = {**region.workspace.model.opsets, "": region.opset}
        model: Any = SimpleNamespace(graph=graph, opsets=opsets)
        try:
            out = Session(model).run({names[t]: v for t, v in feeds.items()})
        except (BenchError, ArithmeticError, LookupError, TypeError, ValueError):
            # random values where the model has real ones: what the old nodes cannot compute is no verdict on the patch
            if raises:
                raise
            return None
        return {t: out[names[t]] for n in nodes for t in n.outputs if t.name}


def _slice(outputs: Iterable[Any], allowed: set[Node]) -> list[Node] | None:
    """The nodes among `allowed` that make `outputs`, in order; None if one is made elsewhere."""
    order: dict[Node, None] = {}

    def visit(tensor: Any) -> bool:
        maker = tensor.inputs[0] if tensor.inputs else None
        if maker is None or maker not in allowed:
            return False
        if maker not in order:
            for source in maker.inputs:
                visit(source)
            order[maker] = None
        return True

    return list(order) if all(visit(t) for t in outputs) else None


def _entering(nodes: list[Node]) -> list[Any]:
    """The values that the nodes read and do not make."""
    made = {t for n in nodes for t in n.outputs}
    read = dict.fromkeys(t for n in nodes for t in n.inputs if t.name and not isinstance(t, Constant))
    return [t for t in read if t not in made]


def _copied(nodes: list[Node], feeds: dict[Any, Value]) -> tuple[Graph, dict[Any, str]]:
    """A graph of copies of `nodes`, unlinked from the model; names of its values."""
    twins: dict[Any, Any] = {}
    names: dict[Any, str] = {}

    def twin(tensor: Any) -> Any:
        if tensor not in twins:
            if isinstance(tensor, Constant):
                twins[tensor] = tensor.copy()
            elif not tensor.name:
                return Variable.empty()
            else:
                names[tensor] = f"v{len(names)}"
                twins[tensor] = Variable(names[tensor], getattr(tensor, "dtype", None))
        return twins[tensor]

    inputs = [twin(t) for t in feeds]
    copies = [
        Node(n.op, n.name, dict(n.attrs), [twin(t) for t in n.inputs], [twin(t) for t in n.outputs], n.domain)
        for n in nodes
    ]
    outputs = [twins[t] for n in nodes for t in n.outputs if t.name]
    return Graph(copies, inputs, outputs, "patch"), names
