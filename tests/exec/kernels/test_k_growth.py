"""What a number in a model makes large is refused before it exists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exec.errors import BudgetExceeded

HUGE = 1 << 45
ONE = np.ones((1, 1, 1, 1), np.float32)

CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("ConstantOfShape", [np.array([HUGE])], {}),
    ("ConstantOfShape", [np.array([1 << 30, 1 << 30])], {}),
    ("Range", [np.array(0), np.array(HUGE), np.array(1)], {}),
    ("Tile", [np.ones(2, np.float32), np.array([HUGE])], {}),
    ("Pad", [np.ones(2, np.float32), np.array([0, HUGE])], {}),
    ("Pad", [np.ones(2, np.float32), np.array([0, HUGE])], {"mode": "edge"}),
    ("CenterCropPad", [np.ones(2, np.float32), np.array([HUGE])], {}),
    ("OneHot", [np.array([1]), np.array(HUGE), np.array([0, 1])], {}),
    ("Resize", [ONE, None, np.array([1, 1, 1e7, 1e7], np.float32)], {"mode": "linear"}),
    ("Resize", [ONE, None, None, np.array([1, 1, 1 << 24, 1 << 24])], {"mode": "nearest"}),
    ("Upsample", [ONE, np.array([1, 1, 1e7, 1e7], np.float32)], {"opset": 9}),
    ("AffineGrid", [np.ones((1, 2, 3), np.float32), np.array([1, 1, 1 << 24, 1 << 24])], {}),
    ("RandomNormal", [], {"shape": [HUGE]}),
    ("RandomUniform", [], {"shape": [1 << 30, 1 << 30]}),
    ("Multinomial", [np.zeros((1, 3), np.float32)], {"sample_size": HUGE}),
    ("HannWindow", [np.array(HUGE)], {}),
    ("DFT", [np.ones((1, 4, 1), np.float32), np.array(HUGE), np.array(1)], {}),
    (
        "MelWeightMatrix",
        [np.array(1 << 20), np.array(1 << 30), np.array(8000), *[np.array(f, np.float32) for f in (0, 4000)]],
        {},
    ),
]


@pytest.mark.parametrize(("op", "inputs", "options"), CASES, ids=[f"{op}-{k}" for k, (op, _, _) in enumerate(CASES)])
def test_a_size_beyond_the_limit_is_refused_at_once(
    compute: Any, op: str, inputs: list[Any], options: dict[str, Any]
) -> None:
    with pytest.raises(BudgetExceeded, match="memory"):
        compute(op, *inputs, **options)
