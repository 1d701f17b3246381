"""One rewrite at a time on a model that is open: what a screen needs to count, preview, apply, undo and redo.

The model is edited in place; each step keeps its patches, never a copy of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from exec.errors import OptionError, RewriteError
from exec.ir import Model, Node, no_gc
from exec.progress import Cancel, Progress, check, report
from passes.base import Refusal, Rewrite
from passes.catalog import rule as rule_named
from passes.invariants import check_patch
from passes.ledger import Ledger
from passes.patch import Applied, Patch
from passes.region import Region, Workspace


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rule would do: its patches as text, and its refusals."""

    rule: str
    patches: tuple[str, ...]
    refusals: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Step:
    """A rule applied, at one place or everywhere; enough to take it back."""

    rule: str
    places: tuple[str, ...]
    applied: list[Applied] = field(default_factory=list)
    before: list[tuple[Any, list[Node]]] = field(default_factory=list)
    after: list[tuple[Any, list[Node]]] = field(default_factory=list)


class Stepper:
    """A model and the steps that were taken on it.

    rules  further rewrites that may be named
    """

    def __init__(
        self, model: Model, *, target: str = "portable", rules: Iterable[Rewrite] = (), grow: int = 1 << 62
    ) -> None:
        self.model, self.target, self.grow = model, target, grow
        self.own = {r.id: r for r in rules}
        self.steps: list[Step] = []
        self.undone: list[str] = []
        self.workspace = self._workspace()

    def _workspace(self) -> Workspace:
        return Workspace(self.model, target=self.target, ledger=Ledger(self.grow))

    def rule(self, name: str) -> Rewrite:
        """The rewrite called `name`."""
        return self.own[name] if name in self.own else rule_named(name)()

    def find(self, name: str) -> list[Patch | Refusal]:
        """Every place where the rule applies or nearly does, as of now."""
        rule = self.rule(name)
        return [found for region in self.workspace.regions for found in rule.find(region)]

    def preview(self, name: str) -> Preview:
        """The same as text; nothing is changed."""
        found = self.find(name)
        patches = tuple(f.preview() for f in found if isinstance(f, Patch))
        refusals = tuple((f.node.name or f.node.op, f.reason) for f in found if isinstance(f, Refusal))
        return Preview(name, patches, refusals)

    def counts(
        self, names: Sequence[str], *, progress: Progress | None = None, cancel: Cancel | None = None
    ) -> dict[str, tuple[int, int]]:
        """Per rule, how many places apply and how many are refused."""
        found: dict[str, tuple[int, int]] = {}
        for done, name in enumerate(names):
            check(cancel, "counting")
            report(progress, done, len(names), name)
            here = self.find(name)
            applies = sum(isinstance(f, Patch) for f in here)
            found[name] = applies, len(here) - applies
        return found

    def apply(self, name: str, node: str | None = None) -> int:
        """Apply a rule everywhere, or at the node of that name only; returns how often. Repeats until it applies no more."""
        with no_gc():
            step = self._take(name, node)
        if not step.applied:
            return 0
        self.steps.append(step)
        self.undone.clear()
        return len(step.applied)

    def undo(self) -> str:
        """Take the last step back; returns its rule."""
        if not self.steps:
            raise OptionError("there is nothing to undo")
        step = self.steps.pop()
        with no_gc():
            self._restore(step)
            self.workspace = self._workspace()
        self.undone.append(step.rule)
        return step.rule

    def redo(self) -> str:
        """Take the last undone step again."""
        if not self.undone:
            raise OptionError("there is nothing to redo")
        name = self.undone.pop()
        again = list(self.undone)
        self.apply(name)
        self.undone = again
        return name

    def _take(self, name: str, node: str | None) -> Step:
        rule = self.rule(name)
        step = Step(name, (node,) if node is not None else ())
        step.before = [(r.graph, list(r.graph.nodes)) for r in self.workspace.regions]
        progress = True
        while progress:
            progress = False
            for region in list(self.workspace.regions):
                if region in self.workspace.regions:
                    progress |= self._sweep(rule, region, node, step)
            if node is not None:
                break
        self.workspace.flush()
        return step

    def _sweep(self, rule: Rewrite, region: Region, node: str | None, step: Step) -> bool:
        changed = False
        for found in rule.find(region):
            if not isinstance(found, Patch) or (node is not None and all(n.name != node for n in found.sources)):
                continue
            try:
                done = found.apply()
                check_patch(done)
            except RewriteError:
                if not step.applied:
                    raise
                self._restore(step)
                raise
            step.applied.append(done)
            changed = True
            if node is not None:
                break
        region.flush()
        return changed

    def _restore(self, step: Step) -> None:
        for done in reversed(step.applied):
            done.undo()
        for graph, nodes in step.before:
            graph.nodes[:] = nodes
        for region in self.workspace.regions:
            region.added.clear()
            region.removed.clear()
