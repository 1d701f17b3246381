"""Whether a model fails on every input there is: then nothing can be proven about it, and nobody should ship it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import BenchError, Cancelled, ExecutionError
from exec.ir import Model, ValueInfo

Run = Callable[[Mapping[str, Value]], Any]

_FILLS: tuple[Callable[[tuple[int, ...]], Array], ...] = (
    np.zeros,
    np.ones,
    lambda shape: np.random.default_rng(5).standard_normal(shape) * 3,
)


def never_runs(model: Model, run: Run, error: BenchError) -> ExecutionError | None:
    """The error to raise where `error`, from running `model` once, is not the inputs' doing; None where it may be.

    It is not where all sizes are declared, only real numbers come in, and zeros, ones and noise fail at the same node.
    """
    if not isinstance(error, ExecutionError) or not all(_is_real(info) for info in model.inputs):
        return None
    for fill in _FILLS:
        feeds = {info.name: fill(_sizes(info)).astype(info.dtype) for info in model.inputs}
        try:
            run(feeds)
        except Cancelled:
            raise
        except ExecutionError as other:
            if other.where != error.where:
                return None
        except BenchError:
            return None
        else:
            return None
    return ExecutionError(
        f"this model cannot run, whatever its inputs are: {error.what}",
        error.where,
        error.why,
        "`owb optimize --no-verify` rewrites it all the same",
    )


def _is_real(info: ValueInfo) -> bool:
    known: Sequence[Any] | None = info.shape
    return (
        info.kind == "tensor_type"
        and info.dtype in (np.float32, np.float64, np.float16)
        and known is not None
        and all(isinstance(dim, int) and dim >= 0 for dim in known)
    )


def _sizes(info: ValueInfo) -> tuple[int, ...]:
    return tuple(int(dim) for dim in info.shape or () if dim is not None)
