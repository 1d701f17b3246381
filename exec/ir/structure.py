"""What is odd or wrong about a whole model: versions, domains, functions, control flow, names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from exec.errors import BenchError, ExternalDataError, InvalidModel
from exec.ir.editing import constant_value, walk
from exec.ir.graph import Function, Graph
from exec.ir.names import printable, text
from exec.ir.node import Node
from exec.ir.notes import Findings, Note
from exec.ir.opsets import standard
from exec.ir.protobuf import has_unknown_fields
from exec.ir.schemacheck import check_form, check_node, contract

if TYPE_CHECKING:
    from exec.ir.model import Model

MANY_NODES = 1_000_000
MANY_STEPS = 1_000_000
LONG_NAME = 1000
_ODD_NAME = "its name is very long, or has characters that terminals, markup or shells act on"
# What terminals, markup, templates, shells or file systems act on.
_ODD_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff[{<%$`]|\\.\\.[/\\\\]")


def check_model(model: Model, findings: Findings) -> None:
    """Add what is odd or wrong beyond single graphs, which the import has looked at."""
    shell = model.shell
    if has_unknown_fields(shell) or (model.graph._g is not None and has_unknown_fields(model.graph._g)):
        findings.note("unknown-fields", "model", "it has fields this version of ONNX does not know; they are kept")
    if model.ir_version > onnx.IR_VERSION:
        findings.note(
            "newer-ir", "model", f"IR version {model.ir_version} is newer than {onnx.IR_VERSION}, the newest known"
        )
    for note in model.store.files.notes.values():
        findings.add(note)
    if not model.has_graph:
        findings.error("no-graph", "model", "it has no graph")
    if model.ir_version < 1:
        findings.error("ir-version", "model", "it has no IR version")
    imported = _check_imports(model.graph.import_domains or (), "model", findings)
    if not imported and model.ir_version >= 3 and model.graph.nodes:
        findings.error("no-opset", "model", "it imports no operator set (opset)")
    if not model.graph.outputs and model.has_graph:
        findings.note("no-output", "model", "it has no outputs: nothing in it is wanted")
    called = {(function.domain or "", function.name) for function in model.functions}
    for graph in walk(model.graph):
        _check_nodes(graph, imported, "model", findings, called)
    if model.functions:
        _Functions(model, findings).check()
    for function in model.functions:
        own = {standard(text(entry.domain)): int(entry.version) for entry in function.import_domains or ()}
        for graph in walk(function):
            _check_nodes(graph, own, _place(function), findings, called)


def refuse(model: Model) -> None:
    """Raise for the first error among a model's notes."""
    errors = [note for note in model.notes if note.is_error]
    if not errors:
        return
    first = errors[0]
    where = first.where
    if model.path is not None and os.fspath(model.path) not in where:
        where = f"{where}, file {os.fspath(model.path)}"
    more = f"and {len(errors) - 1} more like it" if len(errors) > 1 else ""
    if first.code == "external-data":
        raise ExternalDataError(first.message, where, more, first.hint)
    raise InvalidModel(_sentence(first), where, more, "`owb check` lists all that is wrong")


def _sentence(note: Note) -> str:
    return f"the model is not valid: {note.message}"


def _check_imports(entries: Any, place: str, findings: Findings) -> dict[str, int]:
    versions: dict[str, int] = {}
    for entry in entries:
        domain, version = standard(text(entry.domain)), int(entry.version)
        shown = printable(domain or "ai.onnx")
        if versions.setdefault(domain, version) != version:
            findings.error("opset-conflict", place, f"it imports {shown} at versions {versions[domain]} and {version}")
        known = _known_version(domain)
        if version < 1:
            findings.error("opset-version", place, f"it imports {shown} at version {version}")
        elif known and version > known:
            findings.note("newer-opset", place, f"{shown} {version} is newer than {known}, the newest known")
    return versions


def _known_version(domain: str) -> int:
    if domain == "":
        return int(onnx.defs.onnx_opset_version())
    known = {str(key): int(value[1]) for key, value in onnx.defs.C.schema_version_map().items()}
    return known.get(domain, 0)


