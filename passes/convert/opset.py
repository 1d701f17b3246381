"""A model at another opset, its subgraphs too.

Up, one version at a time: an op whose meaning or form changed is rewritten by its adapter; all others only gained what the old model does
not use. Down, an op becomes what its adapter writes, or the function by which the specification defines it. The functions of a model keep
the opset they import.
"""

from __future__ import annotations

import numpy as np
import onnx.defs
from onnx import helper

from exec.dtypes import from_numpy
from exec.errors import OptionError, RewriteError
from exec.ir import Graph, Model, Node, no_gc
from exec.ir.opsets import schema_of
from passes.base import Rewrite, Safety
from passes.convert import downward, normalization, resize, upward
from passes.convert.adapters import Adapter, down, up
from passes.convert.by_definition import by_definition, goes_by_definition
from passes.invariants import check_node
from passes.ledger import Ledger
from passes.region import Region, Workspace
from passes.regional import RegionalVerifier
from passes.shapes.elementwise import BROADCASTING

REGISTERED = (upward, downward, resize, normalization)
"""Imported for the adapters they register."""

OLDEST = 5


class ConvertOpset(Rewrite):
    """What an adapter's patch is held to."""

    id = "convert-opset"
    safety = Safety.ROUNDING
    finite_only = True


def convert_opset(model: Model, target: int, witness: RegionalVerifier | None = None) -> Model:
    """A copy of `model` at opset `target`; `RewriteError` names the node that cannot be written there.

    witness  compares both sides of each adapter's patch; a difference is a `RewriteError`, too
    """
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST <= target <= newest:
        raise OptionError(f"there is no opset {target} to convert to", why=f"known: {OLDEST} to {newest}")
    with no_gc():
        copy = model.copy()
        if copy.opset == target:
            return copy
        workspace = Workspace(copy, ledger=Ledger(1 << 62))
        for region in workspace.regions:
            for node in region.nodes():
                # known while the nodes still mean what the old opset says
                workspace.facts.note_once(node)
        _climb(workspace, target, witness) if target > copy.opset else _descend(workspace, target, witness)
        graph = copy.graph
        graph.ir_version = max(graph.ir_version or 0, _ir_version(target))
        return copy


def _climb(workspace: Workspace, target: int, witness: RegionalVerifier | None) -> None:
    for version in range(workspace.model.opset + 1, target + 1):
        adapters = {op: adapter for (op, to), adapter in up.items() if to == version}
        _set_opset(workspace, version)
        for region in _regions(workspace):
            _adapt(region, adapters, version, version - 1, witness)
        workspace.flush()
    _check(workspace, target, target)


def _descend(workspace: Workspace, target: int, witness: RegionalVerifier | None) -> None:
    newest = workspace.model.opset
    for version in range(newest, target, -1):
        adapters = {op: adapter for (op, below), adapter in down.items() if below == version}
        for region in _regions(workspace):
            _adapt(region, _definitions(region, adapters, version), version - 1, version, witness)
            workspace.flush()
            region.opset = version - 1
            _adapt(region, adapters, version - 1, version, witness)
            _drop_defaults(region, version - 1)
        workspace.flush()
        _set_opset(workspace, version - 1)
    _check(workspace, target, newest)


def _regions(workspace: Workspace) -> list[Region]:
    return [r for r in workspace.regions if not r.is_function]


def _definitions(region: Region, adapters: dict[str, Adapter], version: int) -> dict[str, Adapter]:
    """For the ops of a graph that the opset before `version` lacks and no adapter writes."""
    ops = {node.op for node in region.nodes() if not node.domain}
    return {op: by_definition for op in ops - adapters.keys() if goes_by_definition(op, version)}


