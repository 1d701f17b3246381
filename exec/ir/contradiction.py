"""What ONNX's own shape inference proves impossible: a weight of another rank, a stride of 0, shapes that cannot be broadcast.

It runs without data propagation, which a few bytes can make allocate gigabytes, and not on what makes it walk the same part of a
model again and again: functions, deep subgraphs, many nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import onnx
from onnx import shape_inference

from exec.ir.attributevalues import outside
from exec.ir.names import printable
from exec.ir.notes import Findings

MOST_NODES = 5_000
MOST_LEVELS = 4
TRUSTING = frozenset({"DictVectorizer", "EyeLike", "LabelEncoder", "RegexFullMatch", "TreeEnsemble"})
"""Inference crashes on these where an input has no type, as what an unknown operator makes has none."""
_ENTRY = re.compile(r"\(op_type:(?P<op>[^,)]*)(?:, node name: (?P<name>.*?))?\): \[\w+\] (?P<said>[^\n]*)")
_NOT_PROVEN = re.compile(r"Inference error|external|instead is null|[Dd]ata size|parse|not yet|[Uu]nsupported")
# few ops list maps, none sequences of sequences: they are handed through all the same
_OTHER_KIND = re.compile(r"unsupported type: (?:seq|optional)\((?!seq|map)|typestr: S, has unsupported type: tensor\(")
_EQUATION = re.compile(rb"(?:[A-Za-z, ]|\.{3}(?!\.))*(?:->(?:[A-Za-z ]|\.{3}(?!\.))*)?")
_DECLARED = re.compile(r"existing (?:elem type|shape)")
_GRAPH = onnx.AttributeProto.GRAPH


def inferable(proto: onnx.ModelProto) -> bytes:
    """The model for `check_inference`, whose proto is taken apart meanwhile; nothing where inference is not asked.

    proto  a whole model; large weights may be tokens, whose values inference never asks for
    """
    # inference takes a sparse weight for a scalar
    if proto.functions or proto.graph.sparse_initializer or not _is_small(proto.graph) or not _ends(proto.graph):
        return b""
    return bytes(proto.SerializeToString())


def check_inference(data: bytes, findings: Findings) -> None:
    """Add what inference refuses, and what is only declared otherwise.

    It is asked about models in which nothing else was found: on nodes that break their schemas it crashes.
    """
    if not data or any(note.is_error for note in findings.notes):
        return
    try:
        shape_inference.infer_shapes(data, check_type=True, strict_mode=True)
    except shape_inference.InferenceError as error:
        found = tuple(_entries(str(error)))
    except Exception:
        # What cannot even be looked at is told by the checks of the structure.
        return
    else:
        return
    for op, name, said in found:
        where = f"node {printable(name or op)!r}" if name or op else "model"
        if _DECLARED.search(said):
            findings.note("declared-otherwise", where, f"what is declared does not follow from its inputs: {said}")
        elif op and (_OTHER_KIND.search(said) or not _NOT_PROVEN.search(said)):
            findings.error("impossible", where, f"{printable(op)} cannot have these inputs: {said}")


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    found = False
    for match in _ENTRY.finditer(text):
        found = True
        yield match["op"], match["name"] or "", printable(match["said"].strip())
    if not found:
        other = _OTHER_KIND.search(text) and re.search(r"op_type:([^,)]*)", text)
        yield other[1] if other else "", "", printable(text.partition("] ")[2].partition("\n")[0].strip() or text)


def _ends(graph: onnx.GraphProto) -> bool:
    """Whether inference comes to an end: its reading of an Einsum equation never does at a sign that means nothing, and it trusts numbers."""
    left = [graph]
    while left:
        for node in left.pop().node:
            if node.op_type in TRUSTING:
                return False
            for item in node.attribute:
                if item.type == _GRAPH:
                    left.append(item.g)
                elif _trips(node, item):
                    return False
    return True


def _trips(node: onnx.NodeProto, item: onnx.AttributeProto) -> bool:
    """Whether inference never ends, or writes where nothing is, for this attribute."""
    if node.op_type == "Einsum":
        return _EQUATION.fullmatch(item.s) is None
    if node.op_type == "Split" and item.name == "num_outputs":
        return item.i != len(node.output)
    return outside(node.op_type, item.name, item) is not None


def _is_small(graph: onnx.GraphProto) -> bool:
    """Whether a graph has few nodes, subgraphs included, and few levels of them."""
    left, level, nodes = [graph], 0, 0
    while left:
        nodes += sum(len(one.node) for one in left)
        level += 1
        if nodes > MOST_NODES or level > MOST_LEVELS:
            return False
        left = [item.g for one in left for node in one.node for item in node.attribute if item.type == _GRAPH]
    return True
