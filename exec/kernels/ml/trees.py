"""Evaluating an ensemble of decision trees: all samples and all trees step down one level at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""Comparisons by number; a leaf compares nothing."""

_COMPARE: tuple[Any, ...] = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
_AT_ONCE = 1 << 21  # elements of the largest temporary
_REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes of all trees in flat arrays. A leaf is its own child on both sides, so that waiting there is a step as well.

    weights  (nodes, targets): what arriving at a node adds; NaN where it says nothing about a target
    """

    roots: Array
    feature: Array
    threshold: Array
    mode: Array
    true_child: Array
    false_child: Array
    nan_is_true: Array
    weights: Array
    depth: int

    def leaves(self, x: Array) -> Array:
        """(samples, trees): the node each sample ends at in each tree."""
        node = np.broadcast_to(self.roots, (x.shape[0], self.roots.size))
        row = np.arange(x.shape[0])[:, None]
        kinds = np.unique(self.mode).tolist()
        careful = bool(self.nan_is_true.any())
        for _ in range(self.depth):
            value, limit = x[row, self.feature[node]], self.threshold[node]
            if len(kinds) == 1:
                yes = _COMPARE[kinds[0]](value, limit)
            else:
                mode = self.mode[node]
                yes = np.select([mode == kind for kind in kinds], [_COMPARE[kind](value, limit) for kind in kinds])
            if careful:
                yes = yes | (np.isnan(value) & self.nan_is_true[node])
            node = np.where(yes, self.true_child[node], self.false_child[node])
        return node

    def scores(self, x: Array, aggregate: str) -> tuple[Array, Array]:
        """(samples, targets) in float64, and which targets anything was said about; those not are 0."""
        blocks = [self._scores(part, aggregate) for part in self._parts(x)]
        if not blocks:
            empty = np.zeros((0, self.weights.shape[1]))
            return empty, empty.astype(bool)
        return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])

    def _parts(self, x: Array) -> list[Array]:
        each = max(1, _AT_ONCE // max(1, self.roots.size * self.weights.shape[1]))
        return [x[k : k + each] for k in range(0, x.shape[0], each)]

    def _scores(self, x: Array, aggregate: str) -> tuple[Array, Array]:
        said = self.weights[self.leaves(x)]
        known = ~np.isnan(said)
        anything = np.asarray(known.any(axis=1))
        if aggregate in ("MIN", "MAX"):
            nothing = np.inf if aggregate == "MIN" else -np.inf
            reduce = np.min if aggregate == "MIN" else np.max
            best = reduce(np.where(known, said, nothing), axis=1, initial=nothing)
            return np.where(anything, best, 0.0), anything
        total = np.sum(np.where(known, said, 0.0), axis=1)
        return (total / max(self.roots.size, 1) if aggregate == "AVERAGE" else total), anything


def depth_of(roots: Array, true_child: Array, false_child: Array) -> int:
    """Steps until every path has arrived at a node that is its own child; `ExecutionError` where one never does."""
    level, steps = np.unique(roots), 0
    while level.size and steps <= true_child.size:
        inner = level[true_child[level] != level]
        level = np.unique(np.concatenate((true_child[inner], false_child[inner])))
        steps += bool(inner.size)
        if not inner.size:
            return steps
    if level.size:
        raise ExecutionError("a tree leads back to one of its own nodes")
    return steps


_forests: OrderedDict[tuple[int, ...], tuple[Sequence[Any], Forest]] = OrderedDict()


def remembered(attributes: Sequence[Any], build: Callable[[], Forest]) -> Forest:
    """The forest built from these attribute objects, built once: a node gives the same objects at every call.

    The objects are kept with it, so their identities cannot be taken by others.
    """
    key = tuple(map(id, attributes))
    found = _forests.get(key)
    if found is None:
        found = _forests[key] = (attributes, build())
        if len(_forests) > _REMEMBERED:
            _forests.popitem(last=False)
    return found[1]
