"""Applies rewrites until none applies.

The nodes are visited in order; whatever a patch makes or touches is visited again at once, so a chain collapses in one sweep. Further
sweeps look only where changes came near; a last one over everything must change nothing. The order of events depends on the model and the rules alone, so an application can be named by
its number: `fuel` stops after that many, which is what bisection needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from exec.errors import RewriteError
from exec.ir import Constant, Node
from exec.progress import Cancel, Progress, check, report
from passes.base import Refusal, Rewrite
from passes.invariants import check_patch
from passes.patch import Applied, Patch, provenance
from passes.region import Region, Workspace

if TYPE_CHECKING:
    from passes.catalog import Chosen
    from passes.regional import RegionalVerifier

WIDE = 64
"""A value with more readers is common to the graph: a change at one of them is no news to the others."""

NODE_BYTES = 40
"""What a node costs in a file, about: removing one pays for a small constant."""

FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    RewriteError,
)
"""What a rule raises that met what its author did not think of."""

MOST_FAILURES = 8
"""A rule that failed at so many places is asked no more."""

Place = tuple[str, str]
"""(rule, first output of its anchor): where a rewrite applied."""


@dataclass(slots=True)
class Event:
    """One application."""

    rule: str
    node: str
    sources: tuple[str, ...]
    place: Place
    note: str


@dataclass(slots=True)
class Trace:
    """What a run of the pipeline did.

    refusals  by (rule, node): the last reason
    broken    rewrites that violated an invariant, undone at once
    """

    events: list[Event] = field(default_factory=list)
    refusals: dict[tuple[str, Node], Refusal] = field(default_factory=dict)
    broken: list[tuple[Event, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    sweeps: int = 0
    exhausted: bool = False


class Stage:
    """Rules that reach their fixpoint together.

    whole    those that look at a graph as a whole
    pending  nodes that changes came near since the stage last saw them
    seen     how many applications there had been when the stage last looked
    looked   how many there had been in a region when the whole-graph rules last did; a sweep over everything looks anyway
    """

    def __init__(self, rules: Sequence[Chosen]) -> None:
        self._rules = rules
        self._of: dict[str, tuple[Rewrite, ...]] = {}
        self._present = 0
        self.whole = tuple(chosen.rule for chosen in rules if not chosen.on)
        self.pending: dict[Node, None] = {}
        self.seen = -1
        self.looked: dict[Region, int] = {}

    def of(self, op: str, present: AbstractSet[str]) -> tuple[Rewrite, ...]:
        """The rules that want to see a node of `op` in a model that has the ops `present`, in the catalog's order."""
        if len(present) != self._present:
            # an op that was not there before: rules that had no business may have some
            self._of.clear()
            self._present = len(present)
        found = self._of.get(op)
        if found is None:
            found = self._of[op] = tuple(chosen.rule for chosen in self._rules if chosen.starts_at(op, present))
        return found