def _check_nodes(
    graph: Graph, imported: dict[str, int], place: str, findings: Findings, called: set[tuple[str, str]]
) -> None:
    for domain in sorted({node.domain for node in graph.nodes} - imported.keys()):
        if imported:
            findings.note(
                "domain-not-imported",
                place,
                f"it has nodes of {printable(domain or 'ai.onnx')} and imports no version of it",
            )
    newest = {domain: _known_version(domain) for domain in imported}
    for node in graph.nodes:
        domain = node.domain or ""
        version = imported.get(domain, 0)
        if 1 <= version <= newest.get(domain, 0) and (not called or (domain, node.op) not in called):
            check_node(node, version, findings)
        if node.attrs:
            check_form(node, findings, in_function=place != "model")
        if node.op == "If" and not domain:
            _check_branches(node, findings)
        elif node.op == "Loop" and not domain:
            _check_loop(node, findings)
        elif node.op == "Constant" and not domain:
            _check_constant(node, findings)
    nodes = [node.name for node in graph.nodes]
    values = [tensor.name for node in graph.nodes for tensor in node.outputs]
    for kind, names in (("node", nodes), ("value", values), ("input", [tensor.name for tensor in graph.inputs])):
        for name in _odd(names):
            findings.note("odd-name", f"{kind} {name[:40]!r}", _ODD_NAME)


def _odd(names: list[str]) -> list[str]:
    """The odd ones among names; all are looked at together first, since hardly any is."""
    if not _ODD_CHARACTER.search(" ".join(names)) and max(map(len, names), default=0) <= LONG_NAME:
        return []
    return [name for name in names if len(name) > LONG_NAME or _ODD_CHARACTER.search(name)]


def _check_constant(node: Node, findings: Findings) -> None:
    values = [name for name in node.attrs if "value" in name]
    if len(values) != 1:
        what = "no value" if not values else f"{len(values)} values: {', '.join(map(printable, values))}"
        findings.error("constant-value", f"node {node.name or node.op!r}", f"it has {what}")


def _check_branches(node: Node, findings: Findings) -> None:
    if not node.inputs or not node.inputs[0].name:
        findings.error("no-condition", f"node {node.name or node.op!r}", "it has no condition")
    for name in ("then_branch", "else_branch"):
        branch = node.attrs.get(name)
        if isinstance(branch, Graph) and len(branch.outputs) != len(node.outputs):
            findings.error(
                "branch-outputs",
                f"node {node.name or node.op!r}",
                f"its {name} has {len(branch.outputs)} outputs, the node {len(node.outputs)}",
            )


def _check_loop(node: Node, findings: Findings) -> None:
    where = f"node {node.name or node.op!r}"
    steps = _known(node.inputs[0]) if node.inputs and node.inputs[0].name else None
    if steps is not None and steps.size == 1 and steps.dtype.kind in "iu" and int(steps.reshape(-1)[0]) > MANY_STEPS:
        findings.note("long-loop", where, f"it may run {int(steps.reshape(-1)[0]):,} times")
    has_count = bool(node.inputs) and bool(node.inputs[0].name)
    if not has_count and _never_stops(node):
        findings.note("endless-loop", where, "nothing ever stops it")


def _known(tensor: Any) -> Any:
    """A constant's value; None also for one that cannot be read, which is told elsewhere."""
    try:
        return constant_value(tensor)
    except BenchError:
        return None


def _before_identities(tensor: Any) -> Any:
    """The value that `tensor` is a copy of; odd graphs have Identity nodes that read nothing, or each other."""
    seen: set[int] = set()
    while len(tensor.inputs) == 1 and id(tensor) not in seen:
        seen.add(id(tensor))
        maker = tensor.inputs[0]
        if maker.op != "Identity" or not maker.inputs:
            break
        tensor = maker.inputs[0]
    return tensor


