"""Whether a node is what the specification says of its operator: inputs, outputs and attributes. No value is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import onnx

from exec.ir.attributes import FIELDS
from exec.ir.attributevalues import WORDS, outside, range_of
from exec.ir.names import printable, text
from exec.ir.node import Node
from exec.ir.notes import Findings
from exec.ir.opsets import is_known, schema_of

A = onnx.AttributeProto
_VALUES = frozenset(FIELDS.values())
_MESSAGES = frozenset((A.TENSOR, A.GRAPH, A.SPARSE_TENSOR, A.TYPE_PROTO))
# onnxruntime's optimizer writes these into the default domain, whatever opset the model imports.
_OF_ONNXRUNTIME = frozenset(
    ("Affine", "Crop", "DynamicSlice", "GivenTensorFill", "ImageScaler", "LayerNormalization", "ParametricSoftplus",
     "Scale", "ScaledTanh", "SimplifiedLayerNormalization", "ThresholdedRelu")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contract:
    """What a schema asks of a node; ONNX's OpSchema without its cost per access.

    least_inputs, most_inputs, least_outputs, most_outputs   how many stand in the node, absent ones included
    attributes                                               name → AttributeProto type
    required                                                 attributes without a default
    """

    least_inputs: int
    most_inputs: int
    least_outputs: int
    most_outputs: int
    attributes: dict[str, int]
    required: frozenset[str]
    is_deprecated: bool


@lru_cache(maxsize=4096)
def contract(op: str, domain: str, opset: int) -> Contract | None:
    """The contract of an operator at an opset; None where the specification has none."""
    schema = schema_of(op, opset, domain)
    if schema is None:
        return None
    attributes: dict[str, Any] = dict(schema.attributes)
    return Contract(
        schema.min_input,
        schema.max_input,
        schema.min_output,
        schema.max_output,
        {name: int(attribute.type.value) for name, attribute in attributes.items()},
        frozenset(name for name, attribute in attributes.items() if attribute.required),
        schema.deprecated,
    )


def check_node(node: Node, opset: int, findings: Findings) -> None:
    """Add what a node has against its schema at `opset`; one that has none at this opset is either newer or nobody's."""
    proto = node._o
    if proto is None:
        return
    if not node.op:
        findings.error("no-op-type", _where(node), "it has no operator type")
        return
    found = contract(node.op, node.domain or "", opset)
    if found is None:
        _check_known(node, opset, findings)
    else:
        if found.is_deprecated:
            findings.note("removed-op", _where(node), f"opset {opset} no longer has {printable(node.op)}")
        inputs = node.inputs
        given = len(inputs)
        while given > found.most_inputs and not inputs[given - 1].name:
            given -= 1
        if given > found.most_inputs or given < found.least_inputs:
            findings.error("input-count", _where(node), _counts("input", given, found.least_inputs, found.most_inputs))
        given = len(node.outputs)
        if given > found.most_outputs or given < found.least_outputs:
            findings.error(
                "output-count", _where(node), _counts("output", given, found.least_outputs, found.most_outputs)
            )
        if found.required or node.attrs:
            _check_attributes(node, proto.attribute, found, findings)
            if node.op == "Split" and not node.domain:
                _check_parts(node, findings)


def _check_attributes(node: Node, attributes: Any, found: Contract, findings: Findings) -> None:
    missing = found.required
    for item in attributes:
        name = text(item.name)
        missing = missing - {name}
        wanted = found.attributes.get(name)
        if wanted is None:
            if not name.startswith("__"):  # names reserved for tools
                findings.error(
                    "unknown-attribute", _where(node), f"{printable(node.op)} has no attribute {printable(name)!r}"
                )
        elif item.type and item.type != wanted:
            findings.error(
                "attribute-type",
                _where(node),
                f"attribute {printable(name)!r} is {_kind(item.type)}, where {printable(node.op)} has {_kind(wanted)}",
            )
        elif item.i or item.ints:
            _check_numbers(node, item, findings)
        elif item.s and (words := WORDS.get((node.op, name)) or WORDS.get(("", name))):
            word = text(item.s)
            if word not in words:
                what = f"attribute {printable(name)!r} is {printable(word)!r}; {printable(node.op)} knows {', '.join(words)}"
                findings.error("attribute-value", _where(node), what)
    for name in sorted(missing):
        findings.error("missing-attribute", _where(node), f"it has no {name}, which {printable(node.op)} needs")