def _adapt(
    region: Region, adapters: dict[str, Adapter], version: int, old: int, witness: RegionalVerifier | None
) -> None:
    for node in list(region.nodes()):
        adapter = adapters.get(node.op)
        if adapter is None or not region.is_plain(node):
            continue
        found = adapter(node, region)
        if isinstance(found, str):
            where, hint = f"node {node.name or node.op}", _as_far_as(old)
            raise RewriteError(f"{node.op} cannot be written in opset {version}", where, found, hint)
        if found is None:
            continue
        sighting = None if witness is None else witness.before(found, old)
        done = found.apply()
        problem = "" if witness is None or sighting is None else witness.after(done, sighting, ConvertOpset())
        if problem:
            where = f"node {node.name or node.op}"
            raise RewriteError(f"{node.op} computes something else in opset {version}", where, problem, _as_far_as(old))


def _drop_defaults(region: Region, version: int) -> None:
    """Attributes that opset `version` does not know go where they say what it does anyway."""
    for node in region.nodes():
        schema = schema_of(node.op, version) if region.is_plain(node) else None
        newer = schema_of(node.op, version + 1) if schema is not None else None
        if schema is None or newer is None:
            continue
        for name in [n for n in node.attrs if n not in schema.attributes and n in newer.attributes]:
            default, value = newer.attributes[name].default_value, node.attrs[name]
            usual = helper.get_attribute_value(default) if default.type else None
            if isinstance(usual, bytes):
                usual = usual.decode()
            ones = name == "dilations" and all(v == 1 for v in value)
            if ones or (default.type and value == usual):
                del node.attrs[name]


def _set_opset(workspace: Workspace, version: int) -> None:
    for region in _regions(workspace):
        region.opset = version
        region.graph.opset = version
    _mark(workspace.model.graph, version)


def _mark(graph: Graph, version: int) -> None:
    for entry in graph.import_domains or ():
        if entry.domain in ("", "ai.onnx"):
            entry.version = version


def _check(workspace: Workspace, target: int, newest: int) -> None:
    """Every op, attribute, input and type must exist in the target; if not, say which opset up to `newest` still has them."""
    for region in _regions(workspace):
        for node in region.nodes():
            if not region.is_plain(node):
                continue
            problem = _problem(node, region, target)
            if problem is not None:
                oldest = next((v for v in range(target + 1, newest + 1) if _problem(node, region, v) is None), None)
                problem.hint = problem.hint or (_as_far_as(oldest) if oldest is not None else "")
                raise problem


def _problem(node: Node, region: Region, opset: int) -> RewriteError | None:
    """Why the node cannot stand in a graph of `opset`."""
    kept = region.opset
    region.opset = opset
    try:
        check_node(node, region)
        _check_inputs(node, region, opset)
    except RewriteError as error:
        return error
    finally:
        region.opset = kept
    return None


def _as_far_as(opset: int) -> str:
    return f"`--opset {opset}` is as far as this node goes"


def _check_inputs(node: Node, region: Region, target: int) -> None:
    where = f"node {node.name or node.op}"
    schema = schema_of(node.op, target)
    assert schema is not None  # check_node asked
    for k, tensor in enumerate(node.inputs):
        formal = schema.inputs[min(k, len(schema.inputs) - 1)]
        if not region.has(node, k):
            if formal.option == onnx.defs.OpSchema.FormalParameterOption.Single:
                raise RewriteError(f"{node.op} needs its input {formal.name} in opset {target}", where)
            continue
        dtype = region.dtype(tensor)
        if isinstance(dtype, np.dtype) and f"tensor({from_numpy(dtype).text})" not in formal.types:
            raise RewriteError(f"{node.op} does not take {dtype.name} for {formal.name} in opset {target}", where)
    if target < 7 and node.op in BROADCASTS:
        shapes = [region.shape(t) for t in node.inputs]
        if any(s is None or s != shapes[0] for s in shapes):
            raise RewriteError(f"{node.op} broadcasts by other rules before opset 7", where)


BROADCASTS = frozenset(BROADCASTING) | {"PRelu", "Gemm"}


def _ir_version(opset: int) -> int:
    """The oldest IR version that may carry `opset`."""
    found = helper.OP_SET_ID_VERSION_MAP.get(("ai.onnx", opset))
    return int(found) if found is not None else int(onnx.IR_VERSION)
