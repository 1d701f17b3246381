"""Matrix products, einsum and their integer forms."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
MATRICES = st.sampled_from(
    [
        ((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
        ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((2, 0, 4), (2, 4, 3)), ((2, 3, 4), (4,)),
    ]
)  # fmt: skip


@given(shapes=MATRICES, dtype=st.sampled_from(["float32", "float64", "int32", "int64", "uint32"]), seed=SEEDS)
def test_matmul_of_every_rank(check: Any, made: Any, shapes: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check("MatMul", *(made(rng, shape, dtype) for shape in shapes), engines=["reference"])
    if all(0 not in shape for shape in shapes):
        check("MatMul", *(made(rng, shape, dtype) for shape in shapes))


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_narrow_matrices_are_multiplied_in_float32(compute: Any, made: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = made(rng, (7, 300), "float32").astype(dtype), made(rng, (300, 5), "float32").astype(dtype)
    (got,) = compute("MatMul", a, b)
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
    assert got.dtype == dtype
    assert np.array_equal(got.view(np.uint16), want.view(np.uint16))


def test_integer_products_are_exact_and_wrap(compute: Any) -> None:
    rng = np.random.default_rng(0)
    for bits in (6, 12, 20, 31):  # through float32, float64 and no float at all
        a = rng.integers(-(1 << bits), 1 << bits, (5, 40), dtype=np.int64).astype(np.int32)
        b = rng.integers(-(1 << bits), 1 << bits, (40, 6), dtype=np.int64).astype(np.int32)
        (got,) = compute("MatMul", a, b)
        exact = a.astype(object) @ b.astype(object)
        wrapped = np.vectorize(lambda v: (v + (1 << 31)) % (1 << 32) - (1 << 31), otypes=[np.int64])(exact)
        assert np.array_equal(got, wrapped.astype(np.int32))


@given(
    transpose_a=st.booleans(), transpose_b=st.booleans(),
    alpha=st.sampled_from([1.0, 0.5, 0.0]), beta=st.sampled_from([1.0, 0.25, 0.0]),
    c=st.sampled_from([None, (), (1,), (5,), (3, 1), (1, 5), (3, 5)]), seed=SEEDS,
)  # fmt: skip
def test_gemm_with_every_attribute(
    check: Any, made: Any, transpose_a: bool, transpose_b: bool, alpha: float, beta: float, c: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = (
        made(rng, (4, 3) if transpose_a else (3, 4), "float32"),
        made(rng, (5, 4) if transpose_b else (4, 5), "float32"),
    )
    given_c = [] if c is None else [made(rng, c, "float32")]
    check("Gemm", a, b, *given_c, transA=int(transpose_a), transB=int(transpose_b), alpha=alpha, beta=beta)


def test_a_gemm_of_integers_keeps_its_type(check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (made(rng, shape, "int64") for shape in ((3, 4), (4, 5), (5,)))
    check("Gemm", a, b, c, engines=["reference"])


def test_gemm_before_opset_7_broadcasts_only_with_a_flag(compute: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (made(rng, shape, "float32") for shape in ((3, 4), (4, 5), (5,)))
    (old,) = compute("Gemm", a, b, c, opset=6, broadcast=1)
    (new,) = compute("Gemm", a, b, c)
    assert np.array_equal(old, new)
    with pytest.raises(ExecutionError, match="broadcast"):
        compute("Gemm", a, b, c, opset=6)


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bij, bjk -> bik", [(2, 3, 4), (2, 4, 5)]),
    ("i,j->ij", [(3,), (4,)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("bii->b", [(2, 3, 3)]),
    ("ba", [(2, 3)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ij->", [(2, 3), (2, 3)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("ij,k->k", [(2, 3), (4,)]),
    ("bnij,bnjd->bind", [(2, 3, 4, 4), (2, 3, 4, 5)]),
    ("...,...->...", [(2, 3), (3,)]),
    ("...ij,...jk->...ik", [(2, 2, 3, 4), (1, 4, 5)]),
    ("ij,ik->jk", [(5, 2), (5, 3)]),
    ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
    ("a,b,c->cab", [(2,), (3,), (4,)]),
    ("ij,jk", [(2, 3), (3, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=[e for e, _ in EQUATIONS])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_einsum_of_every_kind(check: Any, made: Any, equation: str, shapes: Any, dtype: str) -> None:
    rng = np.random.default_rng(1)
    check("Einsum", *(made(rng, shape, dtype) for shape in shapes), equation=equation, engines=["reference"])


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS[:6], ids=[e for e, _ in EQUATIONS[:6]])
def test_einsum_as_onnxruntime(check: Any, made: Any, equation: str, shapes: Any) -> None:
    rng = np.random.default_rng(1)
    check("Einsum", *(made(rng, shape, "float32") for shape in shapes), equation=equation, engines=["onnxruntime"])


def test_einsum_of_nothing_is_zero(compute: Any) -> None:
    (got,) = compute("Einsum", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32), equation="ij,jk->ik")
    assert np.array_equal(got, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3)], "2 terms for 1 inputs"),
        ("ijk->i", [(2, 3)], "does not fit an input of rank 2"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "label 'j'"),
    ],
)
def test_an_einsum_that_does_not_fit_says_why(compute: Any, equation: str, shapes: Any, message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        compute("Einsum", *(np.zeros(shape, np.float32) for shape in shapes), equation=equation)


ZEROS = st.sampled_from(["none", "scalar", "vector"])


@given(a_type=st.sampled_from(["uint8", "int8"]), b_type=st.sampled_from(["uint8", "int8"]), zero=ZEROS, seed=SEEDS)
def test_matmul_integer(check: Any, made: Any, a_type: str, b_type: str, zero: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = made(rng, (3, 70), a_type, special=True), made(rng, (70, 5), b_type, special=True)
    zeros = {
        "none": [],
        "scalar": [made(rng, (), a_type, special=True), made(rng, (), b_type, special=True)],
        "vector": [made(rng, (), a_type, special=True), made(rng, (5,), b_type, special=True)],
    }[zero]
    check("MatMulInteger", a, b, *zeros, engines=["reference"])
    if a_type == "uint8":
        check("MatMulInteger", a, b, *zeros, engines=["onnxruntime"])


def test_long_integer_products_stay_exact(compute: Any) -> None:
    a, b = np.full((1, 4608), 255, np.uint8), np.full((4608, 1), -128, np.int8)
    (got,) = compute("MatMulInteger", a, b)
    assert got.dtype == np.int32
    assert got.item() == -255 * 128 * 4608


def test_a_vector_of_zero_points_of_a_is_one_per_row(compute: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = made(rng, (3, 7), "uint8", special=True), made(rng, (7, 5), "uint8", special=True)
    rows, columns = made(rng, (3,), "uint8"), made(rng, (5,), "uint8")
    (got,) = compute("MatMulInteger", a, b, rows, columns)
    want = (a.astype(np.int64) - rows[:, None]) @ (b.astype(np.int64) - columns)
    assert np.array_equal(got, want)


@given(kind=st.sampled_from(["uint8", "int8"]), per_column=st.booleans(), seed=SEEDS)
def test_qlinear_matmul_is_exact_but_for_ties(compute: Any, made: Any, kind: str, per_column: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = made(rng, (2, 4, 30), kind, special=True), made(rng, (30, 5), kind, special=True)
    columns = (5,) if per_column else ()
    a_scale, b_scale = np.array(0.02, np.float32), rng.random(columns).astype(np.float32) * 0.1 + 0.01
    y_scale, zeros = np.array(0.3, np.float32), [made(rng, s, kind) for s in ((), columns, ())]
    (got,) = compute("QLinearMatMul", a, a_scale, zeros[0], b, b_scale, zeros[1], y_scale, zeros[2])
    total = (a.astype(np.int64) - zeros[0]) @ (b.astype(np.int64) - zeros[1].astype(np.int64))
    real = total * (a_scale.astype(np.float64) * b_scale / y_scale)
    limits = np.iinfo(kind)
    exact = np.clip(np.rint(real) + zeros[2], limits.min, limits.max)
    off = np.abs(got - exact)
    near_tie = np.abs(np.abs(real - np.trunc(real)) - 0.5) < 1e-3 * np.maximum(np.abs(real), 1)
    assert got.dtype == np.dtype(kind)
    assert np.all((off == 0) | ((off == 1) & near_tie))


def test_qlinear_matmul_agrees_with_onnxruntime(check: Any, made: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = made(rng, (4, 16), "uint8", special=True), made(rng, (16, 5), "int8", special=True)
    scales = [np.array(s, np.float32) for s in (0.013, 0.021, 0.37)]
    zeros = [np.array(120, np.uint8), np.array(0, np.int8), np.array(128, np.uint8)]
    check("QLinearMatMul", a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2], engines=["onnxruntime"])
