"""Control flow and sequences of any size, axis, direction and type, as both references have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.ir import load
from exec.metrics import difference
from exec.session import Session

SEEDS = st.integers(0, 1 << 16)
TYPES = st.sampled_from(["float", "double", "int64", "int32"])
NUMPY = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32}


@pytest.fixture(scope="session")
def same() -> Callable[..., None]:
    """same(text, feeds, opset=…, reference=…): a session gives what onnxruntime, or onnx.reference, gives."""

    def compared(text: str, feeds: dict[str, Any], *, opset: int = 19, reference: bool = False) -> None:
        model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": {opset}]>\n{text}')
        if reference:
            from onnx.reference import ReferenceEvaluator

            wanted = ReferenceEvaluator(model).run(None, feeds)
        else:
            runtime = pytest.importorskip("onnxruntime")
            wanted = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
                None, feeds
            )
        session = Session(load(model), kernels="numpy")
        for _ in range(2):
            for want, got in zip(wanted, session.run(feeds).values(), strict=True):
                assert difference(want, got).within(1e-6), f"wanted {want}\ngot {got}"

    return compared


def drawn(seed: int, kind: str, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(NUMPY[kind])


@given(kind=TYPES, taken=st.booleans(), rows=st.integers(0, 4), opset=st.sampled_from([11, 13, 16, 19]), seed=SEEDS)
def test_a_branch(kind: str, taken: bool, rows: int, opset: int, seed: int, same: Any) -> None:
    text = f"""g (bool c, {kind}[N, 3] x) => ({kind}[K, 3] y) {{
        y = If (c) <then_branch = t () => ({kind}[A, 3] a) {{ a = Concat <axis = 0> (x, x) }},
                    else_branch = e () => ({kind}[B, 3] b) {{ b = Add (x, x) }}> }}"""
    same(text, {"c": np.array(taken), "x": drawn(seed, kind, rows, 3)}, opset=opset)


@given(kind=TYPES, count=st.integers(0, 6), stop=st.integers(0, 7), size=st.integers(1, 4), opset=st.sampled_from([11, 13, 16, 19]), seed=SEEDS)  # fmt: skip
def test_a_loop(kind: str, count: int, stop: int, size: int, opset: int, seed: int, same: Any) -> None:
    text = f"""g (int64 n, int64 stop, {kind}[S] x) => ({kind}[S] last, {kind}[K, S] seen, int64[K] at)
    {{ go = Constant <value = bool {{1}}> ()
        last, seen, at = Loop (n, go, x) <body = b (int64 i, bool c, {kind}[S] s) => (bool d, {kind}[S] t, {kind}[S] u, int64 j) {{
            t = Add (s, x) u = Sub (t, s) j = Identity (i) d = Less (i, stop) }}> }}"""
    feeds = {"n": np.array(count), "stop": np.array(stop), "x": drawn(seed, kind, size)}
    same(text, feeds, opset=opset)


@given(kind=TYPES, length=st.integers(1, 5), axis=st.integers(0, 2), back=st.booleans(), out_axis=st.integers(0, 2), out_back=st.booleans(),
       opset=st.sampled_from([9, 11, 16, 19]), seed=SEEDS)  # fmt: skip
def test_a_scan(
    kind: str, length: int, axis: int, back: bool, out_axis: int, out_back: bool, opset: int, seed: int, same: Any
) -> None:
    shape = [2, 3]
    shape.insert(axis, length)
    text = f"""g ({kind}[2, 3] s, {kind}[A, B, C] x) => ({kind}[2, 3] last, {kind}[D, E, F] y) {{
        last, y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{int(back)}],
            scan_output_axes = [{out_axis}], scan_output_directions = [{int(out_back)}],
            body = b ({kind}[2, 3] a, {kind}[2, 3] e) => ({kind}[2, 3] t, {kind}[2, 3] u) {{ t = Add (a, e) u = Identity (t) }}> (s, x) }}"""
    same(text, {"s": drawn(seed, kind, 2, 3), "x": drawn(seed + 1, kind, *shape)}, opset=opset)


@given(kind=TYPES, lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4), data=st.data(), seed=SEEDS)
def test_sequences(kind: str, lengths: list[int], data: st.DataObject, seed: int, check: Any) -> None:
    values = [drawn(seed + k, kind, n, 2) for k, n in enumerate(lengths)]
    position = np.array(data.draw(st.integers(-len(values), len(values) - 1)), data.draw(st.sampled_from(["i4", "i8"])))
    check("SequenceConstruct", *values)
    check("SequenceAt", values, position)
    check("SequenceInsert", values, drawn(seed, kind, 1, 2), position)
    check("SequenceLength", values)
    check("ConcatFromSequence", values, axis=data.draw(st.sampled_from([0, -2])))
    if len(values) > 1:  # nothing else can say what a sequence of nothing holds
        check("SequenceErase", values, position)


@given(kind=TYPES, count=st.integers(1, 4), axis=st.integers(-3, 2), new=st.booleans(), seed=SEEDS)
def test_parts_are_joined_along_any_axis(kind: str, count: int, axis: int, new: bool, seed: int, check: Any) -> None:
    values = [drawn(seed + k, kind, 2, 3, 4) for k in range(count)]
    check("ConcatFromSequence", values, axis=axis, new_axis=int(new))


@given(kind=TYPES, size=st.integers(1, 7), part=st.integers(1, 8), axis=st.integers(-2, 1), seed=SEEDS)
def test_a_tensor_is_cut_into_a_sequence(kind: str, size: int, part: int, axis: int, seed: int, check: Any) -> None:
    x = drawn(seed, kind, size, size)
    check("SplitToSequence", x, np.array(part), axis=axis, engines=["onnxruntime"])
    lengths = [part] * (size // part) + ([size % part] if size % part else [])
    check("SplitToSequence", x, np.array(lengths), axis=axis, engines=["onnxruntime"])


@given(seed=SEEDS, rows=st.integers(1, 3), width=st.integers(1, 3))
def test_a_function_is_mapped_over_a_sequence(seed: int, rows: int, width: int, same: Any) -> None:
    text = """g (float[A, B] x, float[A, B] z) => (float[C, B] y) {
        s = SequenceConstruct (x, z, x)
        m = SequenceMap <body = b (float[A, B] e) => (float[A, B] f) { f = Neg (e) }> (s)
        y = ConcatFromSequence <axis = 0> (m) }"""
    feeds = {"x": drawn(seed, "float", rows, width), "z": drawn(seed + 1, "float", rows, width)}
    same(text, feeds, reference=True)
