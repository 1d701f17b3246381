"""Checks a rewrite by its own BEFORE and AFTER: the tests of this house and `owb test-rules` are the same code.

A name typed in `< >` that no node makes and that has no value is a constant: it gets a seeded value fit for its role. The values that
matter are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from exec.arrays import Array, Value
from exec.errors import BenchError, RewriteError
from exec.ir import Constant, Graph, Model, Node, load
from exec.metrics import difference
from exec.session import Session
from passes.base import Rewrite, Safety
from passes.catalog import Chosen
from passes.drawn import LEVELS, drawn
from passes.invariants import check_model
from passes.optimize import Plan
from passes.pipeline import Trace
from passes.stepper import Stepper
from passes.ties import moves

OPSET = 17


def model_of(text: str, opset: int, seed: int = 0) -> onnx.ModelProto:
    """The model a BEFORE or AFTER text describes; a text may begin with its own header."""
    text = " ".join(text.split())
    if not text.startswith("<"):
        text = f'<ir_version: 10, opset_import: ["": {opset}]> {text}'
    model = parser.parse_model(text)
    fill(model.graph, np.random.default_rng(seed))
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    return model


def fill(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Give the typed names that nothing makes a value."""
    made = {name for node in graph.node for name in node.output}
    given = {t.name for t in graph.initializer} | {i.name for i in graph.input} | {o.name for o in graph.output}
    for info in list(graph.value_info):
        if info.name not in made and info.name not in given:
            graph.initializer.append(numpy_helper.from_array(_value(info, graph, rng), info.name))
            graph.value_info.remove(info)


