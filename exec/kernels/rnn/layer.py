"""What the recurrent ops share: directions, layouts, sequence lengths, and the loop over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError

Step = Callable[[Array, list[Array]], list[Array]]
"""(the input's part of the gates at one time, states) -> new states; the first state is the output."""


class Layer:
    """One or two directions over a batch of sequences.

    x        (time, batch, features); with layout 1 (batch, time, features)
    initial  states, each (directions, batch, hidden) or, with layout 1, (batch, directions, hidden); None is zero
    """

    def __init__(
        self, x: Array, hidden: int, direction: str, layout: int, lengths: Array | None, initial: Sequence[Array | None]
    ) -> None:
        self.layout = layout
        self.x = x.transpose(1, 0, 2) if layout else x
        if direction not in ("forward", "reverse", "bidirectional"):
            raise ExecutionError(
                f"the direction '{direction}' is unknown", why="known: forward, reverse, bidirectional"
            )
        self.backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        self.steps, self.batch = self.x.shape[:2]
        self.lengths = None if lengths is None or (lengths >= self.steps).all() else lengths
        nothing = np.zeros((len(self.backward), self.batch, hidden), x.dtype)
        self.initial = [nothing if s is None else s.transpose(1, 0, 2) if layout else s for s in initial]

    def run(self, project: Callable[[int, Array], Array], step: Callable[[int], Step]) -> tuple[Array, ...]:
        """All outputs (time, directions, batch, hidden), and the last states (directions, batch, hidden).

        project  (direction, x) -> the input's part of the gates at all times, one matrix product
        step     direction -> the function of one time
        """
        outputs, finals = [], []
        for direction, backward in enumerate(self.backward):
            x = self._reversed(self.x) if backward else self.x
            y, final = self._loop(project(direction, x), step(direction), [s[direction] for s in self.initial])
            outputs.append(self._reversed(y) if backward else y)
            finals.append(final)
        y = np.stack(outputs, 1)
        last = [np.stack(states) for states in zip(*finals, strict=True)]
        if self.layout:
            return (y.transpose(2, 0, 1, 3), *(s.transpose(1, 0, 2) for s in last))
        return (y, *last)

    def _loop(self, gates: Array, step: Step, state: list[Array]) -> tuple[Array, list[Array]]:
        y = np.empty((self.steps, *state[0].shape), state[0].dtype)
        for time in range(self.steps):
            new = step(gates[time], state)
            if self.lengths is None:
                y[time] = new[0]
                state = new
            else:
                # a sequence that has ended keeps its states and gives zeros
                live = (time < self.lengths)[:, None]
                y[time] = np.where(live, new[0], y.dtype.type(0))
                state = [np.where(live, n, s) for n, s in zip(new, state, strict=True)]
        return y, state

    def _reversed(self, x: Array) -> Array:
        """Each sequence from its own end to its start."""
        if self.lengths is None:
            return x[::-1]
        time = np.arange(self.steps)[:, None]
        order = np.where(time < self.lengths, self.lengths - 1 - time, time)
        return np.asarray(np.take_along_axis(x, order[:, :, None], 0))


def projected(x: Array, weights: Array, bias: Array | None) -> Array:
    """x · weightsᵀ + bias for all times in one product."""
    y: Array = np.matmul(x.reshape(-1, x.shape[2]), weights.T)
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:2], weights.shape[0])


def bounded(gates: Array, clip: float | None) -> Array:
    """What goes into an activation, kept in [-clip, clip]."""
    return gates if clip is None else np.clip(gates, -clip, clip)
