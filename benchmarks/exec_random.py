"""Random shapes: is the kernel that is chosen nearly the best of those that could do it?"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import onnx
from onnx import helper, numpy_helper

from exec.ir import load
from exec.plan import Plan
from exec.session import Session
from exec.threads import blas_threads

MOST = 1.25
"""Times the best kernel's time that the chosen one may take."""

FLOOR_S = 2e-6
"""Two calls of one kernel differ by this much."""


@dataclass(frozen=True)
class Case:
    """A model of one op, its inputs, and the ways to force each of its algorithms."""

    name: str
    model: onnx.ModelProto
    feeds: dict[str, Any]
    family: str


def report(count: int, seed: int, engines: Sequence[str]) -> int:
    """Print the failures and a summary; 1 if there are any."""
    rng = np.random.default_rng(seed)
    ratios: dict[str, list[float]] = {e: [] for e in engines}
    failures = 0
    for number, case in enumerate(itertools.islice(cases(rng), count)):
        times = timed(case, engines)
        for engine in engines:
            # The compiled session may take numpy's way where that is faster, so it has to beat that too.
            usable = {k: t for k, t in times.items() if engine == "compiled" or not k.startswith("compiled")}
            chosen, best = usable[engine], min(usable.values())
            ratio = (chosen + FLOOR_S) / (best + FLOOR_S)
            ratios[engine].append(ratio)
            if ratio > MOST:
                failures += 1
                ways = ", ".join(f"{k} {1e6 * t:.1f}" for k, t in sorted(usable.items(), key=lambda kt: kt[1]))
                print(f"{number:4d} {ratio:5.2f}× {engine:8s} {case.name}: µs {ways}", flush=True)
    for engine, found in ratios.items():
        late = sum(r > MOST for r in found)
        print(f"{engine}: {late} of {len(found)} shapes above {MOST}× the best kernel, worst {max(found):.2f}")
    return int(failures > 0)


def timed(case: Case, engines: Sequence[str]) -> dict[str, float]:
    """Seconds by way: an engine's own choice under its name, each forced one behind a colon."""
    plans: dict[str, Plan] = {}
    for engine in engines:
        plans[engine] = planned(case, engine)
        for way, patches in forced(case.family, engine):
            with ExitStack() as stack:
                for target, replacement in patches:
                    stack.enter_context(mock.patch(target, replacement))
                made = planned(case, engine)
            plans[f"{engine}:{way}"] = made
    best = dict.fromkeys(plans, math.inf)
    with blas_threads(1), np.errstate(all="ignore"):
        once = max(min(_lap(plan) for _ in range(3)) for plan in plans.values())
        for _ in range(max(5, min(60, int(0.02 / max(once, 1e-6))))):
            for way, plan in plans.items():
                _lap(plan)  # what the way before left in the caches is gone
                best[way] = min(best[way], _lap(plan))
    return best


def _lap(plan: Plan) -> float:
    calls = plan.steps
    began = time.perf_counter()
    for call in calls:
        call()
    return time.perf_counter() - began


def planned(case: Case, kernels: str) -> Plan:
    """A plan that has run once."""
    session = Session(load(case.model), kernels=kernels, threads=1)
    session.run(case.feeds)
    with session.ready(case.feeds) as (plan, given):
        plan.feed(given)
        return plan


Patches = list[tuple[str, Any]]


def forced(family: str, engine: str) -> Iterator[tuple[str, Patches]]:
    """Each algorithm of a family, and what to replace so that it is taken."""
    if family in FORCED:
        place, ways = FORCED[family][engine]
        for way in ways:
            yield way, [(place, lambda *_, way=way: way)]
    elif family == "product" and engine == "numpy":
        for way in ("tiles", "columns", "plain"):
            yield way, [("exec.lowering.skinny.ways_that_pay", lambda _, way=way: frozenset({way}))]


_NUMPY, _COMPILED = "exec.lowering.ops.conv.choose", "exec.lowering.jit.convolution.choose"
FORCED: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "conv 1x1": {"numpy": (_NUMPY, ("pointwise", "gathered")), "compiled": (_COMPILED, ("gathered",))},
    "conv 3x3": {"numpy": (_NUMPY, ("winograd", "gathered")), "compiled": (_COMPILED, ("winograd", "gathered"))},
    "conv": {"numpy": (_NUMPY, ("gathered",)), "compiled": (_COMPILED, ("gathered",))},
    "depthwise": {"numpy": (_NUMPY, ("depthwise", "gathered")), "compiled": (_COMPILED, ("depthwise", "gathered"))},
}


