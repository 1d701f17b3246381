"""What differs between two models: `diff(before, after) -> Delta`. Renaming every node gives no difference but the names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from exec.dtypes import dtype_name
from exec.errors import ExternalDataError
from exec.ir import Constant, Graph, Model, Node, ValueInfo
from exec.ir.streaming import equal, parts
from exec.metrics import Difference, difference, difference_in_parts
from exec.progress import Cancel, Progress, report
from exec.progress import check as stop_if
from exec.wording import counted
from workbench.alignment import align, sources
from workbench.detail import default_texts, value_text
from workbench.render import units


@dataclass(frozen=True, slots=True)
class NodeRef:
    """A node as a person finds it: operator, name or Operator#index."""

    op: str
    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A node that is in both and not the same.

    what  one sentence each: "attribute pads 0 0 0 0 → 1 1 1 1"
    """

    before: NodeRef
    after: NodeRef
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WeightChange:
    """A weight that has other values at the same place of the same node."""

    node: str
    before: str
    after: str
    max_abs: float | None
    sqnr_db: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Delta:
    """The differences. `same` nodes are equal in operator, attributes, wiring and weights.

    changed  in both, and not the same: one that reads other weights counts, too
    fused    nodes of `after` that stand for several of `before`, by recorded provenance
    renamed  nodes equal but for their name
    """

    same: int
    added: tuple[NodeRef, ...]
    removed: tuple[NodeRef, ...]
    changed: tuple[Changed, ...]
    renamed: tuple[tuple[str, str], ...]
    fused: tuple[tuple[str, tuple[str, ...]], ...]
    weights: tuple[WeightChange, ...]
    interface: tuple[str, ...]
    model: tuple[str, ...]
    operators: dict[str, tuple[int, int]]

    @property
    def empty(self) -> bool:
        """Nothing differs but names."""
        return not (self.added or self.removed or self.changed or self.weights or self.interface or self.model)


def diff(before: Model, after: Model, *, progress: Progress | None = None, cancel: Cancel | None = None) -> Delta:
    """Compare structure, attributes, weights, inputs, outputs and the model's own fields.

    Weights are read a part at a time; those that are the same bytes of the same file are not read.
    """
    a, b = before.graph, after.graph
    pairs = align(a, b)
    origin = sources(a, b, pairs)
    value = _values(a.nodes, b.nodes, a.inputs, b.inputs, pairs)
    changed, renamed, weights = [], [], []
    for done, (k, j) in enumerate(sorted(pairs.items())):
        stop_if(cancel, "the diff")
        report(progress, done, len(pairs), "comparing nodes and weights")
        one, other = a.nodes[j], b.nodes[k]
        heavier = _weight_changes(one, other, _ref(other, k).name)
        what = _node_changes(one, other, after.opset, value) + [_weight_text(w) for w in heavier]
        if what:
            changed.append(Changed(_ref(one, j), _ref(other, k), tuple(what)))
        elif one.name != other.name:
            renamed.append((_ref(one, j).name, _ref(other, k).name))
        weights += heavier
    gone = set(range(len(a.nodes))) - set(pairs.values())
    explained = {j for k, js in origin.items() for j in js}
    counts_a, counts_b = Counter(n.op for n in a.nodes), Counter(n.op for n in b.nodes)
    return Delta(
        same=len(pairs) - len(changed),
        added=tuple(_ref(n, k) for k, n in enumerate(b.nodes) if k not in pairs),
        removed=tuple(_ref(a.nodes[j], j) for j in sorted(gone)),
        changed=tuple(changed),
        renamed=tuple(renamed),
        fused=tuple(
            (_ref(b.nodes[k], k).name, tuple(_ref(a.nodes[j], j).name for j in js))
            for k, js in sorted(origin.items())
            if len(js) > 1 and explained
        ),
        weights=tuple(weights),
        interface=tuple(_interface(before, after)),
        model=tuple(_model_fields(before, after)),
        operators={
            op: (counts_a[op], counts_b[op]) for op in sorted(counts_a | counts_b) if counts_a[op] != counts_b[op]
        },
    )


def _ref(node: Node, index: int) -> NodeRef:
    return NodeRef(node.op, node.name or f"{node.op}#{index}", index)


def _values(
    one: list[Node], other: list[Node], inputs: list[object], outputs: list[object], pairs: Mapping[int, int]
) -> dict[int, int]:
    """id of a value in `after` → id of the value in `before` it is."""
    named = {t.name: id(t) for n in one for t in n.outputs if t.name}
    same = {id(t): named[t.name] for n in other for t in n.outputs if t.name in named}
    same.update({id(t): id(s) for s, t in zip(inputs, outputs, strict=False)})
    for k, j in pairs.items():
        for s, t in zip(one[j].outputs, other[k].outputs, strict=False):
            same.setdefault(id(t), id(s))
    return same


def _attribute_changes(one: Node, other: Node, opset: int, value: Mapping[int, int]) -> list[str]:
    out = []
    assumed = default_texts(other.op, other.domain, opset) if not other.domain else {}
    if one.domain != other.domain:
        out.append(f"domain {one.domain or 'ai.onnx'} → {other.domain or 'ai.onnx'}")
    for name in dict.fromkeys((*one.attrs, *other.attrs)):
        old, new = one.attrs.get(name), other.attrs.get(name)
        if isinstance(old, Graph) and isinstance(new, Graph):
            out += [f"{name}: {what}" for what in _body_changes(old, new, opset, value)]
            continue
        texts = ["unset" if v is None else value_text(v) for v in (old, new)]
        meant = [assumed.get(name, t) if t == "unset" else t for t in texts]
        if meant[0] != meant[1]:
            out.append(f"attribute {name} {texts[0]} → {texts[1]}")
        elif isinstance(old, (str, bytes, float, list, tuple)) and repr(old) != repr(new):
            out.append(f"attribute {name} differs beyond {texts[0]}")
    return out


def _body_changes(one: Graph, other: Graph, opset: int, outer: Mapping[int, int]) -> list[str]:
    """What differs between two subgraphs or function bodies, one sentence each."""
    pairs = align(one, other)
    value = {**outer, **_values(one.nodes, other.nodes, one.inputs, other.inputs, pairs)}
    out = []
    for k, j in sorted(pairs.items()):
        old, new = one.nodes[j], other.nodes[k]
        label = _ref(new, k).name
        out += [f"{label} {what}" for what in _node_changes(old, new, opset, value)]
        for change in _weight_changes(old, new, label):
            out.append(f"{label} {_weight_text(change)}")
    gone = sorted(set(range(len(one.nodes))) - set(pairs.values()))
    out += [f"{one.nodes[j].op} {_ref(one.nodes[j], j).name} is gone" for j in gone]
    out += [f"{n.op} {_ref(n, k).name} is new" for k, n in enumerate(other.nodes) if k not in pairs]
    if len(one.outputs) != len(other.outputs):
        out.append(f"{counted(len(one.outputs), 'output')} → {len(other.outputs)}")
    out += [
        f"output {k} is {t.name} where it was {s.name}"
        for k, (s, t) in enumerate(zip(one.outputs, other.outputs, strict=False))
        if value.get(id(t), id(s)) != id(s)
    ]
    return out


def _node_changes(one: Node, other: Node, opset: int, value: Mapping[int, int]) -> list[str]:
    return _attribute_changes(one, other, opset, value) + _wiring_changes(one, other, value)


def _wiring_changes(one: Node, other: Node, value: Mapping[int, int]) -> list[str]:
    out = []
    if len(one.inputs) != len(other.inputs):
        out.append(f"{counted(len(one.inputs), 'input')} → {len(other.inputs)}")
    for k, (s, t) in enumerate(zip(one.inputs, other.inputs, strict=False)):
        kinds = [("constant" if isinstance(x, Constant) else "value" if x.name else "nothing") for x in (s, t)]
        if kinds[0] != kinds[1]:
            out.append(f"input {k} {kinds[0]} {s.name} → {kinds[1]} {t.name}")
        elif kinds[0] == "value" and value.get(id(t), id(s)) != id(s):
            out.append(f"input {k} reads {t.name} where it read {s.name}")
    return out


def _weight_changes(one: Node, other: Node, name: str) -> list[WeightChange]:
    pairs = [*zip(one.inputs, other.inputs, strict=False)]
    pairs += [(old, other.attrs.get(key)) for key, old in one.attrs.items()]
    out = []
    for s, t in pairs:
        if isinstance(s, Constant) and isinstance(t, Constant):
            labels = s.name or one.outputs[0].name, t.name or other.outputs[0].name
            try:
                gap = _gap(s, t)
            except ExternalDataError as error:
                out.append(WeightChange(name, *labels, None, None, error.what))
                continue
            if gap is not None:
                far, ratio = (None, None) if gap.note else (gap.max_abs, gap.sqnr_db)
                out.append(WeightChange(name, *labels, far, ratio, gap.note))
    return out


def _weight_text(change: WeightChange) -> str:
    names = change.after if change.before == change.after else f"{change.before} → {change.after}"
    far = change.note or f"max difference {change.max_abs:.3g}, {units.decibel(change.sqnr_db)}"
    return f"weight {names}, {far}"


def _gap(one: Constant, other: Constant) -> Difference | None:
    """How far two weights are apart; None where nothing differs."""
    if equal(one._values, other._values):
        return None
    if one.dtype == object or one.dtype != other.dtype or one.shape != other.shape:
        found = difference(one.values, other.values)
    else:
        found = difference_in_parts(parts(one._values), parts(other._values))
    return None if found.equal else found


def _interface(before: Model, after: Model) -> list[str]:
    out = []
    for side, old, new in (("input", before.inputs, after.inputs), ("output", before.outputs, after.outputs)):
        a, b = [_port(x) for x in old], [_port(x) for x in new]
        out += [f"{side} {x} is gone" for x in a if x not in b] + [f"{side} {x} is new" for x in b if x not in a]
        if not out and a != b:
            out.append(f"the {side}s stand in another order")
    return out


def _port(info: ValueInfo) -> str:
    dims = "?" if info.shape is None else "×".join("?" if d is None else str(d) for d in info.shape)
    return f"{info.name} {dtype_name(info.dtype)} {dims}"


def _model_fields(before: Model, after: Model) -> list[str]:
    out = []
    for domain in sorted(before.opsets.keys() | after.opsets.keys()):
        old, new = before.opsets.get(domain), after.opsets.get(domain)
        if old != new:
            out.append(
                f"opset {domain or 'ai.onnx'} {old if old is not None else 'none'} → {new if new is not None else 'none'}"
            )
    if before.ir_version != after.ir_version:
        out.append(f"ir_version {before.ir_version} → {after.ir_version}")
    for field in ("producer_name", "producer_version", "name"):
        old, new = getattr(before.graph, field), getattr(after.graph, field)
        if old != new:
            out.append(f"{field} {old!r} → {new!r}")
    return out + _function_changes(before, after)


def _function_changes(before: Model, after: Model) -> list[str]:
    old, new = ({(f.domain, f.name): f for f in m.graph.functions} for m in (before, after))
    out = [f"function {d}::{n} is gone" for d, n in old if (d, n) not in new]
    out += [f"function {d}::{n} is new" for d, n in new if (d, n) not in old]
    for (domain, name), body in new.items():
        if (domain, name) in old:
            changes = _body_changes(old[domain, name], body, after.opset, {})
            out += [f"function {domain}::{name}: {what}" for what in changes]
    return out