class Pipeline:
    """Rules in stages, run on one workspace.

    stages  lists of rules; a stage reaches its fixpoint before the next begins, and all repeat until nothing changes
    fuel    how many applications at most
    barred  places where a rule must not apply
    witness compares both sides of each patch, and has it undone where they differ
    apply   False to ask every rule and apply nothing: what is another graph afterwards was edited by a rule itself
    """

    def __init__(
        self,
        workspace: Workspace,
        stages: Sequence[Sequence[Chosen]],
        *,
        fuel: int | None = None,
        barred: Collection[Place] = (),
        witness: RegionalVerifier | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        apply: bool = True,
    ) -> None:
        self.apply = apply
        self.workspace, self.stages = workspace, [Stage(rules) for rules in stages]
        self.fuel, self.barred = fuel, frozenset(barred)
        self.witness, self.progress, self.cancel = witness, progress, cancel
        self.trace = Trace()
        self.limit = 1000 + 20 * len(workspace.home)
        self.inlines = any(rule.id == "inline-function" for stage in stages for rule in stage)
        self._broken: set[Place] = set()
        self._failures: Counter[str] = Counter()

    def run(self) -> Trace:
        """Sweep until a sweep over everything changes nothing."""
        trace, full = self.trace, True
        while not trace.exhausted:
            before = len(trace.events)
            for stage in self.stages:
                self._settle(stage, full)
            quiet = len(trace.events) == before
            if quiet and full and not self.workspace.ledger.widen():
                break
            full = quiet
        self.workspace.flush()
        trace.refusals = {key: r for key, r in trace.refusals.items() if key[1] in self.workspace.home}
        return trace

    def _settle(self, stage: Stage, full: bool) -> None:
        """One stage to its fixpoint, over all nodes or over those that changes came near."""
        while not self.trace.exhausted:
            before = len(self.trace.events)
            if not full and not stage.pending and stage.seen == before:
                return
            self.trace.sweeps += 1
            whole = stage.whole if full or stage.seen != before else ()
            for region in list(self.workspace.regions):
                if region in self.workspace.regions:
                    self._sweep(region, stage, whole, full)
            stage.seen = before
            full = False
            if self.inlines:
                self.workspace.drop_unused_functions()
            if len(self.trace.events) == before:
                stage.pending.clear()
                return

    def _sweep(self, region: Region, stage: Stage, whole: Sequence[Rewrite], full: bool) -> None:
        nodes, pending = region.graph.nodes, stage.pending
        chosen = list(nodes) if full else [n for n in nodes if n in pending] if pending else []
        for done, node in enumerate(chosen):
            if done % 256 == 0:
                check(self.cancel, "the rewriting")
                self.workspace.budget.check_time("the rewriting")
                report(self.progress, done, len(chosen), "rewriting")
            if self.trace.exhausted:
                break
            if stage.of(node.op, self.workspace.ops) and node not in region.removed:
                self._visit(node, stage)
        region.flush()
        if not full and stage.looked.get(region) == region.edits:
            return
        stage.looked[region] = region.edits
        for rule in whole:
            began = perf_counter()
            for found in self._found(rule, region):
                if self.trace.exhausted:
                    break
                self._take(rule, found, region)
            self._spend(rule, began)
            region.flush()

    def _visit(self, first: Node, stage: Stage) -> None:
        """Try the rules at a node, and again at whatever an application makes or touches."""
        home, stack = self.workspace.home, [first]
        while stack and not self.trace.exhausted:
            node = stack.pop()
            here = home.get(node)
            if here is None:
                continue
            stage.pending.pop(node, None)
            plain = here.is_plain(node)
            for rule in stage.of(node.op, self.workspace.ops):
                if not plain and not rule.domain:
                    continue
                began = perf_counter()
                found = self._considered(rule, node, here)
                done = None if found is None else self._take(rule, found, here)
                self._spend(rule, began)
                if done is not None:
                    stack.extend(self._near(done))
                    break

    def _considered(self, rule: Rewrite, node: Node, here: Region) -> Patch | Refusal | None:
        """What the rule would do at a node; one that fails there is reported like one that breaks the graph."""
        if self._failures and self._failures[rule.id] >= MOST_FAILURES:
            return None
        try:
            return rule.consider(node, here)
        except FAILURES as error:
            self._note_failure(rule, node, error)
            return None

    def _found(self, rule: Rewrite, region: Region) -> Iterator[Patch | Refusal]:
        """What a rule for whole graphs would do, up to where it fails."""
        if self._failures[rule.id] >= MOST_FAILURES:
            return
        try:
            yield from rule.find(region)
        except FAILURES as error:
            self._note_failure(rule, None, error)

    def _note_failure(self, rule: Rewrite, node: Node | None, error: Exception) -> None:
        self._failures[rule.id] += 1
        name = node.name or node.op if node is not None else "the graph"
        place = (rule.id, node.outputs[0].name if node is not None and node.outputs else name)
        if place not in self._broken:
            self._broken.add(place)
            sources = tuple(provenance((node,))) if node is not None else ()
            reason = (
                f"the rule failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
            )
            self.trace.broken.append((Event(rule.id, name, sources, place, ""), reason))

    def _spend(self, rule: Rewrite, began: float) -> None:
        seconds = self.trace.seconds
        seconds[rule.id] = seconds.get(rule.id, 0.0) + perf_counter() - began

    def _near(self, done: Applied) -> list[Node]:
        """What to look at again at once: the nodes made, their readers, and the makers of what they read. Other stages look a step further."""
        values: list[Any] = [t for node in done.made for t in node.outputs]
        values += [new for _, new in done.patch.redirects] + [old for _, old in done.patch.renames]
        near: dict[Node, None] = {}
        for tensor in values:
            if not isinstance(tensor, Constant) and len(tensor.outputs) <= WIDE:
                near.update(dict.fromkeys(tensor.outputs))
        near.update(dict.fromkeys(done.made))
        for node in done.made:
            near.update((maker, None) for t in node.inputs for maker in t.inputs)
        near.update((maker, None) for t in values for maker in t.inputs)
        home = self.workspace.home
        found = [n for n in near if n in home]
        further = [r for n in found for t in n.outputs if len(t.outputs) <= WIDE for r in t.outputs]
        for stage in self.stages:
            stage.pending.update(dict.fromkeys(found))
            stage.pending.update(dict.fromkeys(further))
        return found

    def _take(self, rule: Rewrite, found: Patch | Refusal, region: Region) -> Applied | None:
        """Apply a patch, or note why it is not applied."""
        self.workspace.budget.check_time("the rewriting")
        if isinstance(found, Refusal):
            self.trace.refusals[rule.id, found.node] = found
            return None
        place = (rule.id, found.anchor.outputs[0].name if found.anchor.outputs else found.anchor.name)
        if place in self.barred or place in self._broken or not self.apply:
            return None
        growth = self._growth(found)
        if growth is not None:
            self.trace.refusals[rule.id, found.anchor] = Refusal(growth, found.anchor, rule.id)
            return None
        if self.fuel is not None and len(self.trace.events) >= self.fuel:
            self.trace.exhausted = True
            return None
        event = Event(rule.id, found.title, tuple(provenance(found.sources)), place, found.note)
        added = found.added_bytes
        sighting = None if self.witness is None else self.witness.before(found)
        done = found.apply()
        try:
            check_patch(done)
            problem = "" if self.witness is None or sighting is None else self.witness.after(done, sighting, rule)
        except RewriteError as error:
            problem = str(error)
        if problem:
            done.undo()
            self._broken.add(place)
            self._failures[rule.id] += 1
            self.trace.broken.append((event, problem))
            return None
        credit = sum(node_bytes(n) for n, _ in done.gone) - sum(node_bytes(n) for n in done.made)
        self.workspace.ledger.book(added, done.freed_bytes + found.freed + credit)
        self.trace.events.append(event)
        region.edits += 1
        if len(self.trace.events) > self.limit:
            self.trace.exhausted = True
            self.trace.broken.append((event, f"the rewrites do not come to an end: stopped after {self.limit}"))
        return done

    def _growth(self, patch: Patch) -> str | None:
        """Why the constants a patch makes are too many bytes, or None."""
        added = patch.added_bytes
        if added <= NODE_BYTES:
            return None
        freed = freed_bytes(patch.sources) + patch.freed + NODE_BYTES
        if self.workspace.ledger.affords(added, freed):
            return None
        return f"the file would grow by {added - freed} bytes (`--grow` allows it)"


def node_bytes(node: Node) -> int:
    """What a node costs in a file, about: its names, op and attributes."""
    names = sum(len(t.name) + 2 for t in (*node.inputs, *node.outputs))
    return (
        names
        + len(node.name)
        + len(node.op)
        + 12
        + 16 * len(node.attrs)
        + sum(len(v) + 20 for v in node.metadata.values())
    )


def freed_bytes(nodes: Iterable[Node]) -> int:
    """Bytes of the constants that only `nodes` read."""
    nodes = list(nodes)
    constants = {id(t): t for n in nodes for t in n.inputs if isinstance(t, Constant)}
    return sum(t.nbytes for t in constants.values() if all(any(r is n for n in nodes) for r in t.outputs))
