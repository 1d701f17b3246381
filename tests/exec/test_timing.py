"""Profiles: one line per source node, sums that hold, and what the machine was doing meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from exec.chrome_trace import chrome_trace
from exec.compiled import available
from exec.engines import ENGINES, open_engine
from exec.errors import Cancelled, EngineMissing, OptionError
from exec.ir import load
from exec.machine import machine
from exec.noise import LEAST_SHARE, judged
from exec.timing import profile, roofline_class

TEXT = """g (float[N, 8, 12, 12] x) => (float[N, 4] y) <int64[2] s = {-1, 16}>
{ [conv] c = Conv(x, w) [relu] r = Relu(c) [bias] k = Add(b, b) [add] a = Add(r, k) [pool] p = GlobalAveragePool(a) [shape] f = Reshape(p, s)
  [last] m = MatMul(f, v) [soft] y = Softmax(m) }"""
NODES = ["conv", "relu", "bias", "add", "pool", "shape", "last", "soft"]


@pytest.fixture(scope="module")
def model(proto: Any) -> Any:
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(16, 8, 3, 3)), "b": rng.normal(size=(16, 1, 1)), "v": rng.normal(size=(16, 4))}
    return load(proto(TEXT, **{name: w.astype(np.float32) for name, w in weights.items()}))


KINDS = ["numpy", pytest.param("compiled", marks=pytest.mark.skipif(not available(), reason="numba is not installed"))]


@pytest.mark.parametrize("kernels", KINDS)
@pytest.mark.parametrize("fuse", [True, False])
def test_every_source_node_has_one_line(model: Any, kernels: str, fuse: bool) -> None:
    found = profile(model, {"x": np.ones((2, 8, 12, 12), np.float32)}, 3, kernels=kernels, fuse=fuse)
    assert [n.name for n in found.nodes] == NODES
    by_name = {n.name: n for n in found.nodes}
    assert by_name["conv"].macs == 2 * 16 * 100 * 8 * 9
    assert by_name["conv"].shapes == ("float32[2,16,10,10]",)
    assert by_name["conv"].kernel == kernels
    assert by_name["shape"].kernel == "view"
    assert by_name["bias"].kernel == "constant"
    assert by_name["bias"].median_ns == 0
    if not fuse:
        assert not any(n.shared for n in found.nodes)


def test_the_sums_hold(model: Any) -> None:
    found = profile(model, {"x": np.ones((2, 8, 12, 12), np.float32)}, 5, kernels="numpy")
    assert found.sum_ns == sum(n.median_ns for n in found.nodes)
    assert found.overhead_ns == found.wall_ns - found.sum_ns
    assert abs(sum(n.share for n in found.nodes) - 1) < 1e-9
    assert all(n.p95_ns >= n.median_ns for n in found.nodes)
    assert found.macs == sum(n.macs or 0 for n in found.nodes)
    assert found.slowest(1)[0].median_ns == max(n.median_ns for n in found.nodes)
    assert found.runs == 5
    assert found.peak_bytes > 0
    assert found.weight_bytes >= 16 * 8 * 9 * 4


def test_inputs_are_made_if_none_are_given_and_said(model: Any) -> None:
    found = profile(model, None, 3, kernels="numpy")
    assert found.assumptions


def test_an_open_engine_can_be_profiled_again(model: Any) -> None:
    engine = open_engine(model, "embedded", kernels="numpy", threads=1)
    feeds = {"x": np.ones((1, 8, 12, 12), np.float32)}
    assert [n.name for n in profile(engine, feeds, 3).nodes] == [n.name for n in profile(engine, feeds, 3).nodes]


def test_seconds_end_a_profile_early_and_cancel_at_once(model: Any) -> None:
    feeds = {"x": np.ones((1, 8, 12, 12), np.float32)}
    assert 3 <= profile(model, feeds, 100_000, seconds=0.05, kernels="numpy").runs < 100_000
    with pytest.raises(Cancelled):
        profile(model, feeds, 5, kernels="numpy", cancel=lambda: True)


def test_progress_is_told(model: Any) -> None:
    seen: list[tuple[int, int]] = []
    feeds = {"x": np.ones((1, 8, 12, 12), np.float32)}
    profile(model, feeds, 4, kernels="numpy", progress=lambda done, total, text: seen.append((done, total)))
    assert seen
    assert all(0 <= done <= total for done, total in seen)


def test_a_loop_and_a_branch_have_lines_of_their_own(proto: Any) -> None:
    from onnx import helper

    model = proto("g (float[4] x, bool c) => (float[4] y) { [neg] n = Neg(x) }")
    branch = [
        helper.make_graph(
            [helper.make_node(op, ["n"], [o], name=f"in_{op}")], op, [], [helper.make_tensor_value_info(o, 1, [4])]
        )
        for op, o in (("Exp", "a"), ("Abs", "b"))
    ]
    model.graph.node.append(
        helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch[0], else_branch=branch[1])
    )
    feeds = {"x": np.ones(4, np.float32), "c": np.array(True)}
    names = [n.name for n in profile(load(model), feeds, 3, kernels="numpy").nodes]
    assert names[:2] == ["neg", "if"]
    assert "in_Exp" in names
    assert "in_Abs" not in names


# The machine


def test_roofs_are_measured_once_and_plausible() -> None:
    roofs = machine(1)
    assert machine(1) is roofs
    assert roofs.gemm_flops_per_s > 1e8
    assert roofs.copy_bytes_per_s > 1e8
    assert roofs.blas.name


def test_a_row_is_limited_by_what_it_needs_most_of(model: Any) -> None:
    roofs = machine(1)
    row = profile(model, {"x": np.ones((1, 8, 12, 12), np.float32)}, 3, kernels="numpy").nodes[0]
    second = 10**9
    busy = replace(row, median_ns=second, flops=int(roofs.gemm_flops_per_s), bytes_read=8, bytes_written=8)
    assert roofline_class(busy, roofs) == "compute"
    moving = replace(busy, flops=8, bytes_read=int(roofs.copy_bytes_per_s), bytes_written=8)
    assert roofline_class(moving, roofs) == "memory"
    assert roofline_class(replace(busy, flops=8, bytes_read=8), roofs) == "overhead"
    assert roofline_class(replace(busy, flops=None), roofs) == ""


def test_a_busy_machine_is_told_from_a_quiet_one() -> None:
    assert judged([100, 101, 103, 102], 1.0).quiet
    spread = judged([100, 200, 210, 220], 1.0)
    assert not spread.quiet
    assert "a fixed matrix product took" in spread.reason
    crowded = judged([100, 101, 103, 102], LEAST_SHARE - 0.1)
    assert not crowded.quiet
    assert "other work is running" in crowded.reason


# Engines


@pytest.mark.parametrize("name", ENGINES)
def test_engines_agree_on_outputs_and_values(name: str, model: Any) -> None:
    if name == "onnxruntime":
        pytest.importorskip("onnxruntime")
    feeds = {"x": np.random.default_rng(0).normal(size=(2, 8, 12, 12)).astype(np.float32)}
    engine = open_engine(model, name, threads=1)
    want = open_engine(model, "embedded", kernels="plain")
    np.testing.assert_allclose(engine.run(feeds)["y"], want.run(feeds)["y"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(engine.run(feeds, ["r"])["r"], want.run(feeds, ["r"])["r"], rtol=1e-4, atol=1e-4)
    for budget in (None, 1):
        values = dict(engine.values(feeds, ["p", "c", "r"], budget))
        assert set(values) == {"p", "c", "r"}
        assert values["c"].shape == (2, 16, 10, 10)


@pytest.mark.parametrize("name", ["onnxruntime", "reference"])
def test_other_engines_are_profiled_by_source_node(name: str, model: Any) -> None:
    if name == "onnxruntime":
        pytest.importorskip("onnxruntime")
    found = profile(model, {"x": np.ones((2, 8, 12, 12), np.float32)}, 4, engine=name)
    assert [n.name for n in found.nodes][: len(NODES)] == NODES
    assert found.engine == name
    assert found.nodes[0].median_ns > 0


def test_an_engine_nobody_knows_is_an_error_with_a_hint(model: Any) -> None:
    with pytest.raises(OptionError, match="no engine called 'onnxruntme'") as error:
        open_engine(model, "onnxruntme")
    assert "onnxruntime" in str(error.value)


def test_an_engine_that_is_not_installed_says_what_to_install(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EngineMissing, match="onnxruntime") as error:
        open_engine(model, "onnxruntime")
    assert "pip install" in error.value.hint


def test_a_chrome_trace_has_one_event_per_node_that_took_time(model: Any) -> None:
    found = profile(model, {"x": np.ones((1, 8, 12, 12), np.float32)}, 3, kernels="numpy", fuse=False)
    trace = json.loads(json.dumps(chrome_trace(found)))
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert {e["name"] for e in events} >= {"conv", "pool", "last"}
    assert all(later["ts"] >= now["ts"] + now["dur"] - 1e-3 for now, later in pairwise(events))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs to share one CPU with another process")
def test_a_profile_taken_beside_a_busy_loop_says_so(model: Any) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(before)])
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        found = profile(model, {"x": np.ones((2, 8, 12, 12), np.float32)}, 4000, seconds=1.0, kernels="numpy")
    finally:
        loop.kill()
        loop.wait()
        os.sched_setaffinity(0, before)
    assert not found.noise.quiet
    assert found.noise.reason in found.notes


def test_the_times_of_bytes_say_what_they_are_worth(proto: Any) -> None:
    text = "g (uint8[N, 4] x) => (int32[N, 3] y) { y = MatMulInteger(x, w) }"
    made = load(proto(text, w=np.ones((4, 3), np.int8)))
    found = profile(made, {"x": np.ones((2, 4), np.uint8)}, 3, kernels="numpy")
    assert any("--engine onnxruntime" in note for note in found.notes)
