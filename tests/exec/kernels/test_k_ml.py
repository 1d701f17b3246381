"""ai.onnx.ml: trees, linear models, support vectors, encoders."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
ML = {"domain": "ai.onnx.ml", "opset": 3}
ORT = {**ML, "engines": ["onnxruntime"]}
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


class Trees:
    """Random trees as the attributes of the older ensemble ops."""

    def __init__(
        self,
        rng: np.random.Generator,
        trees: int,
        depth: int,
        features: int,
        targets: int,
        modes: list[str],
        complete: bool = False,
    ) -> None:
        self.rng, self.features, self.targets, self.modes = rng, features, targets, modes
        self.complete = complete  # every leaf says something about every target
        self.nodes: dict[str, list[Any]] = {
            f"nodes_{name}": []
            for name in (
                "treeids",
                "nodeids",
                "featureids",
                "modes",
                "values",
                "truenodeids",
                "falsenodeids",
                "missing_value_tracks_true",
            )
        }
        self.leaves: list[tuple[int, int, int, float]] = []
        for tree in range(trees):
            self._grow(tree, 0, depth)

    def _grow(self, tree: int, node: int, depth: int) -> int:
        """The next free node number after a subtree rooted at `node`."""
        rng = self.rng
        leaf = depth == 0 or (node > 0 and rng.random() < 0.2)
        row = len(self.nodes["nodes_treeids"])
        values = (
            tree, node, int(rng.integers(self.features)), "LEAF" if leaf else str(rng.choice(self.modes)),
            float(np.float32(rng.integers(-3, 4) / 2)), 0, 0, int(rng.integers(2)),
        )  # fmt: skip
        for column, value in zip(self.nodes.values(), values, strict=True):
            column.append(value)
        following = node + 1
        if leaf:
            said = self.targets if self.complete else int(rng.integers(1, self.targets + 1))
            chosen = rng.choice(self.targets, said, replace=False)
            self.leaves += [(tree, node, int(target), float(np.float32(rng.normal()))) for target in chosen]
            return following
        self.nodes["nodes_truenodeids"][row] = following
        following = self._grow(tree, following, depth - 1)
        self.nodes["nodes_falsenodeids"][row] = following
        return self._grow(tree, following, depth - 1)

    def attributes(self, kind: str) -> dict[str, Any]:
        tree, node, target, weight = (list(column) for column in zip(*self.leaves, strict=True))
        names = {"target": "target_ids", "class": "class_ids"}
        ends = {f"{kind}_treeids": tree, f"{kind}_nodeids": node, names[kind]: target, f"{kind}_weights": weight}
        return {**self.nodes, **ends}


MODES = st.sampled_from(
    [["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_LEQ", "BRANCH_GT"], ["BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_LT"]]
)


def samples(rng: np.random.Generator, rows: int, features: int, missing: bool = True) -> Any:
    x = (rng.integers(-4, 5, (rows, features)) / 2).astype(np.float32)
    return np.where(rng.random(x.shape) < 0.1, np.float32(np.nan), x) if missing else x


@given(
    trees=st.integers(1, 5), targets=st.integers(1, 3), modes=MODES, aggregate=st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]),
    base=st.booleans(), seed=SEEDS,
)  # fmt: skip
def test_regression_trees(
    check: Any, trees: int, targets: int, modes: Any, aggregate: str, base: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    forest = Trees(rng, trees, 3, 4, targets, modes, complete=base)
    options = {"base_values": [0.5] * targets} if base else {}
    check(
        "TreeEnsembleRegressor", samples(rng, 9, 4), n_targets=targets, aggregate_function=aggregate, **forest.attributes("target"),
        **options, **ORT,
    )  # fmt: skip


@given(classes=st.integers(2, 4), modes=MODES, transform=st.sampled_from(TRANSFORMS), words=st.booleans(), seed=SEEDS)
def test_classification_trees(check: Any, classes: int, modes: Any, transform: str, words: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = Trees(rng, 4, 3, 4, classes, modes).attributes("class")
    labels = (
        {"classlabels_strings": [f"c{k}" for k in range(classes)]}
        if words
        else {"classlabels_int64s": [5 * k + 1 for k in range(classes)]}
    )
    if len(set(forest["class_ids"])) < 2:
        return
    options = {"post_transform": transform, **forest, **labels}
    if classes > 2:
        check("TreeEnsembleClassifier", samples(rng, 9, 4), **options, outputs=2, **ORT)
    else:  # onnxruntime answers 1 and 0 then, whatever the labels are
        _, scores = check("TreeEnsembleClassifier", samples(rng, 9, 4), **options, outputs=2, **{**ML, "engines": []})
        assert scores.shape == (9, 2)


@given(positive=st.booleans(), named=st.integers(0, 1), transform=st.sampled_from(["NONE", "LOGISTIC"]), seed=SEEDS)
def test_two_classes_of_which_the_leaves_name_one(
    check: Any, positive: bool, named: int, transform: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    forest = Trees(rng, 4, 3, 4, 1, ["BRANCH_LEQ"]).attributes("class")
    forest["class_ids"] = [named] * len(forest["class_ids"])
    if positive:
        forest["class_weights"] = [abs(w) / 8 for w in forest["class_weights"]]
    check(
        "TreeEnsembleClassifier", samples(rng, 9, 4), post_transform=transform, classlabels_int64s=[3, 7], **forest, outputs=2, **ORT
    )  # fmt: skip


def test_trees_take_doubles_and_integers(check: Any) -> None:
    rng = np.random.default_rng(0)
    forest = Trees(rng, 3, 3, 4, 2, ["BRANCH_LEQ"]).attributes("target")
    x = samples(rng, 9, 4, missing=False)
    check("TreeEnsembleRegressor", x.astype(np.float64), n_targets=2, **forest, **ORT)
    (whole,) = check("TreeEnsembleRegressor", np.rint(x), n_targets=2, **forest, **ORT)
    (same,) = check(
        "TreeEnsembleRegressor", np.rint(x).astype(np.int64), n_targets=2, **forest, **{**ML, "engines": []}
    )
    assert np.array_equal(whole, same)


def test_many_samples_are_done_in_blocks(check: Any) -> None:
    rng = np.random.default_rng(0)
    forest = Trees(rng, 40, 4, 6, 3, ["BRANCH_LEQ"]).attributes("target")
    check("TreeEnsembleRegressor", samples(rng, 20000, 6), n_targets=3, **forest, **ORT)
    check("TreeEnsembleRegressor", samples(rng, 0, 6), n_targets=3, **forest, **{**ML, "engines": []})


@pytest.mark.parametrize("members", [False, True])
def test_the_newer_ensemble(check: Any, members: bool) -> None:
    rng = np.random.default_rng(0)
    modes = [6, 0, 6] if members else [0, 3, 4]
    options: dict[str, Any] = (
        {"membership_values": np.array([1.5, 2.0, np.nan, -1.0, 0.5, 3.0, np.nan], np.float32)} if members else {}
    )
    x = (rng.integers(-4, 5, (12, 3)) / 2).astype(np.float32)
    check(
        "TreeEnsemble", x, aggregate_function=1, leaf_targetids=[0, 1, 0, 1], leaf_weights=np.array([1.5, -2, 3, 4], np.float32),
        n_targets=2, nodes_falseleafs=[0, 1, 1], nodes_falsenodeids=[2, 1, 3], nodes_featureids=[0, 1, 2],
        nodes_modes=np.array(modes, np.uint8), nodes_splits=np.array([0.5, 0.0, 1.0], np.float32), nodes_trueleafs=[0, 1, 1],
        nodes_truenodeids=[1, 0, 2], tree_roots=[0], domain="ai.onnx.ml", opset=5, engines=["reference"],
        **options,
    )  # fmt: skip


def test_an_unknown_node_mode_is_named(compute: Any) -> None:
    forest = Trees(np.random.default_rng(0), 1, 2, 2, 1, ["BRANCH_NEAR"]).attributes("target")
    with pytest.raises(ExecutionError, match="BRANCH_NEAR"):
        compute("TreeEnsembleRegressor", np.zeros((1, 2), np.float32), n_targets=1, **forest, **ML)


@pytest.mark.parametrize("count", [-1, 0, 1])
def test_fewer_targets_than_the_leaves_name_are_an_error(compute: Any, count: int) -> None:
    forest = Trees(np.random.default_rng(0), 3, 2, 2, 2, ["BRANCH_LEQ"]).attributes("target")
    with pytest.raises(ExecutionError, match="its leaves name 2"):
        compute("TreeEnsembleRegressor", np.zeros((1, 2), np.float32), n_targets=count, **forest, **ML)


@given(targets=st.integers(1, 3), intercepts=st.booleans(), seed=SEEDS)
def test_linear_regression(check: Any, targets: int, intercepts: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(5, 4)).astype(np.float32), rng.normal(size=4 * targets).astype(np.float32)
    options = {"intercepts": rng.normal(size=targets).astype(np.float32).tolist()} if intercepts else {}
    check("LinearRegressor", x, targets=targets, coefficients=weights.tolist(), **options, **ORT)


@given(classes=st.integers(2, 4), transform=st.sampled_from(TRANSFORMS), words=st.booleans(), seed=SEEDS)
def test_linear_classification(check: Any, classes: int, transform: str, words: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5, 4)).astype(np.float32)
    weights, intercepts = (rng.normal(size=n).astype(np.float32).tolist() for n in (4 * classes, classes))
    labels = (
        {"classlabels_strings": [f"c{k}" for k in range(classes)]}
        if words
        else {"classlabels_ints": list(range(10, 10 + classes))}
    )
    check(
        "LinearClassifier", x, coefficients=weights, intercepts=intercepts, post_transform=transform, **labels, outputs=2, **ORT
    )  # fmt: skip


KERNELS: list[tuple[str, dict[str, Any]]] = [
    ("LINEAR", {"kernel_params": [0.0, 0.0, 0.0]}),
    ("RBF", {"kernel_params": [0.3, 0.0, 0.0]}),
    ("POLY", {"kernel_params": [0.4, 0.5, 3.0]}),
    ("SIGMOID", {"kernel_params": [0.2, 0.1, 0.0]}),
]


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS, ids=[k for k, _ in KERNELS])
@pytest.mark.parametrize("one_class", [0, 1])
def test_support_vector_regression(check: Any, kernel: str, parameters: dict[str, Any], one_class: int) -> None:
    rng = np.random.default_rng(0)
    x, vectors = rng.normal(size=(8, 3)).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)
    check(
        "SVMRegressor", x, kernel_type=kernel, **parameters, coefficients=rng.normal(size=5).astype(np.float32).tolist(),
        support_vectors=vectors.reshape(-1).tolist(), rho=[0.1], n_supports=5, one_class=one_class, **ORT,
    )  # fmt: skip


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS, ids=[k for k, _ in KERNELS])
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("probable", [False, True])
def test_support_vector_classification(
    check: Any, kernel: str, parameters: dict[str, Any], classes: int, probable: bool
) -> None:
    rng = np.random.default_rng(classes)
    counts = [2, 3, 1, 2][:classes]
    pairs, total = classes * (classes - 1) // 2, sum(counts)

    def numbers(*shape: int) -> list[float]:
        return rng.normal(size=shape).astype(np.float32).reshape(-1).tolist()

    options = (
        {"prob_a": (-np.abs(rng.normal(size=pairs))).astype(np.float32).tolist(), "prob_b": numbers(pairs)}
        if probable
        else {}
    )
    check(
        "SVMClassifier", rng.normal(size=(8, 3)).astype(np.float32), kernel_type=kernel, **parameters,
        coefficients=numbers(classes - 1, total), support_vectors=numbers(total, 3), vectors_per_class=counts, rho=numbers(pairs),
        classlabels_ints=list(range(3, 3 + classes)), outputs=2, **options, **ORT,
    )  # fmt: skip


def test_scalers_and_normalizers(check: Any) -> None:
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    check("Scaler", x, offset=[0.1, 0.2, 0.3], scale=[1.0, 2.0, 3.0], **ORT)
    check("Scaler", x, offset=[0.5], scale=[2.0], **ORT)
    check("Scaler", np.arange(6, dtype=np.int64).reshape(2, 3), offset=[0.5], scale=[2.0], **ORT)
    for norm in ("MAX", "L1", "L2"):
        check("Normalizer", x, norm=norm, **ORT)
        check("Normalizer", np.vstack((x, np.zeros((1, 3), np.float32))), norm=norm, **ORT)
    check("Binarizer", x, threshold=0.3, **ORT)


def test_missing_values_are_replaced(check: Any) -> None:
    x = np.array([[1, np.nan, 3], [np.nan, 5, 1]], np.float32)
    check("Imputer", x, imputed_value_floats=[9.0], replaced_value_float=float("nan"), **ORT)
    check("Imputer", x, imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=1.0, **ORT)
    check("Imputer", np.array([[1, 2], [3, 1]], np.int64), imputed_value_int64s=[5], replaced_value_int64=1, **ORT)
    with pytest.raises(ExecutionError, match="needs one value, or 3"):
        check("Imputer", x, imputed_value_floats=[1.0, 2.0], **{**ML, "engines": []})


def test_columns_are_chosen_and_joined(check: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    check("ArrayFeatureExtractor", x, np.array([2, 0]), **ORT)
    check("ArrayFeatureExtractor", x[0], np.array([1]), **ORT)
    check("FeatureVectorizer", x, x[:, :2], inputdimensions=[4, 2], **ORT)


@pytest.mark.parametrize(
    ("keys", "values", "x"),
    [
        (
            {"keys_strings": ["a", "b", "a"]},
            {"values_int64s": [1, 2, 3], "default_int64": -7},
            np.array([["a", "b"], ["c", "a"]], object),
        ),
        (
            {"keys_int64s": [5, 3, 5]},
            {"values_strings": ["x", "y", "z"], "default_string": "?"},
            np.array([5, 3, 4, 5]),
        ),
        (
            {"keys_floats": [0.5, float("nan")]},
            {"values_floats": [1.0, 2.0], "default_float": 9.0},
            np.array([0.5, np.nan, 3], np.float32),
        ),
        ({"keys_int64s": [5, 3]}, {"values_floats": [1.0, 2.0]}, np.array([3, 4, 5])),
    ],
)
def test_label_encoders(check: Any, keys: Any, values: Any, x: Any) -> None:
    (given_keys,) = keys.values()
    repeated = len(set(given_keys)) < len(given_keys)
    engine = "reference" if repeated else "onnxruntime"  # of repeated keys the one takes the last, the other finds NaN
    check("LabelEncoder", x, **keys, **values, domain="ai.onnx.ml", opset=4, engines=[engine])


def test_label_encoders_of_the_first_version_go_both_ways(check: Any) -> None:
    options = {
        "classes_strings": ["a", "b", "c"],
        "default_int64": -1,
        "default_string": "?",
        "domain": "ai.onnx.ml",
        "opset": 1,
    }
    check("LabelEncoder", np.array(["b", "z"], object), **options, engines=["onnxruntime"])
    check("LabelEncoder", np.array([2, 7]), **options, engines=["onnxruntime"])


def test_categories(check: Any) -> None:
    cats = {"cats_int64s": [3, 5], "cats_strings": ["x", "y"]}
    check("CategoryMapper", np.array(["y", "q"], object), **cats, **ORT)
    check("CategoryMapper", np.array([3, 4]), **cats, **ORT)
    check("OneHotEncoder", np.array([[3, 5], [4, 3]]), cats_int64s=[3, 5, 7], **ORT)
    check("OneHotEncoder", np.array([["b", "q"]], object), cats_strings=["a", "b"], **ORT)
    check("OneHotEncoder", np.array([3.0, 7.0], np.float32), cats_int64s=[3, 5, 7], **ORT)
    with pytest.raises(ExecutionError, match="is no category"):
        check("OneHotEncoder", np.array([4]), cats_int64s=[3, 5], zeros=0, **{**ML, "engines": []})


def test_maps(compute: Any) -> None:
    x = np.array([[0.1, 0.9], [0.6, 0.4]], np.float32)
    (maps,) = compute("ZipMap", x, classlabels_strings=["a", "b"], **ML)
    assert [sorted(m) for m in maps] == [["a", "b"]] * 2
    assert [round(m["b"], 3) for m in maps] == [0.9, 0.4]
    assert compute("DictVectorizer", {"b": 4.0, "a": 1.0}, string_vocabulary=["a", "c", "b"], **ML)[0].tolist() == [
        [1.0, 0.0, 4.0]
    ]
    assert compute("CastMap", {2: 4.0, 0: 1.0}, **ML)[0].tolist() == [[1.0, 4.0]]
    assert compute("CastMap", {2: 4.0, 0: 1.0}, map_form="SPARSE", max_map=4, cast_to="TO_INT64", **ML)[0].tolist() == [
        [1, 0, 4, 0]
    ]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("nodes_truenodeids", [0, 0, 0], "leads back"),
        ("nodes_featureids", [-1, 0, 0], "negative"),
        ("target_ids", [-1, 0], "negative"),
        ("nodes_values", [0.5, 0.0], "unevenly"),
    ],
)
def test_a_tree_that_cannot_be_walked_is_refused(field: str, value: list[float], says: str) -> None:
    from exec.kernels.ml.ensembles import tree_ensemble_regressor

    tree: dict[str, Any] = {
        "n_targets": 1, "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
    }  # fmt: skip
    x = np.array([[0.0], [1.0]], np.float32)
    assert tree_ensemble_regressor(x, **tree).tolist() == [[1.0], [2.0]]
    with pytest.raises(ExecutionError, match=says):
        tree_ensemble_regressor(x, **{**copy.deepcopy(tree), field: value})
