"""If, Loop and Scan, run through a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from exec.errors import ExecutionError
from exec.ir import load
from exec.session import Session

Run = Callable[..., list[Any]]


@pytest.fixture
def run() -> Run:
    """run(text, **feeds): the outputs, which onnxruntime gives as well."""

    def outputs(text: str, *, against: bool = True, **feeds: Any) -> list[Any]:
        model = onnx.parser.parse_model(text)
        got = list(Session(load(model)).run(feeds).values())
        if against:
            runtime = pytest.importorskip("onnxruntime")
            session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            for want, have in zip(session.run(None, feeds), got, strict=True):
                assert want.dtype == have.dtype
                np.testing.assert_array_equal(want, have)
        return got

    return outputs


HEAD = '<ir_version: 9, opset_import: ["": 19]>'

BRANCHES = (
    HEAD
    + """
g (bool c, float[N] x) => (float[N] y) {
    y = If (c) <then_branch = t () => (float[N] a) { a = Neg (x) }, else_branch = e () => (float[N] b) { b = Identity (x) }>
}"""
)


def test_one_branch_runs_and_reads_outer_values(run: Run) -> None:
    x = np.array([1, 2, 3], np.float32)
    assert run(BRANCHES, c=np.array(True), x=x)[0].tolist() == [-1, -2, -3]
    assert run(BRANCHES, c=np.array(False), x=x)[0].tolist() == [1, 2, 3]


SUMS = (
    HEAD
    + """
g (int64 n, bool go, float[2] start, float[2] step) => (float[2] last, float[K, 2] seen) {
    last, seen = Loop (n, go, start) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] u) {
        t = Add (s, step)
        u = Identity (s)
        limit = Constant <value = float {10}> ()
        total = ReduceSum <keepdims = 0> (t)
        d = Less (total, limit)
    }>
}"""
)


@pytest.mark.parametrize(("n", "go", "count"), [(3, True, 3), (100, True, 5), (0, True, 0), (5, False, 0)])
def test_a_loop_ends_by_count_or_by_condition(run: Run, n: int, go: bool, count: int) -> None:
    feeds = {"start": np.zeros(2, np.float32), "step": np.ones(2, np.float32)}
    last, seen = run(SUMS, n=np.array(n), go=np.array(go), **feeds)
    assert last.tolist() == [count, count]
    assert seen.shape == (count, 2)
    assert seen.dtype == np.float32


ENDLESS = (
    HEAD
    + """
g (float x) => (float y) {
    y = Loop (, , x) <body = b (int64 i, bool c, float s) => (bool d, float t) {
        two = Constant <value = float {2}> ()
        t = Mul (s, two)
        limit = Constant <value = float {100}> ()
        d = Less (t, limit)
    }>
}"""
)


def test_a_loop_needs_neither_count_nor_condition(run: Run) -> None:
    assert run(ENDLESS, x=np.array(3.0, np.float32))[0].item() == 192


NOTHING = (
    HEAD
    + """
g (int64 n, bool go) => (int64[K] seen) {
    seen = Loop (n, go) <body = b (int64 i, bool c) => (bool d, int64 u) { d = Identity (c)  u = Identity (i) }>
}"""
)


def test_no_iteration_still_has_a_type(run: Run) -> None:
    (none,) = run(NOTHING, n=np.array(0), go=np.array(True))
    assert (none.dtype, none.shape) == (np.int64, (0,))
    assert run(NOTHING, n=np.array(3), go=np.array(True))[0].tolist() == [0, 1, 2]


def scan(attributes: str) -> str:
    return (
        HEAD
        + f"""
    g (float[2] start, float[A, B] x) => (float[2] last, float[C, D] sums) {{
        last, sums = Scan <num_scan_inputs = 1, {attributes} body = b (float[2] s, float[2] v) => (float[2] t, float[2] u) {{
            t = Add (s, v)
            u = Mul (s, v)
        }}> (start, x)
    }}"""
    )


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ("", (3, 2)),
        ("scan_input_directions = [1],", (3, 2)),
        ("scan_output_directions = [1],", (3, 2)),
        ("scan_input_axes = [1],", (2, 3)),
        ("scan_output_axes = [1],", (3, 2)),
        (
            "scan_input_axes = [-1], scan_output_axes = [-1], scan_input_directions = [1], scan_output_directions = [1],",
            (2, 3),
        ),
    ],
)
def test_a_scan_in_every_direction_and_along_every_axis(run: Run, attributes: str, shape: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(shape)
    run(scan(attributes), start=np.ones(2, np.float32), x=x)


def test_a_scan_of_no_steps(run: Run) -> None:
    last, sums = run(scan(""), against=False, start=np.ones(2, np.float32), x=np.zeros((0, 2), np.float32))
    assert last.tolist() == [1, 1]
    assert sums.shape == (0, 2)


SCAN_8 = """<ir_version: 4, opset_import: ["": 8]>
g (int64[2] lengths, float[2, 2] start, float[2, T, 2] x) => (float[2, 2] last, float[2, T, 2] sums) {
    last, sums = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] v) => (float[2] t, float[2] u) {
        t = Add (s, v)
        u = Identity (t)
    }> (lengths, start, x)
}"""


def test_the_first_scan_has_a_batch_axis_and_lengths(run: Run) -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    last, sums = run(SCAN_8, lengths=np.array([3, 2]), start=np.zeros((2, 2), np.float32), x=x)
    assert last.tolist() == [[6.0, 9.0], [14.0, 16.0]]
    assert sums[1, 2].tolist() == [0.0, 0.0]


UNEVEN = (
    HEAD
    + """
g (float[A] x, float[B] y) => (float[C] z) {
    z = Scan <num_scan_inputs = 2, body = b (float u, float v) => (float w) { w = Add (u, v) }> (x, y)
}"""
)


def test_a_scan_over_different_lengths_says_so(run: Run) -> None:
    with pytest.raises(ExecutionError, match="different lengths: 2, 3"):
        run(UNEVEN, against=False, x=np.zeros(2, np.float32), y=np.zeros(3, np.float32))


NESTED = (
    HEAD
    + """
g (int64 n, float[2] x) => (float[2] y) {
    y = Loop (n, , x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
        d = Identity (c)
        one = Constant <value = int64 {1}> ()
        odd = BitwiseAnd (i, one)
        is = Cast <to = 9> (odd)
        t = If (is) <then_branch = p () => (float[2] a) { a = Sub (s, x) }, else_branch = q () => (float[2] e) { e = Add (s, s) }>
    }>
}"""
)


def test_subgraphs_inside_subgraphs_see_both_outer_scopes(run: Run) -> None:
    assert run(NESTED, n=np.array(4), x=np.array([1, 3], np.float32))[0].tolist() == [1.0, 3.0]
