"""The same operators again and again: the layers of a network, without a look at their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LONGEST = 400
"""Nodes of one block at most."""

_FEWEST, _MOST_BLOCKS = 4, 3


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of nodes that stands several times in a row.

    times      how often
    nodes      in one of them
    first      index of its first node in the main graph
    operators  what it is made of, most frequent first
    """

    times: int
    nodes: int
    first: int
    operators: tuple[tuple[str, int], ...]


def repeated_blocks(ops: Sequence[str]) -> tuple[Block, ...]:
    """The stretches that cover the most nodes, none over another; `ops` in the graph's order."""
    kinds = np.unique(np.asarray(ops, dtype=str), return_inverse=True)[1] if ops else np.zeros(0, np.int64)
    taken = np.zeros(len(kinds), bool)
    blocks: list[Block] = []
    while len(blocks) < _MOST_BLOCKS:
        best = _longest(kinds, taken)
        if best is None:
            break
        first, period, times = best
        taken[first : first + period * times] = True
        counts = Counter(ops[first : first + period])
        blocks.append(Block(times, period, first, tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))))
    return tuple(sorted(blocks, key=lambda block: block.first))


def _longest(kinds: np.ndarray[tuple[int], np.dtype[np.int64]], taken: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, int, int] | None:  # fmt: skip
    """(first, period, times) of the repeats that cover the most nodes; of equal ones the shortest period."""
    best, covered = None, 0
    for period in range(_FEWEST, min(LONGEST, len(kinds) // 2) + 1):
        same = (kinds[period:] == kinds[:-period]) & ~taken[period:] & ~taken[:-period]
        if (reach := np.count_nonzero(same)) < period or reach + period <= covered:
            continue  # nothing stands twice whole, or it covers less
        edges = np.flatnonzero(np.diff(np.concatenate(([0], same.astype(np.int8), [0]))))
        starts, ends = edges[::2], edges[1::2]
        if not len(starts):
            continue
        times = (ends - starts) // period + 1
        k = int(np.argmax(np.where(times > 1, times, 0)))
        if times[k] > 1 and times[k] * period > covered and len(set(kinds[starts[k] : starts[k] + period])) > 1:
            best, covered = (int(starts[k]), period, int(times[k])), int(times[k]) * period
    return best
