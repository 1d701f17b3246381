"""The scopes that times are summed by: as deep as it takes to see where the time goes, whether names, the exporter or repeats tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exec.timing import NodeTime
from workbench.blocks import repeated_blocks
from workbench.scopes import parts, scope_of

FEWEST, MOST = 5, 60
"""Rows that a depth should have, and those that nobody reads through any more."""
UNSPELLED = "No name spells a scope"
_MUCH = 0.5
"""A scope with more of the time than this is looked into."""


def time_scopes(
    nodes: Sequence[NodeTime], recorded: Mapping[str, str] | None = None, *, whole: bool = False
) -> tuple[list[str], str]:
    """The scope of each node, and a sentence on how it was chosen, "" where nothing was left out.

    recorded  node name → module, as an exporter records it; a scope in the name itself comes first
    whole     each scope in full
    """
    steps = [parts(scope_of(n.name, n.op) or (recorded or {}).get(n.name, "")) for n in nodes]
    deepest = max(map(len, steps), default=0)
    if len({s[-1] if s else "" for s in steps}) < 2:
        return _blocks(nodes)
    best, depth = _at(steps, deepest if whole else 1), 1
    while not whole and depth < deepest and not _tells(best, nodes):
        deeper = _at(steps, depth + 1)
        if len(set(deeper)) > MOST and len(set(best)) > 1:
            break
        best, depth = deeper, depth + 1
    cut = not whole and len(set(best)) < len({s[-1] if s else "/" for s in steps})
    return best, f"Scopes to depth {depth} of {deepest} (--all shows each)." if cut else ""


def _at(steps: Sequence[tuple[str, ...]], depth: int) -> list[str]:
    return [s[min(depth, len(s)) - 1] if s else "/" for s in steps]


def _tells(scopes: Sequence[str], nodes: Sequence[NodeTime]) -> bool:
    """There are several rows, and none holds most of the time."""
    totals: dict[str, float] = {}
    for scope, node in zip(scopes, nodes, strict=True):
        totals[scope] = totals.get(scope, 0.0) + node.median_ns
    return len(totals) >= FEWEST and max(totals.values()) <= _MUCH * sum(totals.values())


def _blocks(nodes: Sequence[NodeTime]) -> tuple[list[str], str]:
    """Where no name spells a scope: the repeated blocks one by one, and what lies before, between and behind them."""
    order = sorted(range(len(nodes)), key=lambda k: nodes[k].index)
    found = repeated_blocks([nodes[k].op for k in order])
    if not found:
        return ["/"] * len(nodes), f"{UNSPELLED}, and nothing repeats."
    labels, end = ["behind the blocks"] * len(nodes), 0
    for number, block in enumerate(found):
        kind = f"{'ABC'[number]} " if len(found) > 1 else ""
        before = "between blocks" if number else "before the blocks"
        labels[end : block.first] = [before] * (block.first - end)
        for k in range(block.times):
            end = block.first + (k + 1) * block.nodes
            labels[end - block.nodes : end] = [f"block {kind}{k + 1} of {block.times}"] * block.nodes
    scopes = [""] * len(nodes)
    for label, k in zip(labels, order, strict=True):
        scopes[k] = label
    return scopes, f"{UNSPELLED}: these are the repeated blocks."
