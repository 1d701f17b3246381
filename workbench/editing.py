"""Edits a person asks for: cut a part out, rename, drop outputs, name or fix dims, inputs to weights, strip. Each gives a new model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from exec.dtypes import BY_CODE
from exec.errors import OptionError, nearest
from exec.feedcheck import WEIGHTS
from exec.ir import Constant, Model, Variable, prune, walk
from exec.ir.naming import Names
from passes.convert.weights import inputs_to_weights
from workbench.shapes import inferred

PROVENANCE = ("owb.source", "owb.value", WEIGHTS)


def extract(model: Model, inputs: Sequence[str], outputs: Sequence[str]) -> Model:
    """The part of the main graph that makes `outputs` from `inputs`.

    inputs    names of values that become inputs; with none, the model's own inputs that are still needed stay
    outputs   names of values that become outputs; with none, the model's own
    Raises OptionError for a name that is no value, and when an output needs a graph input that was not given.
    """
    out = model.copy()
    graph = out.graph
    values = {t.name: t for n in graph.nodes for t in n.outputs if t.name}
    values.update({t.name: t for t in graph.inputs})
    shapes = inferred(out)
    ends = [_value(values, name, shapes) for name in outputs] if outputs else list(graph.outputs)
    starts = [_value(values, name, shapes) for name in inputs]
    for tensor in starts:
        remove_links = list(tensor.inputs)
        for node in remove_links:
            place = next(k for k, t in enumerate(node.outputs) if t is tensor)
            node.outputs[place] = Variable(Names(graph).unique(f"{tensor.name}_unused"), tensor.dtype, tensor.shape)
    graph.outputs = ends
    kept_inputs = [t for t in graph.inputs if all(t is not s for s in starts)]
    graph.inputs = [*starts, *kept_inputs]
    prune(graph)
    needed = {id(t) for g in walk(graph) for n in g.nodes for t in n.inputs} | {id(t) for t in ends}
    missing = [t.name for t in kept_inputs if id(t) in needed] if inputs else []
    if missing:
        text = f"{', '.join(o.name for o in ends)} also need{'s' if len(ends) == 1 else ''} {', '.join(missing)}"
        raise OptionError(
            "the inputs do not make the outputs",
            why=text,
            hint=f"add --inputs {missing[0]}, or cut nearer to the outputs",
        )
    graph.inputs = [t for t in graph.inputs if id(t) in needed]
    return out


def _value(values: Mapping[str, Any], name: str, shapes: Mapping[int, Any]) -> Any:
    if name not in values:
        raise OptionError(f"no value {name!r}", hint=nearest(name, values) or "`owb nodes` lists what nodes make")
    tensor = values[name]
    dtype, shape = shapes.get(id(tensor), ("", None))
    if tensor.shape is None and shape is not None:
        tensor.shape = list(shape)
    if tensor.dtype is None and dtype:
        found = next((row.numpy for row in BY_CODE.values() if row.name == dtype), None)
        tensor.dtype = found
    return tensor


def rename(model: Model, names: Mapping[str, str]) -> Model:
    """Rename values and nodes, all at once; a new name that stays taken, or that two would get, is an error."""
    out = model.copy()
    taken = Names(out.graph).taken
    for old, new in names.items():
        if old not in taken:
            raise OptionError(f"nothing is called {old!r}", hint=nearest(old, taken))
        if new in taken - names.keys() or list(names.values()).count(new) > 1:
            raise OptionError(f"the name {new!r} is taken", hint="choose another")
    for item in _named(out):
        item.name = names.get(item.name, item.name)
    return out


def _named(model: Model) -> Iterator[Any]:
    """Every node and value, each once."""
    seen: set[int] = set()
    for graph in walk(model.graph):
        for item in (*graph.inputs, *graph.outputs, *(x for n in graph.nodes for x in (n, *n.inputs, *n.outputs))):
            if id(item) not in seen:
                seen.add(id(item))
                yield item


def drop_outputs(model: Model, names: Sequence[str]) -> Model:
    """Take outputs away, and the nodes that only they needed."""
    out = model.copy()
    have = [t.name for t in out.graph.outputs]
    for name in names:
        if name not in have:
            raise OptionError(f"no output {name!r}", why=f"the outputs are {', '.join(have)}", hint=nearest(name, have))
    if len(set(names)) == len(have):
        raise OptionError("a model without outputs does nothing", why=f"all of {', '.join(have)} would go")
    gone = [t for t in out.graph.outputs if t.name in names]
    out.graph.outputs = [t for t in out.graph.outputs if t.name not in names]
    prune(out.graph, [n for t in gone for n in t.inputs])
    return out


def set_dims(model: Model, dims: Mapping[str, int | str]) -> Model:
    """Give symbols of the inputs a size, or another name, everywhere; `input:axis` names a dim without a symbol."""
    out = model.copy()
    known: set[str] = set()
    for tensor in out.graph.inputs:
        for axis, dim in enumerate(tensor.shape or ()):
            known.add(f"{tensor.name}:{axis}")
            if isinstance(dim, str):
                known.add(dim)
    for name in dims:
        if name not in known:
            raise OptionError(
                f"no dim {name!r}", why=f"the inputs have {', '.join(sorted(known))}", hint=nearest(name, known)
            )
    for name, size in dims.items():
        if isinstance(size, int) and not 0 <= size < 1 << 63:
            raise OptionError(
                f"a dim of {size}", name, "sizes are from 0 to 2^63 - 1", "leave it a name to keep it open"
            )
    for graph in walk(out.graph):
        for tensor in (*graph.inputs, *graph.outputs, *(t for n in graph.nodes for t in n.outputs)):
            if not isinstance(tensor, Constant) and tensor.shape is not None:
                tensor.shape = [
                    dims.get(f"{tensor.name}:{k}", dims.get(d, d) if isinstance(d, str) else d)
                    for k, d in enumerate(tensor.shape)
                ]
    return out


def strip(model: Model, *, provenance: bool = True, docs: bool = False, metadata: bool = False) -> Model:
    """Drop what a runtime does not need: our provenance, doc strings, all metadata."""
    out = model.copy()
    for item in (out.graph, *_named(out)):
        if metadata:
            item.metadata = {}
        elif provenance:
            kept = {k: v for k, v in item.metadata.items() if k not in PROVENANCE}
            if len(kept) != len(item.metadata):
                item.metadata = kept
        if docs and item.doc_string:
            item.doc_string = ""
    return out


__all__ = ["drop_outputs", "extract", "inputs_to_weights", "rename", "set_dims", "strip"]
