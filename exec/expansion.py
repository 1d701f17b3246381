"""How many nodes a graph has once every call of a model-local function is expanded: counted by memo, never by expanding.

Ten functions that call each other ten times make ten thousand million nodes out of a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import onnx_graphsurgeon as gs

from exec.budget import default_limits, exceeded
from exec.errors import InvalidModel

Key = tuple[str, str, str]


def expanded_nodes(graph: Any, functions: Mapping[Key, Any], key_of: Any) -> int:
    """Nodes of `graph` with its subgraphs and calls expanded; raises InvalidModel for a function that calls itself,
    BudgetExceeded for calls in each other deeper than the limit.

    functions  by (domain, name, overload); `key_of(domain, name, overload)` makes such a key
    """
    depth = default_limits().depth
    counted: dict[Key, int] = {}
    open_calls: list[Key] = []

    def count(nodes: Iterable[Any]) -> int:
        total = 0
        for node in nodes:
            total += 1
            for value in node.attrs.values():
                if isinstance(value, gs.Graph):
                    total += count(value.nodes)
            key = key_of(node.domain, node.op, getattr(node, "overload", ""))
            if key in functions:
                total += body(key)
        return total

    def body(key: Key) -> int:
        if key in open_calls:
            chain = " → ".join(name for _, name, _ in (*open_calls, key))
            raise InvalidModel(f"function {key[0]}::{key[1]} calls itself", chain)
        if depth is not None and len(open_calls) >= depth:
            raise exceeded("depth", f"{depth + 1}", f"{depth}", f"function {key[0]}::{key[1]}")
        if key not in counted:
            open_calls.append(key)
            counted[key] = count(functions[key].nodes)
            open_calls.pop()
        return counted[key]

    return count(graph.nodes)