def _check_numbers(node: Node, item: Any, findings: Findings) -> None:
    name = text(item.name)
    number, allowed = outside(node.op, name, item), range_of(node.op, name)
    if number is not None and allowed is not None:
        what = f"attribute {printable(name)!r} is {number}; {printable(node.op)} takes {allowed[0]} to {allowed[1]}"
        findings.error("attribute-value", _where(node), what)


def _check_parts(node: Node, findings: Findings) -> None:
    """ONNX's inference makes as many parts as the attribute says, and writes them to outputs that are not there."""
    parts = node.attrs.get("num_outputs")
    if isinstance(parts, int) and parts != len(node.outputs):
        findings.error("output-count", _where(node), f"it has {len(node.outputs)} outputs, and num_outputs is {parts}")


def check_form(node: Node, findings: Findings, *, in_function: bool) -> None:
    """Add what no node's attributes may be, whether anybody knows its op or not."""
    seen = set()
    for item in () if node._o is None else node._o.attribute:
        name = text(item.name)
        if name in seen:
            findings.error("duplicate-attribute", _where(node), f"it has attribute {printable(name)!r} twice")
        seen.add(name)
        if not name:
            findings.error("unnamed-attribute", _where(node), "one of its attributes has no name")
        if item.ref_attr_name:
            if not in_function:
                findings.error(
                    "attribute-reference",
                    _where(node),
                    f"attribute {printable(name)!r} refers to an attribute of a function, and is in none",
                )
        elif not item.type:
            findings.error("attribute-type", _where(node), f"attribute {printable(name)!r} has no type")
        elif (filled := {entry.name for entry, _ in item.ListFields()} & _VALUES) and filled != {FIELDS.get(item.type)}:
            what = f"attribute {printable(name)!r} is {_kind(item.type)} and has a value of another type"
            findings.error("attribute-type", _where(node), what)
        elif not filled and item.type in _MESSAGES:
            findings.error("attribute-type", _where(node), f"attribute {printable(name)!r} has no value")


def _check_known(node: Node, opset: int, findings: Findings) -> None:
    domain = node.domain or ""
    if is_known(node.op, domain):
        if not domain and node.op in _OF_ONNXRUNTIME:
            return
        first = _first_opset(node.op, domain)
        findings.error(
            "newer-op",
            _where(node),
            f"{printable(node.op)} exists since opset {first}, and the model imports {opset}",
        )
    elif not domain and node.op not in _OF_ONNXRUNTIME:
        findings.note(
            "unknown-op", _where(node), f"no version of ONNX up to {onnx.defs.onnx_opset_version()} has this operator"
        )


@lru_cache(maxsize=1024)
def _first_opset(op: str, domain: str) -> int:
    """The opset that brought an operator."""
    opset = 1
    while schema_of(op, opset, domain) is None:
        opset += 1
    return opset


def _counts(what: str, given: int, least: int, most: int) -> str:
    takes = f"{least}" if least == most else f"{least} or more" if most > 1000 else f"{least} to {most}"
    return f"it has {given} {what}{'' if given == 1 else 's'} and its operator takes {takes}"


def _kind(code: int) -> str:
    try:
        return str(A.AttributeType.Name(code)).lower()
    except ValueError:
        return f"of type {code}"


def _where(node: Node) -> str:
    return f"node {printable(node.name or node.op)!r}"