def _value(info: onnx.ValueInfoProto, graph: onnx.GraphProto, rng: np.random.Generator) -> Array:
    kind = info.type.tensor_type
    shape = [d.dim_value for d in kind.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    uses = [(n.op_type, list(n.input).index(info.name)) for n in graph.node if info.name in n.input]
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 3, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if ("BatchNormalization", 4) in uses or any(op in ("Sqrt", "Log") for op, _ in uses):
        values = np.abs(values) + 0.5
    return values.astype(dtype)


def feeds_of(model: onnx.ModelProto, seed: int = 1, open_size: int = 2, level: str = "plain") -> dict[str, Array]:
    """Seeded inputs of a level of `passes.drawn`; open dimensions get `open_size`, and two names two sizes."""
    rng = np.random.default_rng(seed)
    sizes: dict[str, int] = {}
    given = {t.name for t in model.graph.initializer}
    feeds = {}
    for info in model.graph.input:
        if info.name in given:
            continue
        kind = info.type.tensor_type
        shape = [
            d.dim_value if d.HasField("dim_value") else sizes.setdefault(d.dim_param, open_size + len(sizes))
            for d in kind.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        feeds[info.name] = drawn(shape, dtype, rng, level)
    return feeds


def outline(model: Model) -> list[Any]:
    """The structure of a graph from its outputs: ops, attributes and connections, whatever the names."""
    return _outline(model.graph)


def _outline(graph: Graph) -> list[Any]:
    numbers: dict[Any, Any] = {t: ("input", t.name) for t in graph.inputs}
    nodes: list[Any] = []

    def value(tensor: Any) -> Any:
        if isinstance(tensor, Constant):
            return "constant"
        if not tensor.name:
            return None
        if tensor in numbers:
            return numbers[tensor]
        if not tensor.inputs:
            return ("outer", tensor.name)
        return node(tensor.inputs[0], tensor)

    def node(maker: Node, tensor: Any) -> Any:
        inputs = [value(t) for t in maker.inputs]
        attrs = {k: _plain(v) for k, v in sorted(maker.attrs.items())}
        number = len(nodes)
        nodes.append((maker.op, inputs, attrs))
        for k, out in enumerate(maker.outputs):
            numbers[out] = (number, k)
        return numbers[tensor]

    outs = [value(t) for t in graph.outputs]
    return [nodes, outs, sum(n.op != "Constant" for n in graph.nodes)]


def _plain(value: Any) -> Any:
    if isinstance(value, Graph):
        return _outline(value)
    if isinstance(value, Constant):
        return value.values.tolist()
    return round(value, 6) if isinstance(value, float) else value


def rewritten(rule: Rewrite, proto: onnx.ModelProto) -> tuple[Model, Trace]:
    """`proto` with only `rule` applied, to its fixpoint."""
    model, trace = Plan([[Chosen(rule)]], "portable", 1 << 20).run(load(proto))
    check_model(model)
    return model, trace


def run(proto: onnx.ModelProto, feeds: Mapping[str, Value]) -> dict[str, Value]:
    return Session(load(proto), kernels="plain").run(feeds)


def check(kind: type[Rewrite]) -> None:
    """Raise `RewriteError` unless BEFORE becomes AFTER, with equal numbers, at once and for good, and can be undone."""
    rule, opset = kind(), max(kind.needs, OPSET)
    before = before_of(kind, opset)
    model, trace = rewritten(rule, before)
    where = f"rule {kind.id}"
    if trace.broken:
        raise RewriteError("the rewrite breaks an invariant", where, trace.broken[0][1])
    if not trace.events:
        reasons = "; ".join(r.reason for r in trace.refusals.values())
        raise RewriteError("the rewrite does not apply to its own BEFORE", where, reasons)
    after = load(model_of(kind.AFTER, opset))
    if outline(model) != outline(after):
        raise RewriteError("BEFORE does not become AFTER", where, f"{outline(model)}\n  {outline(after)}")
    proto = model.to_proto()
    onnx.checker.check_model(proto)
    for size in (2, 3):
        feeds = feeds_of(before, open_size=size)
        _same_numbers(kind, run(before, feeds), run(proto, feeds))
    for level in LEVELS[1:2] if kind.finite_only else LEVELS[1:]:
        _same_at(kind, before, proto, feeds_of(before, open_size=4, level=level))
    _, second = rewritten(rule, proto)
    if second.events:
        raise RewriteError("a second run still changes something", where, second.events[0].node)
    _undoes(kind, before)


def before_of(kind: type[Rewrite], opset: int) -> onnx.ModelProto:
    """The rule's BEFORE as a model, from the text or from `before()`."""
    build = getattr(kind, "before", None)
    if build is not None:
        made: onnx.ModelProto = build()
        return made
    return model_of(kind.BEFORE, opset)


def _same_numbers(
    kind: type[Rewrite],
    want: Mapping[str, Value],
    got: Mapping[str, Value],
    again: Callable[[dict[str, Any]], Mapping[str, Value]] | None = None,
    feeds: Mapping[str, Array] | None = None,
) -> None:
    """`again` runs BEFORE on inputs moved in their last bits: a difference no larger than what that makes is rounding."""
    for name, value in want.items():
        allowed = kind.safety.tolerance(np.asarray(value).dtype, bound=kind.bound)
        gap = difference(value, got[name])
        if gap.within(allowed):
            continue
        if (
            again is None
            or kind.safety is Safety.EXACT
            or gap.mismatches
            or gap.max_of_range > 8 * _moved(again, feeds, name, value)
        ):
            raise RewriteError(
                f"the numbers differ by {gap.max_of_range:.2g} of the range, {kind.safety.value} allows {allowed:.0e}",
                f"rule {kind.id}, output {name}",
                gap.note,
            )


def _moved(
    again: Callable[[dict[str, Any]], Mapping[str, Value]], feeds: Mapping[str, Array] | None, name: str, value: Value
) -> float:
    return moves(lambda moved: again(dict(moved))[name], feeds or {}, value)


def _same_at(kind: type[Rewrite], before: onnx.ModelProto, after: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    """Both signs, far and special values, integers to the ends: as far as BEFORE takes them; integers may be indices."""
    try:
        want = run(before, feeds)
    except BenchError:
        return
    _same_numbers(kind, want, run(after, feeds), lambda moved: run(before, moved), feeds)


def _undoes(kind: type[Rewrite], before: onnx.ModelProto) -> None:
    model = load(before)
    bytes_before = model.to_proto().SerializeToString(deterministic=True)
    stepper = Stepper(model, rules=[kind()])
    stepper.apply(kind.id)
    if model.to_proto().SerializeToString(deterministic=True) == bytes_before:
        raise RewriteError("applying it step by step changes nothing", f"rule {kind.id}")
    stepper.undo()
    if model.to_proto().SerializeToString(deterministic=True) != bytes_before:
        raise RewriteError("undo does not restore the model", f"rule {kind.id}")
    check_model(model)


def report(kinds: Iterable[type[Rewrite]]) -> dict[str, str]:
    """What is wrong with each rule, "" where nothing is: for `owb test-rules`."""
    found: dict[str, str] = {}
    for kind in kinds:
        try:
            check(kind)
            found[kind.id] = ""
        except (RewriteError, onnx.checker.ValidationError) as error:
            found[kind.id] = str(error)
    return found
