"""What separates two values, against the plain formulas and at the edges of the types."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from exec.metrics import difference, difference_in_parts

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.complex64, np.int32])
def test_the_numbers_are_those_of_their_formulas(dtype: type) -> None:
    want = (RNG.standard_normal(1000) * 9).astype(dtype)
    got = (RNG.standard_normal(1000) * 9).astype(dtype)
    wide = np.complex128 if dtype is np.complex64 else np.float64
    a, b = want.astype(wide), got.astype(wide)
    found = difference(want, got)
    assert found.max_abs == np.abs(a - b).max()
    assert found.max_of_range == found.max_abs / np.abs(a).max()
    power = (np.abs(a) ** 2).sum(), (np.abs(a - b) ** 2).sum(), (np.abs(b) ** 2).sum()
    assert math.isclose(found.sqnr_db, 10 * math.log10(power[0] / power[1]), rel_tol=1e-9)
    assert math.isclose(found.cosine, float((a * b.conj()).real.sum()) / math.sqrt(power[0] * power[2]), rel_tol=1e-9)
    assert found.mismatches == (np.count_nonzero(want != got) if dtype is np.int32 else 0)


def test_specials_have_to_be_the_same_and_do_not_count_as_numbers() -> None:
    want = np.array([1.0, np.inf, np.nan, -np.inf], np.float32)
    assert difference(want, want.copy()).equal
    found = difference(want, np.array([1.5, np.inf, 0.0, np.inf], np.float32))
    assert (found.mismatches, found.max_abs) == (2, 0.5)


def test_squares_that_overflow_are_no_warning() -> None:
    found = difference(np.array([1e300, 1.0]), np.array([1e300, 2.0]))
    assert found.max_abs == 1.0
    assert not found.mismatches


def test_parts_give_what_the_whole_gives() -> None:
    want, got = RNG.standard_normal((2, 999))
    whole = difference(want, got)
    cut = difference_in_parts(np.split(want, 3), np.split(got, 3))
    assert (cut.max_abs, cut.max_of_range, cut.elements) == (whole.max_abs, whole.max_of_range, whole.elements)
    assert math.isclose(cut.sqnr_db, whole.sqnr_db, rel_tol=1e-9)
