"""The states a model has been in: one original, one step a change, undo and redo.

A step keeps a snapshot, not a model: the structure compressed, the weights shared. Going back to any step gives the byte-same model.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exec.errors import OptionError
from exec.ir import Model

if TYPE_CHECKING:
    from exec.ir import Snapshot

_MODELS_KEPT = 3


@dataclass(frozen=True, slots=True)
class StateInfo:
    """What the header says of a state.

    number  0 for the original
    """

    number: int
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
    """

    info: StateInfo
    command: str
    python: str
    options: dict[str, Any]
    report: Any
    snapshot: Snapshot


class History:
    """The steps of one model, oldest first; `tip` is where it stands, what lies beyond it can be redone."""

    def __init__(self, model: Model, title: str = "original") -> None:
        snapshot = model.snapshot()
        self.steps: list[Step] = [Step(describe(model, snapshot, 0, title), "", "", {}, None, snapshot)]
        self.tip = 0
        self._models: OrderedDict[int, Model] = OrderedDict({0: model})

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
        model = self.steps[number].snapshot.restore()
        self._remember(number, model)
        return model

    def add(self, model: Model, title: str, *, command: str, python: str, options: dict[str, Any], report: Any) -> Step:
        """Put a changed model after the tip; what could be redone is gone."""
        del self.steps[self.tip + 1 :]
        for number in [n for n in self._models if n > self.tip]:
            del self._models[number]
        snapshot = model.snapshot()
        step = Step(describe(model, snapshot, self.tip + 1, title), command, python, options, report, snapshot)
        self.steps.append(step)
        self.tip += 1
        self._remember(self.tip, model)
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

    def _remember(self, number: int, model: Model) -> None:
        self._models[number] = model
        while len(self._models) > _MODELS_KEPT:
            self._models.popitem(last=False)


def describe(model: Model, snapshot: Snapshot, number: int, title: str) -> StateInfo:
    """Count what the header shows."""
    constants = sum(node.op == "Constant" and not node.domain for node in model.graph.nodes)
    return StateInfo(number, title, len(model.graph.nodes), constants, file_bytes(snapshot), model.opset)


def file_bytes(snapshot: Snapshot) -> int:
    """What the state takes as one file: its structure, and the payload each token in it stands for."""
    import zlib

    from exec.ir import wire

    data = zlib.decompress(snapshot.data)
    places = wire.tokens_in(data, snapshot.store.nonce)
    return len(data) + sum(wire.read_token(data, at).length - wire.TOKEN_BYTES for at in places)
