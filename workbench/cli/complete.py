"""What the shell offers behind Tab: rule ids, check codes, node names. A list that cannot be made offers nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from exec.errors import BenchError

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def listed(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """The names that go on from what is typed; behind a comma the next one starts."""
    before, comma, typed = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(typed)]


def rules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Rule ids and presets."""
    from passes import catalog

    return listed(["default", "safe", "aggressive", "contrib", *catalog.rules()], incomplete)


def topics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `owb explain` has a page for, operators left out."""
    from passes import catalog
    from workbench.lint.catalog import CHECKS

    return listed([*catalog.rules(), *(check.code for check in CHECKS)], incomplete)


def nodes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the nodes of MODEL."""
    import workbench

    try:
        model = workbench.load(context.params["model"])
    except (BenchError, KeyError):
        return []
    return listed([node.name for node in model.graph.nodes if node.name], incomplete)
