"""Whole models through our session, with every kind of kernels, against onnxruntime or onnx.reference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import settings
from onnx import numpy_helper, parser

from exec.arrays import Array, Value
from exec.compiled import available
from exec.ir import load
from exec.metrics import difference
from exec.session import Session
from passes.base import Safety

settings.register_profile("exec", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("exec")

OPSETS = '"" : {opset}, "com.microsoft" : 1'
KERNELS = ("numpy", "compiled") if available() else ("numpy",)

Agree = Callable[..., dict[str, Value]]
Make = Callable[..., onnx.ModelProto]


@pytest.fixture(scope="session")
def proto() -> Make:
    """proto("g (float[N] x) => (float[N] y) { y = Neg(x) }", opset=…, w=array, …): the model, the arrays its weights."""

    def made(
        text: str, *, opset: int = 21, functions: str = "", imports: str = "", **weights: Array
    ) -> onnx.ModelProto:
        header = f"<ir_version: 10, opset_import: [{OPSETS.format(opset=opset)}{imports}]>"
        model = parser.parse_model(f"{header}\n{text}\n{functions}")
        model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
        return model

    return made


@pytest.fixture(scope="session")
def session(proto: Make) -> Callable[..., Session]:
    """session(text, kernels=…, fuse=…, seed=…, opset=…, **weights)."""

    def opened(text: str, *, kernels: str = "numpy", fuse: bool = True, seed: int = 0, **rest: Any) -> Session:
        return Session(load(proto(text, **rest)), kernels=kernels, fuse=fuse, seed=seed)

    return opened


def wanted_of(model: onnx.ModelProto, feeds: Mapping[str, Value], engine: str) -> list[Value]:
    """The outputs of onnxruntime without its rewrites, or of onnx.reference."""
    if engine == "reference":
        from onnx.reference import ReferenceEvaluator

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(ReferenceEvaluator(model).run(None, dict(feeds)))
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(
        runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
            None, dict(feeds)
        )
    )


def allowed(value: Value, whole: bool) -> float:
    """What rounding may change in a value."""
    return Safety.ROUNDING.tolerance(value.dtype, whole) if isinstance(value, np.ndarray) else 0.0


@pytest.fixture(scope="session")
def agree() -> Agree:
    """agree(model, feeds, …): planned and replanned, numpy and compiled, equal another engine; gives the outputs.

    engine     "onnxruntime" or "reference"
    more       feeds for further runs of the same session
    steps      "fused" or "alone": with and without fusion by default
    tolerance  None is that of rounding
    """

    def agreed(
        model: onnx.ModelProto,
        feeds: Mapping[str, Value],
        *,
        engine: str = "onnxruntime",
        more: Sequence[Mapping[str, Value]] = (),
        kernels: Sequence[str] = KERNELS,
        fuse: Sequence[bool] = (True, False),
        tolerance: float | None = None,
    ) -> dict[str, Value]:
        names = [o.name for o in model.graph.output]
        got: dict[str, Value] = {}
        rounds = [feeds, *more, feeds]
        wants = {id(given): wanted_of(model, given, engine) for given in rounds}
        for kind in kernels:
            for fused in fuse:
                session = Session(load(model), kernels=kind, fuse=fused)
                for number, given in enumerate(rounds):
                    before = {k: v.copy() for k, v in given.items() if isinstance(v, np.ndarray)}
                    got = session.run(given)
                    assert list(got) == names
                    for name, want in zip(names, wants[id(given)], strict=True):
                        found = difference(want, got[name])
                        limit = allowed(want, whole=True) if tolerance is None else tolerance
                        where = f"{name}, {kind}, {'fused' if fused else 'alone'}, run {number}"
                        assert found.within(limit) or found.equal, f"{where}: {found}\nwanted {want}\ngot {got[name]}"
                    for name, was in before.items():
                        assert difference(was, given[name]).equal, f"the input {name} was written to"
        return got

    return agreed
