"""A model run over a few samples in little memory: one stretch of its nodes after the other, so that few weights are unpacked at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from exec.arrays import Value
from exec.ir import Constant, Graph, Model, Node, Variable, remove_nodes, subgraphs_of, toposort
from exec.progress import Cancel, check
from exec.session import Session
from quantize.memory import give_back
from quantize.observing import KERNELS
from quantize.samples import Sample

STRETCH_BYTES = 4 << 20
"""Of weights in float32: a session holds a stretch's two or three times, as they are, aligned and packed."""


def run(
    model: Model,
    samples: Sequence[Sample],
    wanted: Sequence[str],
    *,
    at_once: bool = False,
    cancel: Cancel | None = None,
) -> list[dict[str, Value]]:
    """The values `wanted` of every sample.

    at_once  in one stretch: faster, for many models one after the other
    """
    if at_once:
        return _whole(model, samples, wanted, cancel)
    work = model.copy()
    toposort(work.graph)
    stretches = _stretches(work.graph)
    if len(stretches) < 2 or not _is_plain(model, samples):
        return _whole(model, samples, wanted, cancel)
    values: list[dict[str, Value]] = [dict(sample) for sample in samples]
    last = {t.name: place for place, node in enumerate(work.graph.nodes) for t in node.inputs}
    for stretch, part, ins, outs in _parts(work, stretches, set(wanted)):
        if not all(isinstance(known[n], np.ndarray) for known in values for n in ins):
            return _whole(model, samples, wanted, cancel)  # a sequence crosses the border
        _declare(part.graph, ins, outs, values)
        for known, made in zip(
            values, _whole(part, [{n: v[n] for n in ins} for v in values], outs, cancel), strict=True
        ):
            known.update(made)
            for name in [n for n in known if n not in wanted and last.get(n, -1) < stretch.stop]:
                del known[name]  # nothing behind reads it
    return [{name: known[name] for name in wanted} for known in values]


def _whole(
    model: Model, samples: Sequence[Sample], wanted: Sequence[str], cancel: Cancel | None
) -> list[dict[str, Value]]:
    session = Session(model, kernels=KERNELS)
    found = []
    for sample in samples:
        check(cancel, "running the samples")
        found.append(session.run(sample, list(wanted)))
    del session
    give_back()
    return found


def _is_plain(model: Model, samples: Sequence[Sample]) -> bool:
    """Whether all that flows are arrays between nodes of one graph."""
    if any(subgraphs_of(n) for n in model.graph.nodes) or model.graph.functions:
        return False
    names = [t.name for t in model.graph.inputs]
    return all(n in s and isinstance(s[n], np.ndarray) for s in samples for n in names)


def _fixed(nodes: Sequence[Node]) -> set[int]:
    """ids of the nodes that read constants only: they go with every stretch that reads what they make."""
    values: set[int] = set()
    found: set[int] = set()
    for node in nodes:
        if node.op.startswith("Random") or node.op in ("Bernoulli", "Multinomial"):
            continue
        if all(isinstance(t, Constant) or not t.name or id(t) in values for t in node.inputs):
            found.add(id(node))
            values.update(id(t) for t in node.outputs)
    return found


def _stretches(graph: Graph) -> list[range]:
    """Neighbours in the list of nodes whose weights are about `STRETCH_BYTES` together."""
    fixed = _fixed(graph.nodes)
    borders, held = [0], 0
    for place, node in enumerate(graph.nodes):
        size = 0 if id(node) in fixed else 4 * sum(_elements(t, fixed) for t in node.inputs)
        if held and size and held + size > STRETCH_BYTES:
            borders.append(place)
            held = 0
        held += size
    return [range(a, b) for a, b in zip(borders, [*borders[1:], len(graph.nodes)], strict=True)]


def _elements(tensor: Variable | Constant, fixed: set[int]) -> int:
    """Of the constants behind a value, as they come in files: as it is, of a Constant node, cast or dequantized."""
    if isinstance(tensor, Constant):
        return int(np.prod(tensor.shape, dtype=np.int64))
    sources = [t for n in tensor.inputs if id(n) in fixed for t in (*n.inputs, *n.attrs.values())]
    return max((_elements(t, fixed) for t in sources if isinstance(t, (Variable, Constant))), default=0)


def _parts(
    model: Model, stretches: Sequence[range], wanted: set[str]
) -> Iterator[tuple[range, Model, list[str], list[str]]]:
    """Each stretch with its model, what it reads from before, and what is read after it."""
    for stretch in stretches:
        part = model.copy()
        nodes = part.graph.nodes
        fixed = _fixed(nodes)
        inside = {id(nodes[k]) for k in stretch}
        pending = [nodes[k] for k in stretch]
        ins: dict[str, None] = {}
        while pending:
            for tensor in pending.pop().inputs:
                makers = list(tensor.inputs)
                if any(id(n) in fixed and id(n) not in inside for n in makers):
                    inside.update(id(n) for n in makers)
                    pending += makers
                elif tensor.name and not isinstance(tensor, Constant) and not any(id(n) in inside for n in makers):
                    ins[tensor.name] = None
        outs = {
            t.name: None
            for k in stretch for t in nodes[k].outputs
            if t.name in wanted or (id(nodes[k]) not in fixed and any(id(n) not in inside for n in t.outputs))
        }  # fmt: skip
        if outs:
            remove_nodes(part.graph, [n for n in nodes if id(n) not in inside])
            yield stretch, part, list(ins), list(outs)


def _declare(graph: Graph, ins: Sequence[str], outs: Sequence[str], values: Sequence[dict[str, Value]]) -> None:
    """Inputs and outputs of a stretch; sizes are left open where samples differ."""
    tensors = {t.name: t for n in graph.nodes for t in (*n.inputs, *n.outputs)}
    for name in ins:
        arrays = [np.asarray(known[name]) for known in values]
        tensors[name].dtype = arrays[0].dtype
        sizes = zip(*(a.shape for a in arrays), strict=True) if len({a.ndim for a in arrays}) == 1 else None
        tensors[name].shape = None if sizes is None else [d[0] if len(set(d)) == 1 else None for d in sizes]
    graph.inputs = [tensors[n] for n in ins]
    graph.outputs = [tensors[n] for n in outs]
