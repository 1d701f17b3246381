"""What `optimize` promises: options that mean something, a report that answers, refusals with reasons, and an untouched argument."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest

from exec.errors import Cancelled, OptionError
from exec.ir import Constant, load
from passes.catalog import LISTED, PRESETS, rule, rules, select
from passes.optimize import dry_run, optimize
from passes.patch import SOURCE
from passes.selftest import model_of
from passes.stepper import Stepper
from passes.verify import VerifyBudget

CONV_BN = """ g (float[1,2,4,4] x) => (float[1,2,2,2] y) <float[2,2,3,3] w, float[2] scale, float[2] b, float[2] mean, float[2] var> {
    c = Conv (x, w)  n = BatchNormalization (c, scale, b, mean, var)  d = Dropout (n)  y = Relu (d) } """
SHARED = """ g (float[1,2,4,4] x) => (float[1,2,2,2] y, float[1,2,2,2] z) <float[2,2,3,3] w, float[2] scale, float[2] b, float[2] mean, float[2] var> {
    c = Conv (x, w)  y = BatchNormalization (c, scale, b, mean, var)  z = Relu (c) } """


def proto(text: str = CONV_BN, opset: int = 17) -> onnx.ModelProto:
    return model_of(text, opset)


def test_the_argument_is_never_changed() -> None:
    model = load(proto())
    before = model.to_proto().SerializeToString(deterministic=True)
    optimize(model)
    assert model.to_proto().SerializeToString(deterministic=True) == before


def test_the_same_model_gives_the_same_bytes() -> None:
    results = [optimize(load(proto())).model.to_proto().SerializeToString(deterministic=True) for _ in range(2)]
    assert results[0] == results[1]


def test_the_report_says_what_was_done_and_where_it_came_from() -> None:
    result = optimize(load(proto()))
    report = result.report
    assert [a.node for a in report.of("fuse-conv-bn")] == ["Conv_0 + BatchNormalization_1"]
    assert (report.before.nodes, report.after.nodes) == (4, 2)
    assert report.before.by_op["BatchNormalization"] == 1
    assert "BatchNormalization" not in report.after.by_op
    assert report.vanished == ("c", "d")
    conv = next(n for n in result.model.graph.nodes if n.op == "Conv")
    assert conv.metadata[SOURCE] == '["Conv_0", "BatchNormalization_1"]'


def test_a_refusal_names_the_reader_that_is_in_the_way() -> None:
    report = optimize(load(proto(SHARED))).report
    assert [r.reason for r in report.why("Conv_0") if r.rule == "fuse-conv-bn"] == [
        "the output of Conv_0 is also read by Relu_2"
    ]


def test_a_shared_weight_is_copied_and_not_scaled_in_place() -> None:
    text = SHARED.replace("z = Relu (c)", "z = Conv <strides = [2, 2]> (x, w)").replace(
        "float[1,2,2,2] z", "float[1,2,1,1] z"
    )
    model = load(proto(text))
    weight = next(t for n in model.graph.nodes for t in n.inputs if isinstance(t, Constant) and t.name == "w")
    before = weight.values.copy()
    result = optimize(model).model
    second = next(n for n in result.graph.nodes if n.outputs[0].name == "z")
    assert np.array_equal(second.inputs[1].values, before)
    assert len(optimize(model).report.of("fuse-conv-bn")) == 1


def test_a_rule_that_needs_a_newer_opset_says_so_and_gets_it() -> None:
    text = (
        " g (float[2,3] x) => (float[2,3] y) { a = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)  y = Mul (x, a) } "
    )
    refused = optimize(load(proto(text, 13))).report.refused
    assert [r.reason for r in refused] == ["the result needs opset 14, the model has 13 (`--opset 14` converts it)"]
    result = optimize(load(proto(text, 13)), opset=14)
    assert [n.op for n in result.model.graph.nodes] == ["HardSwish"]
    assert result.report.opset == (13, 14)


def test_a_rule_that_does_not_pay_on_the_target_says_so() -> None:
    text = " g (float[2,3] x) => (float[2,3] y) { a = Sigmoid (x)  y = Mul (x, a) } "
    report = optimize(load(proto(text, 24)), target="onnxruntime").report
    assert [r.reason for r in report.refused] == ["it does not pay on onnxruntime, only on portable"]
    assert optimize(load(proto(text, 24))).report.after.nodes == 1


def test_names_that_mean_nothing_are_errors_that_name_the_nearest() -> None:
    model = load(proto())
    with pytest.raises(OptionError, match="no rewrite called 'fuse-conv-bm'") as error:
        optimize(model, "fuse-conv-bm")
    assert "fuse-conv-bn" in error.value.hint
    with pytest.raises(OptionError, match="no rewrite called"):
        optimize(model, skip=["nothing"])
    with pytest.raises(OptionError, match="no target called 'tpu'"):
        optimize(model, target="tpu")


def test_passes_are_chosen_by_name_preset_and_skip() -> None:
    model = load(proto())
    assert optimize(model, "fuse-conv-bn").report.after.nodes == 3
    assert optimize(model, skip=["fuse-conv-bn"]).report.after.nodes == 3
    assert not optimize(model, "safe").report.of("fuse-conv-bn")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_selects_rules_in_the_catalogs_order(preset: str) -> None:
    order = list(rules())
    chosen = [r.id for stage in select(preset) for r in stage]
    assert chosen == [name for name in order if name in chosen]
    assert len(chosen) > 20


def test_every_rule_is_listed_once_and_found_by_its_id() -> None:
    assert len({kind.id for kind in rules().values()}) == len(rules())
    for name, kind in rules().items():
        assert rule(name) is kind


def test_the_catalogue_says_of_every_rule_what_its_class_says() -> None:
    for name, line in LISTED.items():
        starts = set(line.kind.starts())
        assert line.kind.id == name
        assert set(line.on.split()) == starts or (line.on == "*" and starts), f"{name} starts from {starts}"


def test_what_the_catalogue_says_must_be_beside_a_rule_is_in_its_example() -> None:
    for name, line in LISTED.items():
        if line.beside and line.kind.BEFORE:
            assert any(f"{op} " in line.kind.BEFORE for op in line.beside.split()), name


def test_rules_whose_ops_a_model_lacks_are_not_loaded() -> None:
    code = "import sys; from exec.ir import load; from passes.optimize import optimize; import onnx\n"
    code += "m = onnx.parser.parse_model('<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }')\n"
    code += "optimize(load(m), verify=False); print(*(n for n in sys.modules if n.startswith('passes.rules.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "passes.rules.fuse.clip" in loaded
    assert not any("conv" in name or "attention" in name or "contrib." in name for name in loaded)


def test_a_dry_run_counts_without_changing_anything() -> None:
    model = load(proto())
    before = model.to_proto().SerializeToString(deterministic=True)
    report = dry_run(model)
    uses = {use.rule: use.applied for use in report.rules}
    assert uses["fuse-conv-bn"] == 1
    assert uses["eliminate-dropout"] == 1
    assert model.to_proto().SerializeToString(deterministic=True) == before


def test_the_users_own_inputs_are_what_is_verified_with() -> None:
    model = load(proto())
    feeds = [{"x": np.ones((1, 2, 4, 4), np.float32)}, {"x": np.zeros((1, 2, 4, 4), np.float32)}]
    assert optimize(model, feeds=feeds).report.verification.runs == 2


def test_over_the_memory_budget_only_regions_are_verified() -> None:
    check = optimize(load(proto()), budget=VerifyBudget(memory_bytes=0)).report.verification
    assert check.scope == "regions"
    assert (check.regions, check.of) == (2, 2)
    assert "over the budget" in check.reason


def test_without_verification_the_report_says_so() -> None:
    check = optimize(load(proto()), verify=False).report.verification
    assert (check.scope, check.reason) == ("none", "verification is off")


def test_work_can_be_cancelled_and_reports_progress() -> None:
    with pytest.raises(Cancelled):
        optimize(load(proto()), cancel=lambda: True)
    seen: list[str] = []
    optimize(load(proto()), verify=False, progress=lambda done, total, text: seen.append(text))
    assert "rewriting" in seen


def test_a_large_fold_is_refused_unless_growth_is_allowed() -> None:
    text = """ g (float[1,300,300] x) => (float[1,300,300] y) <float[1,1,1] k = {2.5}, int64[3] s = {1, 300, 300}> {
        e = Tile (k, s)  y = Add (x, e) } """
    refused = optimize(load(proto(text))).report
    assert refused.after.weight_bytes < 1000
    assert any("--grow" in r.reason for r in refused.refused)
    assert optimize(load(proto(text)), grow=1 << 20).report.after.nodes == 1


def test_a_step_is_previewed_applied_undone_and_redone() -> None:
    model = load(proto())
    stepper = Stepper(model)
    assert stepper.counts(["fuse-conv-bn", "eliminate-dropout"]) == {
        "fuse-conv-bn": (1, 0),
        "eliminate-dropout": (1, 0),
    }
    assert "+ n = Conv(x, w_2, w_bias)" in stepper.preview("fuse-conv-bn").patches[0]
    assert stepper.apply("fuse-conv-bn") == 1
    assert [n.op for n in model.graph.nodes] == ["Conv", "Dropout", "Relu"]
    assert stepper.undo() == "fuse-conv-bn"
    assert [n.op for n in model.graph.nodes] == ["Conv", "BatchNormalization", "Dropout", "Relu"]
    assert stepper.redo() == "fuse-conv-bn"
    assert [n.op for n in model.graph.nodes] == ["Conv", "Dropout", "Relu"]


def test_a_step_at_one_node_leaves_the_others() -> None:
    text = " g (float[2] x) => (float[2] y) { a = Dropout (x)  b = Relu (a)  c = Dropout (b)  y = Neg (c) } "
    model = load(proto(text))
    assert Stepper(model).apply("eliminate-dropout", node="Dropout_2") == 1
    assert [n.op for n in model.graph.nodes] == ["Dropout", "Relu", "Neg"]


def test_undo_with_nothing_done_is_an_error() -> None:
    with pytest.raises(OptionError, match="nothing to undo"):
        Stepper(load(proto())).undo()


def test_the_maker_of_a_copied_output_makes_the_output_itself() -> None:
    text = " g (float[2] x) => (float[2] y) { b = Relu (x)  y = Identity (b) } "
    result = optimize(load(proto(text)), "eliminate-identity")
    assert [(n.op, n.outputs[0].name) for n in result.model.graph.nodes] == [("Relu", "y")]
