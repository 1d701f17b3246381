"""How the rewriting's time grows with the graph: one repeated block, more and more of it, and the slope of the fit.

    python benchmarks/rewrites.py [NODES ...]

Seconds are of the processor, so that a busy machine does not bend the line; wall time stands beside them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# `exec.py` beside this file has the name of a package, so this folder must not be searched first.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != _HERE)]

from exec.ir import load  # noqa: E402
from passes.optimize import optimize  # noqa: E402

BLOCK = ("Relu", "Add", "Mul", "Identity", "Sigmoid", "Transpose", "Transpose", "Conv")


def chain(count: int) -> onnx.ModelProto:
    """A chain of `count` nodes, half of which can go."""
    constants = [
        numpy_helper.from_array(np.float32([2.0]), "two"),
        numpy_helper.from_array(np.float32(0.0), "zero"),
        numpy_helper.from_array(np.ones((3, 3, 1, 1), np.float32), "w"),
    ]
    extra = {"Add": "zero", "Mul": "two", "Conv": "w"}
    nodes, value = [], "x"
    for k in range(count):
        op = BLOCK[k % len(BLOCK)]
        perm = {"perm": [0, 2, 3, 1] if k % len(BLOCK) == 5 else [0, 3, 1, 2]} if op == "Transpose" else {}
        inputs = [value, extra[op]] if op in extra else [value]
        value = f"v{k}"
        nodes.append(helper.make_node(op, inputs, [value], f"n{k}", **perm))
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 8, 8]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "chain", [info[0]], [info[1]], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def main() -> None:
    sizes = [int(a) for a in sys.argv[1:]] or [6_400, 12_800, 25_600, 51_200, 102_400]
    seconds = []
    for size in sizes:
        model = load(chain(size))
        began, started = time.process_time(), time.perf_counter()
        report = optimize(model, verify=False).report
        seconds.append(time.process_time() - began)
        wall = time.perf_counter() - started
        print(
            f"{size:8d} nodes  {report.after.nodes:7d} left  {seconds[-1]:6.2f} s ({wall:.2f} s)  {1e6 * seconds[-1] / size:6.1f} µs a node"
        )
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    print(f"time grows with the {slope:.2f}th power of the nodes")


if __name__ == "__main__":
    main()
