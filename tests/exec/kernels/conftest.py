"""One node, computed by our kernel, by onnx.reference and by onnxruntime."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import settings
from onnx import helper

from exec.arrays import Value
from exec.dtypes import onnx_code
from exec.kernels.registry import find
from exec.metrics import difference
from passes.base import Safety

settings.register_profile("kernels", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("kernels")

OPSET = 21
"""What both references know."""


class NoKernelError(Exception):
    """onnxruntime does not run this op for these types."""


class Node:
    """A model of one node and the values it gets; an input None is not given."""

    def __init__(
        self, op: str, inputs: Sequence[Value], attributes: dict[str, Any], opset: int, domain: str, outputs: int
    ) -> None:
        self.op, self.inputs, self.attributes = op, list(map(tensor, inputs)), attributes
        self.opset, self.domain, self.outputs = opset, domain, outputs

    def kernel(self) -> list[Value]:
        """What our kernel gives; it must leave its inputs alone and give arrays."""
        entry = find(self.domain, self.op, self.opset)
        assert entry is not None, f"no kernel for {self.domain}::{self.op}, opset {self.opset}"
        extra: dict[str, Any] = {"n_outputs": self.outputs} if "n_outputs" in entry.wants else {}
        if "rng" in entry.wants:
            extra["rng"] = np.random.default_rng(0)
        before = [x.copy() if isinstance(x, np.ndarray) else x for x in self.inputs]
        with np.errstate(all="ignore"):
            result = entry.function(*self.inputs, **self.attributes, **extra)
        for was, now in zip(before, self.inputs, strict=True):
            if isinstance(was, np.ndarray):
                assert difference(was, now).equal, f"{self.op} wrote to its input"
        values = list(result) if isinstance(result, tuple) else [result]
        assert all(isinstance(v, (np.ndarray, list, dict)) for v in values), f"{self.op} gave {list(map(type, values))}"
        return values[: self.outputs]

    def model(self) -> onnx.ModelProto:
        """The node as a model."""
        names = ["" if x is None else f"i{k}" for k, x in enumerate(self.inputs)]
        results = [f"o{k}" for k in range(self.outputs)]
        given = [(n, x) for n, x in zip(names, self.inputs, strict=True) if n]
        tensors = {
            n: onnx.numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for n, v in self.attributes.items()
        }
        node = helper.make_node(self.op, names, results, domain=self.domain, **tensors)
        graph = helper.make_graph(
            [node], self.op, [helper.make_value_info(n, type_of(x)) for n, x in given],
            [helper.make_value_info(n, onnx.TypeProto()) for n in results],
        )  # fmt: skip
        imports = {"": OPSET, self.domain: self.opset}
        return helper.make_model(graph, opset_imports=[helper.make_opsetid(*i) for i in imports.items()], ir_version=10)

    def feeds(self) -> dict[str, Value]:
        """The inputs by name."""
        return {f"i{k}": x for k, x in enumerate(self.inputs) if x is not None}

    def reference(self) -> list[Value]:
        """What onnx.reference gives."""
        from onnx.reference import ReferenceEvaluator

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [tensor(v) for v in ReferenceEvaluator(self.model()).run(None, self.feeds())]

    def onnxruntime(self) -> list[Value]:
        """What onnxruntime gives; the test is skipped without it."""
        runtime = pytest.importorskip("onnxruntime")
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as Missing

        try:
            model = self.model().SerializeToString()
            session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Missing as error:
            raise NoKernelError(self.op) from error
        return [tensor(v) for v in session.run(None, self.feeds())]


def type_of(value: Value) -> onnx.TypeProto:
    """The ONNX type of a value, with a shape of its rank."""
    if isinstance(value, list):
        return helper.make_sequence_type_proto(type_of(value[0]))
    return helper.make_tensor_type_proto(onnx_code(value.dtype), value.shape)


def tensor(value: Value) -> Value:
    """numpy's scalar objects as arrays."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def tolerance_of(value: Value) -> float:
    """What rounding may change, as a share of the value's range: at least one unit in the last place."""
    if isinstance(value, list):
        return max((tolerance_of(v) for v in value), default=0.0)
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUiub" or value.dtype.name.startswith(("int", "uint")):
        return 0.0
    real = np.dtype(value.dtype.type(0).real.dtype) if value.dtype.kind == "c" else value.dtype
    return max(Safety.ROUNDING.tolerance(real), float(ml_dtypes.finfo(real).eps))


Check = Callable[..., list[Value]]


@pytest.fixture(scope="session")
def check() -> Check:
    """check(op, *inputs, opset=…, domain=…, outputs=…, engines=…, tolerance=…, **attributes): ours equals the others."""

    def agreed(
        op: str,
        *inputs: Value,
        opset: int = OPSET,
        domain: str = "",
        outputs: int = 1,
        engines: Sequence[str] = ("reference", "onnxruntime"),
        tolerance: float | None = None,
        **attributes: Any,
    ) -> list[Value]:
        node = Node(op, inputs, attributes, opset, domain, outputs)
        got = node.kernel()
        compared = 0
        for engine in engines:
            try:
                wanted = getattr(node, engine)()
            except NoKernelError:
                continue
            compared += 1
            for k, (want, have) in enumerate(zip(wanted, got, strict=True)):
                allowed = tolerance_of(want) if tolerance is None else tolerance
                with np.errstate(over="ignore", invalid="ignore"):  # squares of the largest values
                    found = difference(want, have)
                if allowed == 0.0 or found.note:
                    assert found.equal, f"{op} output {k}: {found}\n{engine} {want}\nours {have}"
                else:
                    assert found.within(allowed), f"{op} output {k}: {found}\n{engine} {want}\nours {have}"
        assert compared or not engines, f"nobody else computes {op} of these types"
        return got

    return agreed


@pytest.fixture(scope="session")
def compute() -> Check:
    """compute(op, *inputs, opset=…, domain=…, outputs=…, **attributes): what our kernel gives."""

    def run(
        op: str, *inputs: Value, opset: int = OPSET, domain: str = "", outputs: int = 1, **attributes: Any
    ) -> list[Value]:
        return Node(op, inputs, attributes, opset, domain, outputs).kernel()

    return run


@pytest.fixture(scope="session")
def made() -> Callable[..., np.ndarray[Any, np.dtype[Any]]]:
    """made(rng, shape, dtype, special=False): values of a type; with `special` also NaN, ±inf, ±0 and the limits."""

    def values(
        rng: np.random.Generator, shape: Sequence[int], dtype: Any, special: bool = False
    ) -> np.ndarray[Any, np.dtype[Any]]:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            low, high = (limits.min, limits.max) if special else (max(limits.min, -50), min(limits.max, 50))
            return np.asarray(rng.integers(low, high, shape, dtype=kind, endpoint=True))
        x = np.asarray(rng.normal(0, 3, shape))
        if special and x.size:
            odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5]
            x = np.where(rng.random(shape) < 0.3, rng.choice(odd, shape), x)
        return x.astype(kind)

    return values
