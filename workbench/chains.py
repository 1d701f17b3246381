"""Nodes that belong together in a picture: a convolution with its activation is one box, a scope is one box."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.lookup import Lookup
from workbench.nodes import NodeTable

_HEADS = frozenset(
    [
        "Conv",
        "ConvTranspose",
        "Gemm",
        "MatMul",
        "LSTM",
        "GRU",
        "RNN",
        "Attention",
        "If",
        "Loop",
        "Scan",
        "QLinearConv",
        "QLinearMatMul",
        "FusedConv",
        "FusedMatMul",
        "Concat",
        "Split",
    ]
)
_MOST = 8
_NAMED = {
    ("Sigmoid", "Mul"): "SiLU",
    ("Add", "Clip", "Mul", "Div"): "HardSwish",
    ("HardSigmoid", "Mul"): "HardSwish",
    ("Div", "Erf", "Add", "Mul", "Mul"): "GELU",
    ("Softplus", "Tanh", "Mul"): "Mish",
}


@dataclass(frozen=True, slots=True)
class Group:
    """One box.

    kind   "node", "chain" (several that nothing else reads between) or "scope" (everything below a scope)
    scope  of a scope box, its path
    rows   of the node table
    """

    kind: str
    scope: str
    rows: tuple[int, ...]


def title_of(table: NodeTable, group: Group) -> str:
    """ "Conv ▸ SiLU" for a chain, the operator for a node, the last part of the path for a scope."""
    ops = [table.op[r] for r in group.rows]
    if group.kind == "scope":
        return group.scope.lstrip("/")
    words = [ops[0]]
    rest = tuple(ops[1:])
    while rest:
        size = next((n for n in range(len(rest), 1, -1) if rest[:n] in _NAMED), 1)
        words.append(_NAMED.get(rest[:size], rest[0]))
        rest = rest[size:]
    return " ▸ ".join(words[:4]) + (" …" if len(words) > 4 else "")


def chained(table: NodeTable, rows: Sequence[int], apart: Collection[int] = ()) -> list[Group]:
    """Fold what follows a node into its box where nothing else reads in between.

    apart  rows whose box is shown node by node
    """
    row_of = {id(table.node[r]): r for r in rows}
    makers = {r: {row_of[id(n)] for t in table.node[r].inputs for n in t.inputs if id(n) in row_of} for r in rows}
    readers = {r: {row_of[id(n)] for t in table.node[r].outputs for n in t.outputs if id(n) in row_of} for r in rows}
    outside = {r for r in rows if any(id(n) not in row_of for t in table.node[r].outputs for n in t.outputs)}
    group_of: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for r in rows:
        of = {group_of[m] for m in makers[r] if m in group_of}
        head = next(iter(of)) if len(of) == 1 and len(makers[r]) == sum(m in group_of for m in makers[r]) else None
        joins = (
            head is not None
            and table.op[r] not in _HEADS
            and len(members[head]) < _MOST
            and not outside.intersection(members[head])
            and _meets(r, set(members[head]), makers, readers)
        )
        if joins and head is not None:
            group_of[r] = head
            members[head].append(r)
        else:
            group_of[r] = r
            members[r] = [r]
    groups = []
    for rows_of in members.values():
        if len(rows_of) == 1 or not set(rows_of).isdisjoint(apart):
            groups += [Group("node", "", (r,)) for r in rows_of]
        else:
            groups.append(Group("chain", "", tuple(rows_of)))
    return groups


def _meets(row: int, inside: set[int], makers: dict[int, set[int]], readers: dict[int, set[int]]) -> bool:
    """Whether everything that reads the group comes together again along the single line that starts at `row`."""
    open_ends = {n for m in inside for n in readers[m]} - inside
    line, here = set(inside), row
    for _ in range(_MOST):
        line.add(here)
        if open_ends <= line | {n for n in open_ends if makers[n] <= line}:
            return True
        following = readers[here] - line
        if len(following) != 1:
            return False
        here = next(iter(following))
    return False


def scoped(lookup: Lookup, rows: Sequence[int], scope: str, apart: Collection[str] = ()) -> list[Group]:
    """Every scope directly below `scope` as one box; what lies in none stands alone.

    apart  scopes that are opened in place
    """
    table = lookup.table
    inside: dict[str, list[int]] = {}
    out: list[Group] = []
    loose: list[int] = []
    for r in rows:
        below = _below(table.scope[r], scope, apart)
        if below:
            inside.setdefault(below, []).append(r)
        else:
            loose.append(r)
    out += [
        Group("scope" if len(m) > 1 else "node", path if len(m) > 1 else "", tuple(m)) for path, m in inside.items()
    ]
    return sorted([*out, *(Group("node", "", (r,)) for r in loose)], key=lambda g: g.rows[0])


def _below(path: str, scope: str, apart: Collection[str]) -> str:
    """The part of a node's scope that is drawn as one box, "" for none."""
    from workbench.scopes import parts

    steps = [p for p in parts(path) if len(p) > len(scope)]
    return next((p for p in steps if p not in apart), "")