# The shapes


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Without end, in turn: convolutions, products, rows, elementwise, moves."""
    for make in itertools.cycle((_conv, _product, _conv, _rows, _conv, _elementwise, _product, _conv, _moves, _conv)):
        yield make(rng)


def _size(rng: np.random.Generator, low: int, high: int) -> int:
    """Log-uniform; half of them multiples of eight."""
    value = int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
    return max(low, value // 8 * 8) if rng.random() < 0.5 else value


def _drawn(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape, dtype=np.float32)


def _case(name: str, family: str, op: str, feeds: dict[str, Any], weights: dict[str, Any], **attributes: Any) -> Case:
    node = helper.make_node(op, [*feeds, *weights], ["y"], **attributes)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()]  # fmt: skip
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "one", inputs, [output], [numpy_helper.from_array(a, n) for n, a in weights.items()])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return Case(name, model, feeds, family)


def _conv(rng: np.random.Generator) -> Case:
    kernel, stride = int(rng.choice([1, 1, 3, 3, 3, 5, 7])), int(rng.choice([1, 1, 2]))
    size = (_size(rng, max(4, kernel), 96), _size(rng, max(4, kernel), 96))
    channels, outputs = _size(rng, 3, 512), _size(rng, 8, 512)
    group = 1
    if kernel > 1 and rng.random() < 0.3:
        group = outputs = channels
    elif rng.random() < 0.1:
        group, channels, outputs = 4, -(-channels // 4) * 4, -(-outputs // 4) * 4
    if channels * outputs // group * kernel**2 * size[0] * size[1] > 6e8 * stride**2:
        size = (14, 14)
    family = "depthwise" if group == channels else "conv 1x1" if kernel == stride == 1 else "conv"
    if (kernel, stride, group) == (3, 1, 1) and min(channels, outputs) >= 8 and min(size) >= 4:
        family = "conv 3x3"
    w = _drawn(rng, outputs, channels // group, kernel, kernel)
    return _case(
        f"Conv {channels}→{outputs} {size[0]}×{size[1]} k{kernel} s{stride} g{group}", family, "Conv",
        {"x": _drawn(rng, 1, channels, *size)}, {"w": w, "b": _drawn(rng, outputs)}, kernel_shape=[kernel] * 2,
        strides=[stride] * 2, pads=[kernel // 2] * 4, group=group,
    )  # fmt: skip


def _product(rng: np.random.Generator) -> Case:
    rows, inner, columns = _size(rng, 1, 256), _size(rng, 8, 1536), _size(rng, 8, 1536)
    if rng.random() < 0.3:
        heads, inner = int(rng.integers(1, 13)), int(rng.choice([32, 64, 80]))
        feeds = {"x": _drawn(rng, heads, rows, inner), "w": _drawn(rng, heads, inner, columns // 4 + 1)}
        return _case(f"MatMul {heads}×{rows}×{inner}×{columns // 4 + 1}", "batched", "MatMul", feeds, {})
    weights = {"w": _drawn(rng, inner, columns), "b": _drawn(rng, columns)}
    return _case(f"Gemm {rows}×{inner}×{columns}", "product", "Gemm", {"x": _drawn(rng, rows, inner)}, weights)


def _rows(rng: np.random.Generator) -> Case:
    rows, count = _size(rng, 1, 1024), _size(rng, 4, 1024)
    x = _drawn(rng, rows, count)
    op = str(rng.choice(["Softmax", "LayerNormalization", "ReduceMean", "ReduceMax"]))
    weights: dict[str, Any] = {}
    attributes: dict[str, Any] = {"axis": -1}
    if op == "LayerNormalization":
        weights = {"s": _drawn(rng, count), "b": _drawn(rng, count)}
    elif op.startswith("Reduce"):
        weights, attributes = {"axes": np.array([-1])}, {}
    return _case(f"{op} {rows}×{count}", "rows", op, {"x": x}, weights, **attributes)


def _elementwise(rng: np.random.Generator) -> Case:
    shape = (1, _size(rng, 4, 256), _size(rng, 4, 64), _size(rng, 4, 64))
    op = str(rng.choice(["Relu", "Sigmoid", "HardSwish", "Gelu", "Tanh", "Erf", "Add", "Mul"]))
    other = {"w": _drawn(rng, *(shape if rng.random() < 0.5 else (shape[1], 1, 1)))} if op in ("Add", "Mul") else {}
    return _case(f"{op} {'×'.join(map(str, shape))}", "elementwise", op, {"x": _drawn(rng, *shape)}, other)


def _moves(rng: np.random.Generator) -> Case:
    shape = (_size(rng, 1, 16), _size(rng, 4, 256), _size(rng, 4, 256))
    x = {"x": _drawn(rng, *shape)}
    if rng.random() < 0.4:
        pool = {"x": _drawn(rng, 1, _size(rng, 4, 256), _size(rng, 6, 80), _size(rng, 6, 80))}
        op, size = str(rng.choice(["MaxPool", "AveragePool"])), int(rng.choice([2, 3]))
        name = f"{op} {size} {'×'.join(map(str, pool['x'].shape))}"
        return _case(name, "pool", op, pool, {}, kernel_shape=[size] * 2, strides=[int(rng.choice([1, 2]))] * 2)
    perm = [int(k) for k in rng.permutation(3)]
    name = f"Transpose {'×'.join(map(str, shape))} by {perm}, Relu"
    case = _case(name, "moves", "Transpose", x, {}, perm=perm)
    case.model.graph.node[0].output[0] = "t"
    case.model.graph.node.append(helper.make_node("Relu", ["t"], ["y"]))
    return case
