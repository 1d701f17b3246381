"""What a check is: it looks at a model and says what a person should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from exec.arrays import Array
from exec.errors import ExternalDataError
from exec.ir import Constant, Graph, Model, Node
from exec.ir.weights import SparseWeight, Weight
from exec.progress import Cancel, Progress, report
from exec.progress import check as stop_if
from workbench.nodes import Shape, graphs
from workbench.shapes import inferred
from workbench.tensors import constants
from workbench.weightscan import Scan, scan

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know.

    where    "node Conv_3", "weight w", "input x", "file"
    fix      the rewrite that repairs it (`owb optimize --passes <fix>`), "" where none does
    """

    code: str
    level: Level
    where: str
    message: str
    hint: str = ""
    fix: str = ""


class Subject:
    """A model under check; what several checks need is computed once."""

    def __init__(self, model: Model, progress: Progress | None = None, cancel: Cancel | None = None) -> None:
        self.model = model
        self.progress = progress
        self.cancel = cancel

    def step(self, done: int, total: int, text: str) -> None:
        """Say how far a long look is, and end it where the user asked to."""
        stop_if(self.cancel, "the check")
        report(self.progress, done, total, text)

    @cached_property
    def graphs(self) -> tuple[tuple[str, Graph], ...]:
        """(path, graph) of every graph."""
        return tuple(graphs(self.model))

    def nodes(self) -> Iterator[tuple[str, int, Node]]:
        """(graph path, index, node) of every node."""
        for path, graph in self.graphs:
            for index, node in enumerate(graph.nodes):
                yield path, index, node

    @cached_property
    def weights(self) -> tuple[tuple[str, Constant, tuple[str, ...]], ...]:
        """(graph path, weight, its readers) of every weight."""
        return tuple(constants(self.model))

    @cached_property
    def scans(self) -> tuple[tuple[Constant, tuple[str, ...], Scan], ...]:
        """(weight, its readers, what its elements are) of every weight that can be read."""
        total = sum(weight.nbytes for _, weight, _ in self.weights)
        done, found = 0, []
        for _, weight, readers in self.weights:
            self.step(done >> 20, total >> 20, "reading the weights, MB")
            try:
                found.append((weight, readers, scan(stored(weight))))
            except ExternalDataError:  # its own check says so
                continue
            finally:
                done += weight.nbytes
        return tuple(found)

    @cached_property
    def shapes(self) -> Mapping[int, tuple[str, Shape | None]]:
        """Inferred (dtype, shape) by id of the value."""
        return inferred(self.model)


def stored(weight: Constant) -> Array | Weight:
    """The values that a weight stores: of a sparse one those that are not zero, which is all a check of values needs."""
    kept = weight._values
    return kept.values if isinstance(kept, SparseWeight) else kept


class Check:
    """One check. Its docstring is its page: What, Why, Fix.

    code   "OWB021", stable for ever
    title  what it finds, in a few words
    level  how bad it is
    fix    the rewrite that repairs it, or ""
    """

    code: ClassVar[str]
    title: ClassVar[str]
    level: ClassVar[Level]
    fix: ClassVar[str] = ""

    def look(self, subject: Subject) -> Iterator[Finding]:
        """Every finding, in the order of the graph."""
        raise NotImplementedError

    def found(self, where: str, message: str, hint: str = "") -> Finding:
        """A finding of this check."""
        return Finding(self.code, self.level, where, message, hint, self.fix)


def at(path: str, index: int, node: Node) -> str:
    """ "node Conv_3", with the subgraph it stands in."""
    label = node.name or f"{node.op}#{index}"
    return f"node {label}" + (f" in {path}" if path else "")


def attribute(node: Node, name: str, default: Any) -> Any:
    """An attribute, or what the specification assumes."""
    return node.attrs.get(name, default)
