"""Queries where a selection of nodes is asked for: found in the model as it was opened, and handed on as names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from exec.errors import OptionError
from exec.ir import Model
from exec.wording import counted
from quantize.selection import Selector, name_nodes
from workbench.lookup import Lookup
from workbench.nodes import select

_QUERY = re.compile(
    r"\s|^[-!]|(^|[-!])(scope|domain|dtype|shape|in|out|const|near|macs|bytes|params|time|attr\.\w+)\s*[:<>=]"
)


def is_query(text: str) -> bool:
    """Whether a selector is more than a name, a pattern, `op:Type` or `name:~regex`."""
    return _QUERY.search(text) is not None


def selectors(model: Model, texts: Sequence[str]) -> tuple[Selector, ...]:
    """`texts` with queries replaced by the names of the nodes they find; `model` gets names for unnamed nodes.

    Raises `OptionError` where a query finds nothing.
    """
    if not any(map(is_query, texts)):
        return tuple(texts)
    name_nodes(model.graph)
    lookup = Lookup.complete(model)
    out: list[Selector] = []
    for text in texts:
        if not is_query(text):
            out.append(text)
            continue
        found = frozenset(lookup.table.label(row) for row in select(lookup.table, text))
        if not found:
            raise OptionError(
                f"the query {text!r} finds no node",
                why=f"looked at {counted(len(lookup.table), 'node')}",
                hint=f"owb nodes MODEL {text!r} shows what a query finds",
            )
        out.append(found)
    return tuple(out)
