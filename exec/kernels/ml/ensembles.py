"""Tree ensembles: TreeEnsemble, and the older TreeEnsembleRegressor and TreeEnsembleClassifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.ml.features import DOMAIN
from exec.kernels.ml.scores import labelled, transformed, two_columns
from exec.kernels.ml.trees import MODES, Forest, depth_of, remembered
from exec.kernels.registry import kernel

_MEMBER = 6
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@kernel("TreeEnsemble", domain=DOMAIN, since=5)
def tree_ensemble(
    x: Array,
    /,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Sequence[int],
    leaf_weights: Array,
    membership_values: Array | None = None,
    n_targets: int | None = None,
    nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Array,
    nodes_splits: Array,
    nodes_trueleafs: Sequence[int],
    nodes_truenodeids: Sequence[int],
    post_transform: int = 0,
    tree_roots: Sequence[int],
) -> Array:
    """What the leaves of all trees say, aggregated per target.

    Shapes  x (samples, features) → (samples, targets).
    Types   as x; sums in float64.
    """
    targets = _targets(n_targets, leaf_targetids)

    def build() -> Forest:
        inner, leaves = len(nodes_featureids), len(leaf_targetids)
        true = np.array(nodes_truenodeids) + inner * np.array(nodes_trueleafs)
        false = np.array(nodes_falsenodeids) + inner * np.array(nodes_falseleafs)
        own = np.arange(inner, inner + leaves)
        weights = np.full((inner + leaves, targets), np.nan)
        weights[own, np.array(leaf_targetids)] = leaf_weights.astype(np.float64)
        nothing = np.zeros(leaves, np.int64)
        tracks = nodes_missing_value_tracks_true or [0] * inner
        forest = Forest(
            np.array(tree_roots),
            np.concatenate((np.array(nodes_featureids), nothing)),
            np.concatenate((nodes_splits, np.zeros(leaves, nodes_splits.dtype))),
            np.concatenate((nodes_modes.astype(np.int64), nothing)),
            np.concatenate((true, own)),
            np.concatenate((false, own)),
            np.concatenate((np.array(tracks, np.bool_), nothing.astype(np.bool_))),
            weights,
            0,
        )
        forest = forest if membership_values is None else _without_members(forest, membership_values)
        return replace(forest, depth=depth_of(forest.roots, forest.true_child, forest.false_child))

    forest = remembered((tree_roots, nodes_featureids, nodes_splits, leaf_weights, leaf_targetids), build)
    scores, _ = forest.scores(x, _AGGREGATES[aggregate_function])
    return transformed(scores.astype(x.dtype), _TRANSFORMS[post_transform])


def _without_members(forest: Forest, values: Array) -> Forest:
    """Each test for membership as a chain of tests for equality, one per member."""
    sets: list[list[float]] = [[]]
    for value in values.reshape(-1).tolist():
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(value)
    mode, threshold, false = forest.mode.copy(), forest.threshold.copy(), forest.false_child.copy()
    extra: list[tuple[int, float]] = []  # (the node it repeats, its member)
    links: list[tuple[int, int]] = []  # (node, the next of its chain)
    for node, members in zip(np.nonzero(mode == _MEMBER)[0].tolist(), sets, strict=False):
        mode[node] = MODES.index("BRANCH_EQ")
        threshold[node] = members[0] if members else np.nan
        last = node
        for member in members[1:]:
            extra.append((node, member))
            links.append((last, mode.size + len(extra) - 1))
            last = links[-1][1]
    copied = np.array([node for node, _ in extra], np.int64)

    def longer(part: Array) -> Array:
        return np.concatenate((part, part[copied]))

    ends = longer(false)
    for node, following in links:
        ends[node] = following
    return Forest(
        forest.roots,
        longer(forest.feature),
        np.concatenate((threshold, np.array([member for _, member in extra], threshold.dtype))),
        longer(mode),
        longer(forest.true_child),
        ends,
        longer(forest.nan_is_true),
        longer(forest.weights),
        0,
    )


def _flat(
    x: Array, tree_ids: Sequence[int], node_ids: Sequence[int], features: Sequence[int], modes: Sequence[str],
    thresholds: Array, true_ids: Sequence[int], false_ids: Sequence[int], tracks: Sequence[int] | None,
    leaf_trees: Sequence[int], leaf_nodes: Sequence[int], leaf_targets: Sequence[int], leaf_weights: Array, targets: int,
) -> Forest:  # fmt: skip
    """A forest whose nodes are named by (tree, node)."""
    place = {key: k for k, key in enumerate(zip(tree_ids, node_ids, strict=True))}
    leaf = np.array([mode == "LEAF" for mode in modes], np.bool_)
    own = np.arange(len(place))

    def child(ids: Sequence[int]) -> Array:
        found = [k if leaf[k] else place[tree, node] for k, (tree, node) in enumerate(zip(tree_ids, ids, strict=True))]
        return np.array(found, np.int64)

    if not len(features) == thresholds.size == leaf.size:
        why = f"{len(features)} features, {thresholds.size} values and {leaf.size} modes"
        raise ExecutionError("the nodes of an ensemble are described unevenly", why=why)
    if min(features, default=0) < 0 or min(leaf_targets, default=0) < 0:
        raise ExecutionError("a feature or a target of an ensemble has a negative number")
    true, false = child(true_ids), child(false_ids)
    if bool(((true == own) | (false == own))[~leaf].any()):
        raise ExecutionError("a tree leads back to one of its own nodes")
    _, roots = np.unique(np.array(tree_ids), return_index=True)
    weights = np.full((own.size, targets), np.nan)
    at = np.array([place[key] for key in zip(leaf_trees, leaf_nodes, strict=True)], np.int64)
    said = (at, np.array(leaf_targets, np.int64))
    weights[said] = 0.0
    np.add.at(weights, said, leaf_weights.astype(np.float64))
    numbers = {"LEAF": 0, **{name: k for k, name in enumerate(MODES)}}
    unknown = set(modes) - numbers.keys()
    if unknown:
        raise ExecutionError(f"the node mode '{min(unknown)}' is unknown", why=f"known are {', '.join(MODES)} and LEAF")
    mode = np.array([numbers[name] for name in modes], np.int64)
    limits = thresholds if x.dtype == np.float64 else thresholds.astype(np.float32)
    return Forest(
        np.sort(roots), np.array(features), limits, mode, true, false,
        np.array(tracks or [0] * own.size, np.bool_), weights, depth_of(roots, true, false),
    )  # fmt: skip


def _numbers(given: Sequence[float] | None, tensor: Array | None) -> Array:
    """An attribute that comes as floats or, in double precision, as a tensor."""
    return tensor.reshape(-1) if tensor is not None else np.array(given or (), np.float32)


def _samples(x: Array) -> Array:
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    return rows if rows.dtype == np.float64 else rows.astype(np.float32)


def _targets(count: int | None, ids: Sequence[int]) -> int:
    """How many targets there are: as told, else as many as the leaves name."""
    named = max(ids, default=0) + 1
    if count is None:
        return named
    if count < max(named, 1):
        raise ExecutionError(
            f"an ensemble of {count} targets", why=f"its leaves name {named}", hint="n_targets is wrong"
        )
    return count


@kernel("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(
    x: Array,
    /,
    *,
    aggregate_function: str = "SUM",
    base_values: Sequence[float] | None = None,
    base_values_as_tensor: Array | None = None,
    n_targets: int | None = None,
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str] = (),
    nodes_nodeids: Sequence[int] = (),
    nodes_treeids: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    nodes_values: Sequence[float] | None = None,
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
    target_ids: Sequence[int] = (),
    target_nodeids: Sequence[int] = (),
    target_treeids: Sequence[int] = (),
    target_weights: Sequence[float] | None = None,
    target_weights_as_tensor: Array | None = None,
) -> Array:
    """What the leaves of all trees say, aggregated per target, plus base values. float32."""
    samples = _samples(x)
    targets = _targets(n_targets, target_ids)
    weights = target_weights if target_weights_as_tensor is None else target_weights_as_tensor
    values = nodes_values if nodes_values_as_tensor is None else nodes_values_as_tensor
    forest = remembered(
        (nodes_treeids, nodes_nodeids, values, weights, target_ids, samples.dtype),
        lambda: _flat(
            samples, nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes,
            _numbers(nodes_values, nodes_values_as_tensor), nodes_truenodeids, nodes_falsenodeids,
            nodes_missing_value_tracks_true, target_treeids, target_nodeids, target_ids,
            _numbers(target_weights, target_weights_as_tensor), targets,
        ),
    )  # fmt: skip
    scores, _ = forest.scores(samples, aggregate_function)
    base = _numbers(base_values, base_values_as_tensor)
    return transformed((scores + base if base.size else scores).astype(np.float32), post_transform)


@kernel("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(
    x: Array,
    /,
    *,
    base_values: Sequence[float] | None = None,
    base_values_as_tensor: Array | None = None,
    class_ids: Sequence[int] = (),
    class_nodeids: Sequence[int] = (),
    class_treeids: Sequence[int] = (),
    class_weights: Sequence[float] | None = None,
    class_weights_as_tensor: Array | None = None,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str] = (),
    nodes_nodeids: Sequence[int] = (),
    nodes_treeids: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    nodes_values: Sequence[float] | None = None,
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The class the leaves of all trees speak for most, and the scores after the post transform. float32.

    Two classes of which the leaves only ever name one: its score decides, above 1/2 if no leaf weighs less than 0 (then it
    is a probability), else above 0.
    """
    samples = _samples(x)
    classes = len(classlabels_strings or classlabels_int64s or ())
    weights = class_weights if class_weights_as_tensor is None else class_weights_as_tensor
    values = nodes_values if nodes_values_as_tensor is None else nodes_values_as_tensor
    forest = remembered(
        (nodes_treeids, nodes_nodeids, values, weights, class_ids, samples.dtype),
        lambda: _flat(
            samples, nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes,
            _numbers(nodes_values, nodes_values_as_tensor), nodes_truenodeids, nodes_falsenodeids,
            nodes_missing_value_tracks_true, class_treeids, class_nodeids, class_ids,
            _numbers(class_weights, class_weights_as_tensor), max(classes, 1),
        ),
    )  # fmt: skip
    scores, _ = forest.scores(samples, "SUM")
    base = _numbers(base_values, base_values_as_tensor)
    totals = (scores + base if base.size else scores).astype(np.float32)
    named = set(class_ids)
    if classes == 2 and len(named) == 1:
        only = totals[:, max(named), None]
        positive = bool((_numbers(class_weights, class_weights_as_tensor) >= 0).all())
        index = (only[:, 0] > (0.5 if positive else 0.0)).astype(np.int64)
        # a score of class 0 alone is still that of the positive class: it makes both columns
        shown = transformed(totals, post_transform) if named == {1} else two_columns(only, post_transform, positive)
        return labelled(index, classlabels_int64s, classlabels_strings), shown
    index = np.argmax(totals, axis=1)
    return labelled(index, classlabels_int64s, classlabels_strings), transformed(totals, post_transform)
