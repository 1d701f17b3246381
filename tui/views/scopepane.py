"""The scopes that node names spell, as a tree with shares; a scope that is opened narrows the list beside it."""

from __future__ import annotations

from typing import Any

from tui.glyphs import bar
from tui.line import Line, Span, fit, width_of
from tui.theme import HEAT_GLYPHS, heat_of_share
from tui.widgets.rows import Rows
from workbench.lookup import Lookup
from workbench.render.text import display_name
from workbench.scopes import Scope, parts

_WIDE = 24
"""From here on there is room for the count beside the share."""


class ScopePane(Rows):
    """Rows of the tree; folds are its own."""

    AWAY = " "

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lookup: Lookup | None = None
        self.measure = ""
        self.chosen = ""
        self.opened: set[str] = {""}
        self.scopes: list[Scope] = []

    def show_scopes(self, lookup: Lookup, measure: str, chosen: str) -> None:
        """Fill from a lookup; shares are of `measure`, or of the node count when nothing is measured."""
        self.lookup, self.measure, self.chosen = lookup, measure, chosen
        self.scopes = [s for s in lookup.scopes if self._visible(s)]
        self.show(len(self.scopes), self._row)

    def _visible(self, scope: Scope) -> bool:
        return scope.path == "" or all(above in self.opened for above in ("", *parts(scope.path)[:-1]))

    def current(self) -> Scope | None:
        """The scope under the cursor."""
        return self.scopes[self.cursor] if self.scopes else None

    def fold(self, opened: bool | None) -> bool:
        """Open or close the scope under the cursor, or turn it; False when it has nothing below."""
        scope = self.current()
        if scope is None or scope.nodes == scope.own or self.lookup is None:
            return False
        wanted = scope.path not in self.opened if opened is None else opened
        (self.opened.add if wanted else self.opened.discard)(scope.path)
        self.show_scopes(self.lookup, self.measure, self.chosen)
        return True

    def fold_all(self) -> None:
        """Everything open, or only the first level."""
        if self.lookup is not None:
            self.opened = {""} if len(self.opened) > 1 else {s.path for s in self.lookup.scopes}
            self.show_scopes(self.lookup, self.measure, self.chosen)

    def deeper(self, step: int) -> None:
        """One level more or less of the whole tree."""
        if self.lookup is not None:
            level = max((len(parts(path)) for path in self.opened if path), default=0) + step
            self.opened = {""} | {s.path for s in self.lookup.scopes if s.path and len(parts(s.path)) <= level}
            self.show_scopes(self.lookup, self.measure, self.chosen)

    def _row(self, row: int, width: int) -> Line:
        assert self.lookup is not None
        scope = self.scopes[row]
        sign = " " if scope.nodes == scope.own else "▾" if scope.path in self.opened else "▸"
        numbers = self.lookup.scope_totals(self.measure) if self.measure else {}
        total = numbers.get("", 0.0)
        end: list[Span] = [(fit(f"{scope.nodes:,}", 6, right=True), "dim")] if width >= _WIDE or not total else []
        if total:
            share = numbers.get(scope.path, 0.0) / total
            heat = heat_of_share(share) or 0
            end += [(f" {HEAT_GLYPHS[heat]}", f"heat.{heat}"), (fit(f"{100 * share:.1f}", 6, right=True), "fg")]
        else:
            end.append((" " + fit(bar(scope.nodes / max(len(self.lookup.table), 1), 5), 5), "line"))
        token = "strong" if scope.path == self.chosen else "fg"
        head = f"{'  ' * scope.level}{sign} "
        room = max(width - width_of(end), 4) - len(head)
        return [(head, token), (fit(display_name(scope.label), room, keep="end"), token), *end]

    def title_detail(self) -> str:
        """What the numbers at the right are."""
        return {"time": "time %", "MACs": "MACs %", "bytes": "bytes %", "params": "params %"}.get(self.measure, "nodes")
