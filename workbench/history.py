"""The states a model has been in: one original, one step a change, undo and redo.

A step keeps a snapshot, not a model: the structure compressed, the weights shared. Going back to any step gives the byte-same model.
The original is kept as the model it is: it is looked at all the time, and a snapshot of 100,000 nodes takes a second.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exec.errors import OptionError
from exec.ir import Constant, Model, Weight, wire
from workbench.nodes import graphs

if TYPE_CHECKING:
    from exec.ir import Snapshot

_MODELS_KEPT = 3


@dataclass(frozen=True, slots=True)
class StateInfo:
    """What the header says of a state.

    number  0 for the original
    key     names this state for as long as the history lasts; numbers are given again after an undo, keys never
    """

    number: int
    key: int
    title: str
    nodes: int
    constants: int
    file_bytes: int
    opset: int


@dataclass(frozen=True, slots=True)
class Step:
    """One change.

    command   the command line that does the same
    python    the call that does the same
    options   what a recipe needs to replay it: {"do": "optimize", "passes": [...]}
    report    the result's report, whatever made it
    snapshot  None for the original
    """

    info: StateInfo
    command: str
    python: str
    options: dict[str, Any]
    report: Any
    snapshot: Snapshot | None


class History:
    """The steps of one model, oldest first; `tip` is where it stands, what lies beyond it can be redone."""

    def __init__(self, model: Model, title: str = "original") -> None:
        self.original = model
        self._keys = 0
        self.steps: list[Step] = [Step(self._describe(model, None, 0, title), "", "", {}, None, None)]
        self.tip = 0
        self._models: OrderedDict[int, Model] = OrderedDict()

    @property
    def changed(self) -> bool:
        """Whether the tip is another state than the original."""
        return self.tip > 0

    def model(self, number: int) -> Model:
        """The model as it was at a step; the last few are kept ready."""
        if not 0 <= number < len(self.steps):
            raise OptionError(f"no step {number}", why=f"there are steps 0 to {len(self.steps) - 1}")
        if number in self._models:
            self._models.move_to_end(number)
            return self._models[number]
        snapshot = self.steps[number].snapshot
        if snapshot is None:
            return self.original
        model = snapshot.restore()
        self._remember(number, model)
        return model

    def add(self, model: Model, title: str, *, command: str, python: str, options: dict[str, Any], report: Any) -> Step:
        """Put a changed model after the tip; what could be redone is gone."""
        del self.steps[self.tip + 1 :]
        for number in [n for n in self._models if n > self.tip]:
            del self._models[number]
        snapshot = model.snapshot()
        step = Step(self._describe(model, snapshot, self.tip + 1, title), command, python, options, report, snapshot)
        self.steps.append(step)
        self.tip += 1
        self._remember(
            self.tip, snapshot.restore()
        )  # the next step begins as one from a file, an undo or another process would
        return step

    def undo(self) -> StateInfo | None:
        """One step back; None at the original."""
        if self.tip == 0:
            return None
        self.tip -= 1
        return self.steps[self.tip].info

    def redo(self) -> StateInfo | None:
        """One step forward again; None when nothing was undone."""
        if self.tip + 1 >= len(self.steps):
            return None
        self.tip += 1
        return self.steps[self.tip].info

    def _describe(self, model: Model, snapshot: Snapshot | None, number: int, title: str) -> StateInfo:
        self._keys += 1
        nodes, constants = counted_nodes(model)
        size = opened_bytes(model) if snapshot is None else file_bytes(snapshot)
        return StateInfo(number, self._keys, title, nodes, constants, size, model.opset)

    def _remember(self, number: int, model: Model) -> None:
        self._models[number] = model
        while len(self._models) > _MODELS_KEPT:
            self._models.popitem(last=False)


def counted_nodes(model: Model) -> tuple[int, int]:
    """How many nodes there are, and how many of them are a Constant: in the main graph, below it and in functions, as rewrites count."""
    every = [node for _, graph in graphs(model) for node in graph.nodes]
    return len(every), sum(node.op == "Constant" and not node.domain for node in every)


def opened_bytes(model: Model) -> int:
    """What the file and its data files take; for a model that came from no file, what it would take as one."""
    source = model.store.source
    if source is None:
        return file_bytes(model.snapshot())
    outside = {
        id(t): t.nbytes
        for _, graph in graphs(model)
        for node in graph.nodes
        for t in (*node.inputs, *node.attrs.values())
        if isinstance(t, Constant) and isinstance(t._values, Weight) and t._values.is_external
    }
    return source.size + sum(outside.values())


def file_bytes(snapshot: Snapshot) -> int:
    """What the state takes as one file: its structure, and the payload each token in it stands for."""
    data = zlib.decompress(snapshot.data)
    places = wire.tokens_in(data, snapshot.store.nonce)
    return len(data) + sum(wire.read_token(data, at).length - wire.TOKEN_BYTES for at in places)
