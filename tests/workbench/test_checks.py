"""Each check finds what its page says, and nothing in a model that is well."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx import parser

from exec.errors import Cancelled, OptionError
from exec.ir import load
from passes.catalog import rules
from workbench import check
from workbench.cli.start import run
from workbench.lint.catalog import BY_CODE, CHECKS


def parsed(text: str, opset: int = 17) -> onnx.ModelProto:
    proto: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    return proto


def with_weight(values: np.ndarray, count: int = 1) -> onnx.ModelProto:
    """y = x + w0 + w1 …, `count` weights of these values."""
    names = [f"w{k}" for k in range(count)]
    inits = [nh.from_array(values, name) for name in names]
    nodes = [
        h.make_node("Add", [f"t{k}" if k else "x", name], [f"t{k + 1}"], name=f"n{k}") for k, name in enumerate(names)
    ]
    ends = [h.make_tensor_value_info(n, inits[0].data_type, list(values.shape)) for n in ("x", f"t{count}")]
    graph = h.make_graph(nodes, "g", ends[:1], ends[1:], inits)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def found(model: onnx.ModelProto, code: str) -> list[tuple[str, str]]:
    return [(f.where, f.message) for f in check(load(model, strict=False), select=[code]).findings]


def in_constant_nodes(count: int) -> onnx.ModelProto:
    nodes = []
    for k in range(count):
        value = nh.from_array(np.ones(16 + k, np.float32)[:16] if k else np.ones((2, 16), np.float32))
        nodes += [h.make_node("Constant", [], [f"c{k}"], name=f"const{k}", value=value)]
        nodes += [h.make_node("Add", [f"t{k}" if k else "x", f"c{k}"], [f"t{k + 1}"], name=f"n{k}")]
    ends = [h.make_tensor_value_info(n, T.FLOAT, [2, 16]) for n in ("x", f"t{count}")]
    graph = h.make_graph(nodes, "g", ends[:1], ends[1:])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def test_a_weight_with_nan_is_an_error_and_a_mask_is_none() -> None:
    broken = np.ones((4, 4), np.float32)
    broken[0, 0], broken[1, 1], broken[2, 2] = np.nan, np.inf, -np.inf
    assert found(with_weight(broken), "OWB020") == [("weight w0", "1 NaN, 2 infinite; read by n0")]
    mask = np.where(np.eye(4) > 0, 0, -np.inf).astype(np.float32)
    assert not found(with_weight(mask), "OWB020")
    assert found(with_weight(mask + np.float32(1)), "OWB020")
    assert found(with_weight(broken.astype(np.float16)), "OWB020")
    assert not found(with_weight(np.ones((4, 4), np.float32)), "OWB020")


def test_denormals_are_counted_beside_other_odd_numbers() -> None:
    values = np.array([1e-40, -1e-42, 0.0, -0.0, 1.0, np.finfo(np.float32).tiny, 2.0, 3.0], np.float32)
    assert found(with_weight(values), "OWB022") == [("weight w0", "25.0 % of its elements")]
    values[-1] = np.nan
    assert found(with_weight(values), "OWB022") == [("weight w0", "25.0 % of its elements")]
    assert not found(with_weight(np.zeros(8, np.float32)), "OWB022")


def test_equal_weights_are_told_once_each_and_nearly_equal_ones_are_not() -> None:
    values = np.arange(4096, dtype=np.float32)
    assert found(with_weight(values, 3), "OWB023") == [
        ("weight w1", "equal to w0, 16,384 bytes"),
        ("weight w2", "equal to w0, 16,384 bytes"),
    ]
    other = with_weight(values, 2)
    near = values.copy()
    near[2000] += 1e-3  # between the sampled places
    other.graph.initializer[1].raw_data = near.tobytes()
    assert not found(other, "OWB023")


def test_a_large_weight_of_one_number_is_found_and_one_that_differs_at_its_end_is_not() -> None:
    values = np.full((600, 512), -2.5, np.float32)
    assert found(with_weight(values), "OWB024") == [("weight w0", "-2.5, 1,228,800 bytes; read by n0")]
    values[-1, -1] = 0
    assert not found(with_weight(values), "OWB024")
    assert not found(with_weight(np.ones(100, np.float32)), "OWB024")


def test_weights_in_constant_nodes_are_one_note_however_many(tmp_path: Path) -> None:
    model = in_constant_nodes(20)
    assert found(model, "OWB021") == [
        ("model", "20 Constant nodes, 336 elements; the largest is node const0")
    ]  # fmt: skip
    onnx.save(model, tmp_path / "m.onnx")
    assert run(["check", str(tmp_path / "m.onnx"), "--ignore", "OWB090"]) == 0


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("error", 0), ("warning", 0), ("note", 1)])
def test_a_level_to_fail_on_is_kept_to(tmp_path: Path, level: str, code: int) -> None:
    onnx.save(in_constant_nodes(1), tmp_path / "m.onnx")
    assert run(["check", str(tmp_path / "m.onnx"), "--select", "OWB021", "--fail-on", level]) == code


def test_double_precision_dead_nodes_and_unnamed_dims_are_found() -> None:
    model = parsed("g (double[?, 2] x) => (double[?, 2] y) { y = Relu(x) z = Neg(x) }")
    assert [where for where, _ in found(model, "OWB010")] == ["node Relu#0", "node Neg#1"]
    assert found(model, "OWB025") == [("node Neg#1", "nothing reads z")]
    assert [where for where, _ in found(model, "OWB040")] == ["input x"]
    assert found(model, "OWB031") == [("file", "2 nodes have no name")]


def test_an_open_dim_that_a_reshape_holds_to_one_size_is_found() -> None:
    batch = "g (float[B,4,6] x) => (float[2,4,2,3] y) <int64[4] t = {2, 4, 2, 3}> { y = Reshape(x, t) }"
    assert found(parsed(batch), "OWB041") == [("node Reshape#0", "B must be 2")]
    length = """ g (float[B,L,6] x) => (float[B,10,6] y) <int64[1] n = {10}, int64[1] six = {6}> {
        b = Shape<end = 1>(x) t = Concat<axis = 0>(b, n, six) y = Reshape(x, t) } """
    assert found(parsed(length), "OWB041") == [("node Reshape#2", "L must be 10")]
    for fits_all in ("{-1, 4, 2, 3}", "{0, 4, 2, 3}"):
        free = f"g (float[B,4,6] x) => (float[B,4,2,3] y) <int64[4] t = {fits_all}> {{ y = Reshape(x, t) }}"
        assert found(parsed(free), "OWB041") == []
    two = "g (float[B,C,6] x) => (float[2,4,6] y) <int64[3] t = {2, 4, 6}> { y = Reshape(x, t) }"
    assert found(parsed(two), "OWB041") == []


def test_an_old_opset_foreign_operators_and_training_leftovers_are_found() -> None:
    assert found(parsed("g (float[2] x) => (float[2] y) { y = Relu(x) }", 11), "OWB050")
    foreign = (
        '<ir_version: 8, opset_import: ["" : 17, "acme" : 1]> g (float[2] x) => (float[2] y) { y = acme.Swirl(x) }'
    )
    assert found(parser.parse_model(foreign), "OWB052") == [
        ("operator acme::Swirl", "1 node; the embedded executor has no kernel")
    ]
    norm = "y, m, v = BatchNormalization <training_mode = 1> (x, s, s, s, s)"
    assert found(parsed(f"g (float[1,2] x, float[2] s) => (float[1,2] y) {{ {norm} }}"), "OWB070")


def test_scales_that_cannot_be_meant_are_found() -> None:
    text = "g (float[2] x) => (uint8[2] y) <float s = {0.0}, uint8 z = {0}> { y = QuantizeLinear(x, s, z) }"
    assert found(parsed(text), "OWB060") == [
        ("node QuantizeLinear#0", "1 of 1 scales are zero, negative or not finite")
    ]


def test_data_that_are_missing_are_an_error_and_end_no_other_check(tmp_path: Path) -> None:
    model = with_weight(np.ones(1000, np.float32))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    result = check(load(tmp_path / "m.onnx", strict=False))
    assert ("OWB080", "error") in {(f.code, f.level) for f in result.findings}
    assert {"OWB020", "OWB022", "OWB023"} <= set(result.clean)


def test_a_rewrite_that_would_apply_is_named() -> None:
    assert [where for where, _ in found(parsed("g (float[2] x) => (float[2] y) { z = Identity(x) y = Relu(z) }"), "OWB090")] == [
        "rule eliminate-identity"
    ]  # fmt: skip


def test_every_fix_is_a_rule_there_is() -> None:
    ids = set(rules())
    assert {c.fix for c in CHECKS if c.fix} <= ids
    assert len(BY_CODE) == len(CHECKS)


def test_an_unknown_code_is_told_with_the_nearest() -> None:
    with pytest.raises(OptionError, match="no check 'OWB0210'"):
        check(load(in_constant_nodes(1)), select=["OWB0210"])


def test_reading_weights_says_how_far_it_is_and_stops_when_asked_to() -> None:
    model = load(with_weight(np.ones(1000, np.float32), 4))
    said: list[str] = []
    check(model, select=["OWB02"], progress=lambda done, total, text: said.append(text))
    assert sum(text.startswith("reading the weights") for text in said) == 4
    with pytest.raises(Cancelled):
        check(
            model,
            select=["OWB02"],
            cancel=lambda: said[-1].startswith("reading"),
            progress=lambda *a: said.append(a[2]),
        )


def test_a_fix_is_applied_verified_and_what_is_left_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = str(tmp_path / "m.onnx"), tmp_path / "fixed.onnx"
    onnx.save(in_constant_nodes(3), source)
    before = Path(source).read_bytes()
    assert run(["check", source, "--select", "OWB021", "--diff"]) == 0
    assert "Constant" in capsys.readouterr().out
    assert not target.exists()
    assert run(["check", source, "--select", "OWB021", "--fix", "-o", str(target), "--fail-on", "note"]) == 0
    assert "lift-constants" in capsys.readouterr().err
    assert not any(n.op == "Constant" for n in load(target).graph.nodes)
    assert Path(source).read_bytes() == before


def test_a_fix_without_a_place_is_a_usage_error(tmp_path: Path) -> None:
    onnx.save(in_constant_nodes(1), tmp_path / "m.onnx")
    assert run(["check", str(tmp_path / "m.onnx"), "--fix"]) == 2


def test_what_no_rewrite_repairs_is_left(tmp_path: Path) -> None:
    broken = np.full((4, 4), np.nan, np.float32)
    onnx.save(with_weight(broken), tmp_path / "m.onnx")
    fixed = tmp_path / "fixed.onnx"
    assert run(["check", str(tmp_path / "m.onnx"), "--select", "OWB020", "--fix", "-o", str(fixed)]) == 1
    assert fixed.exists()