def _never_stops(node: Node) -> bool:
    """A Loop without a count whose condition is true, and that its body does not change."""
    if len(node.inputs) > 1 and node.inputs[1].name:
        start = _known(node.inputs[1])
        if start is None or not np.all(start):
            return False
    body = node.attrs.get("body")
    if not isinstance(body, Graph) or not body.outputs:
        return False
    going_on = _before_identities(body.outputs[0])
    value = _known(going_on)
    return (value is not None and bool(np.all(value))) or (len(body.inputs) > 1 and going_on is body.inputs[1])


class _Functions:
    """The model's functions, by what a call names."""

    def __init__(self, model: Model, findings: Findings) -> None:
        self.model, self.findings = model, findings
        self.known: dict[tuple[str, str, str], Function] = {}
        # Callees before callers.
        self.finished: list[Function] = []
        for function in model.functions:
            if self.known.setdefault(function.key, function) is not function:
                findings.error(
                    "duplicate-function", _place(function), "two functions have this domain, name and overload"
                )

    def check(self) -> None:
        """Every function for itself, then calls of each other."""
        for function in self.model.functions:
            if not function.import_domains:
                self.findings.error("no-opset", _place(function), "it imports no operator set")
            _check_imports(function.import_domains or (), _place(function), self.findings)
            opset = min(max(function.opset or 1, 1), onnx.defs.onnx_opset_version())
            if not function.domain and contract(function.name, "", opset) is not None:
                self.findings.note(
                    "function-hides-op", _place(function), "it stands for an operator of the specification"
                )
        for owner in (self.model.graph, *self.model.functions):
            for graph in walk(owner):
                for node, function in self._calls(graph):
                    self._check_call(node, function)
        if self._check_recursion():
            total = self._expanded()
            if total > MANY_NODES:
                self.findings.note("explosion", "model", f"with its functions inlined it has {_about(total)} nodes")

    def _calls(self, graph: Graph) -> Iterator[tuple[Node, Function]]:
        for node in graph.nodes:
            function = self.known.get((node.domain or "", node.op, node.overload))
            if function is not None:
                yield node, function

    def _check_call(self, node: Node, function: Function) -> None:
        for side, given, takes in (
            ("inputs", len(node.inputs), len(function.inputs)),
            ("outputs", len(node.outputs), len(function.outputs)),
        ):
            if given > takes:
                where = f"node {node.name or node.op!r}"
                self.findings.error("call-arity", where, f"it has {given} {side} and {_place(function)} has {takes}")

    def _callees(self, owner: Graph) -> list[Function]:
        return [function for graph in walk(owner) for _, function in self._calls(graph)]

    def _check_recursion(self) -> bool:
        """False if a function calls itself, directly or by way of others; walks without recursion of its own."""
        done: set[int] = set()
        self.finished.clear()
        for root in self.model.functions:
            if id(root) in done:
                continue
            path: list[tuple[Function, Iterator[Function]]] = [(root, iter(self._callees(root)))]
            on_path = {id(root)}
            while path:
                function, callees = path[-1]
                callee = next(callees, None)
                if callee is None:
                    path.pop()
                    on_path.discard(id(function))
                    done.add(id(function))
                    self.finished.append(function)
                elif id(callee) in on_path:
                    self.findings.error("recursion", _place(callee), "it calls itself, directly or by way of others")
                    return False
                elif id(callee) not in done:
                    path.append((callee, iter(self._callees(callee))))
                    on_path.add(id(callee))
        return True

    def _expanded(self) -> int:
        """Nodes of the main graph after inlining. Each function is counted once, callees before callers; nothing is expanded."""
        sizes: dict[int, int] = {}
        for owner in (*self.finished, self.model.graph):
            total = 0
            for graph in walk(owner):
                total += len(graph.nodes)
                for _, function in self._calls(graph):
                    total += sizes[id(function)] - 1
            sizes[id(owner)] = total
        return sizes[id(self.model.graph)]


def _place(function: Function) -> str:
    return f"function {printable(function.domain or 'ai.onnx')}::{printable(function.name)}"


def _about(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"about 10^{len(str(count)) - 1}"
