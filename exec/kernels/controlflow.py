"""Kernels of ONNX family controlflow: they run subgraphs through the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import ExecutionError
from exec.kernels.registry import Context, kernel

_FOREVER = 1 << 63


@kernel("If")
def if_(condition: Array, /, *, else_branch: Any, then_branch: Any, context: Context) -> tuple[Value, ...]:
    """The outputs of one branch or of the other; branches have no inputs, they read outer values."""
    return tuple(context.run(then_branch if _holds(condition) else else_branch, []))


@kernel("Loop")
def loop(
    trips: Array | None = None,
    condition: Array | None = None,
    /,
    *carried: Value,
    body: Any,
    n_outputs: int,
    context: Context,
) -> tuple[Value, ...]:
    """Run `body(iteration, condition, carried…)` while the condition holds, at most `trips` times.

    The body gives (condition, carried…, scanned…). The outputs are the last carried values, then each scanned value of all
    iterations stacked along a new first axis.
    """
    limit = None if trips is None else int(trips.reshape(()))
    going = True if condition is None else _holds(condition)
    state: list[Value] = list(carried)
    scanned: list[list[Array]] = [[] for _ in range(n_outputs - len(carried))]
    iteration, before = 0, context.work
    certain = (_FOREVER if limit is None else limit) if going and _goes_on(body) else 0
    while going and (limit is None or iteration < limit):
        keep, *results = context.run(body, [np.array(iteration, np.int64), np.array(going), *state])
        going = _holds(keep)
        if certain and iteration == 0:
            context.foresee(certain - 1, context.work - before)
        state = results[: len(state)]
        for collected, value in zip(scanned, results[len(state) :], strict=False):
            collected.append(np.asarray(value))
            context.hold(collected[-1])
        iteration += 1
    return (*state, *(_stacked(values, body, len(state) + 1 + k) for k, values in enumerate(scanned)))


def _holds(condition: Array) -> bool:
    if condition.dtype != np.bool_:
        raise ExecutionError(f"its condition is {condition.dtype}, not bool")
    return bool(condition.reshape(()))


def _goes_on(body: Any) -> bool:
    """Whether the body can only say that the loop goes on: it hands its condition through, or answers with a constant."""
    made = {number: o for o in body.operations for number in o.outputs}
    number = body.outputs[0]
    while number in made and made[number].op == "Identity":
        number = made[number].inputs[0]
    return number == body.inputs[1] or (number in body.constants and bool(np.all(body.constant(number))))


def _stacked(collected: Sequence[Array], body: Any, output: int) -> Array:
    """All values along a new first axis; of none, an empty array as far as the body declares that output."""
    if collected:
        return np.stack(collected)
    dtype, shape = body.declared[output]
    dims = [dim if isinstance(dim, int) and dim >= 0 else 0 for dim in shape or ()]
    return np.zeros((0, *dims), np.float32 if dtype is None else dtype)


@kernel("Scan", since=8)
def scan_8(
    sequence_lens: Array | None = None,
    /,
    *states_and_inputs: Array,
    body: Any,
    directions: Sequence[int] | None = None,
    num_scan_inputs: int,
    context: Context,
) -> tuple[Array, ...]:
    """Scan in version 8: every value has a batch axis first, each entry of the batch is scanned alone along axis 1.

    Steps from `sequence_lens` on are not run; outputs are zero there.
    """
    count = len(states_and_inputs) - num_scan_inputs
    states, inputs = states_and_inputs[:count], states_and_inputs[count:]
    batch, longest = inputs[0].shape[:2]
    lengths = [longest] * batch if sequence_lens is None else sequence_lens.tolist()
    rows: list[list[Array]] = []
    for entry, length in enumerate(lengths):
        row = [
            np.flip(x[entry, :length], 0) if directions is not None and directions[k] else x[entry, :length]
            for k, x in enumerate(inputs)
        ]
        final, scanned = _scanned(context, body, [s[entry] for s in states], row, length)
        rest = [(0, longest - length)]
        rows.append([*final, *(np.pad(y, rest + [(0, 0)] * (y.ndim - 1)) for y in scanned)])
    return tuple(np.stack(column) for column in zip(*rows, strict=True))


@kernel("Scan", since=9)
def scan(
    *states_and_inputs: Array,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
    context: Context,
) -> tuple[Array, ...]:
    """Run `body(states…, slices…)` for every index of the scanned inputs' axes, forward or (direction 1) backward.

    The body gives (states…, scanned…). The outputs are the last states, then each scanned value of all steps along its
    output axis, in order of the steps or (direction 1) the other way.
    """
    for directions in (scan_input_directions, scan_output_directions):
        if any(direction not in (0, 1) for direction in directions or ()):
            raise ExecutionError(f"its directions are {list(directions or ())}", why="0 is forward, 1 backward")
    count = len(states_and_inputs) - num_scan_inputs
    axes = scan_input_axes or [0] * num_scan_inputs
    backward = scan_input_directions or [0] * num_scan_inputs
    inputs = [
        np.flip(np.moveaxis(x, axis, 0), 0) if back else np.moveaxis(x, axis, 0)
        for x, axis, back in zip(states_and_inputs[count:], axes, backward, strict=True)
    ]
    steps = {len(x) for x in inputs}
    if len(steps) != 1:
        raise ExecutionError(f"the scanned inputs have different lengths: {', '.join(map(str, sorted(steps)))}")
    final, scanned = _scanned(context, body, states_and_inputs[:count], inputs, steps.pop())
    out_axes = scan_output_axes or [0] * len(scanned)
    out_backward = scan_output_directions or [0] * len(scanned)
    placed = [
        np.moveaxis(np.flip(y, 0) if back else y, 0, axis)
        for y, axis, back in zip(scanned, out_axes, out_backward, strict=True)
    ]
    return (*final, *placed)


def _scanned(
    context: Context, body: Any, states: Sequence[Array], inputs: Sequence[Array], steps: int
) -> tuple[list[Array], list[Array]]:
    """The last states, and each scanned output with the steps along axis 0."""
    state = list(states)
    rows: list[list[Array]] = []
    for step in range(steps):
        results = context.run(body, [*state, *(x[step, ...] for x in inputs)])
        state = results[: len(state)]
        rows.append([np.asarray(y) for y in results[len(state) :]])
        for kept in rows[-1]:
            context.hold(kept)
    count = len(rows[0]) if rows else len(body.declared) - len(state)
    columns = [[row[k] for row in rows] for k in range(count)]
    return state, [_stacked(column, body, len(state) + k) for k, column in enumerate(columns)]
