"""A profile as node data for Model Explorer: a number on every node, coloured from cheap to dear."""

from __future__ import annotations

from typing import Any

from exec.timing import Profile

GRADIENT = [
    {"stop": 0.0, "bgColor": "#ffffff"},
    {"stop": 0.2, "bgColor": "#fff0c2"},
    {"stop": 0.5, "bgColor": "#f6a64a"},
    {"stop": 1.0, "bgColor": "#c4321e"},
]


def node_data(profile: Profile, graph: str) -> dict[str, Any]:
    """Milliseconds by node name, for the graph of that name."""
    results = {n.name: {"value": round(n.median_ns / 1e6, 6)} for n in profile.nodes if n.name and n.median_ns}
    return {graph: {"results": results, "gradient": GRADIENT}}
