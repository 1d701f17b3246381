"""How quick the terminal UI is on large graphs: first paint of a cold process, and the work behind a key.

    python -m benchmarks.tui [--nodes 10000] [--times 5]

The first paint is timed on a pseudo-terminal, from the start of the process until inputs and operators are on the screen. Keys are
timed in a process of their own without a terminal: from the call that handles the key to the composed screen, the median of many.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pty
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from typing import Any

SIZE = (140, 40)
LIMITS_MS = {
    10_000: {"first paint": 600, "filter": 50, "list": 10, "dag": 16},
    100_000: {"first paint": 3000, "filter": 120},
}
LIMIT_MB = 400


def synthetic(nodes: int, folder: Path) -> Path:
    """A model of blocks with a skip each, five nodes a block, scopes two deep."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    path = folder / f"blocks_{nodes}.onnx"
    made: list[Any] = []
    last = "x"
    for block in range(nodes // 5):
        scope = f"/model/layers.{block // 8}/block.{block}"
        v = [f"v{block}_{k}" for k in range(5)]
        made += [
            helper.make_node("Conv", [last, "w"], [v[0]], name=f"{scope}/conv/Conv"),
            helper.make_node("Sigmoid", [v[0]], [v[1]], name=f"{scope}/act/Sigmoid"),
            helper.make_node("Mul", [v[0], v[1]], [v[2]], name=f"{scope}/act/Mul"),
            helper.make_node("Relu", [v[2]], [v[3]], name=f"{scope}/mlp/Relu"),
            helper.make_node("Add", [v[3], last], [v[4]], name=f"{scope}/Add"),
        ]
        last = v[4]
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 16, 8, 8]) for n in ("x", last)]
    weight = onnx.numpy_helper.from_array(np.full((16, 16, 1, 1), 0.01, np.float32), "w")
    graph = helper.make_graph(made, "blocks", value[:1], value[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def first_paint(path: Path) -> float:
    """Seconds from the start of a process to a screen that shows inputs and operators."""
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "XDG_STATE_HOME": str(path.parent)}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli", "tui", str(path)],
        stdin=child, stdout=child, stderr=child, env=environment, close_fds=True,
    )  # fmt: skip
    os.close(child)
    seen = b""
    try:
        while b"Sigmoid" not in seen:
            seen += os.read(parent, 1 << 16)
        return time.perf_counter() - started
    finally:
        process.kill()
        process.wait()
        os.close(parent)


def _painted(app: Any) -> None:
    """Lay out and compose the whole screen, as the driver would be given it."""
    app.screen._refresh_layout()
    app.screen._compositor.render_strips(app.size)


def _timed(app: Any, acts: list[Callable[[], Any]]) -> float:
    spent = []
    for act in acts:
        started = time.perf_counter()
        act()
        _painted(app)
        spent.append(time.perf_counter() - started)
    return 1e3 * statistics.median(spent)


async def _keys(path: Path) -> dict[str, float]:
    from tui.app import WorkbenchApp
    from tui.widgets.dag import DagView

    app = WorkbenchApp(path)
    started = time.perf_counter()
    async with app.run_test(size=SIZE) as pilot:
        while app.bench is None:
            await pilot.pause(0.01)
        found = {"open s": time.perf_counter() - started}
        await pilot.press("2")
        while app.bridge.jobs:
            await pilot.pause(0.05)
        found["settled s"] = time.perf_counter() - started
        graph: Any = app.view("graph")
        query = "layers.12/block"
        found["filter ms"] = _timed(app, [lambda k=k: graph.on_filter(query[:k]) for k in range(1, len(query))])
        found["filter op: ms"] = _timed(app, [lambda k=k: graph.on_filter("op:Sigmoid"[:k]) for k in range(4, 11)])
        graph.on_filter("")
        found["list ms"] = _timed(app, [graph.do_move_down] * 30 + [graph.do_move_page_down] * 30)
        graph.on_filter("" if app.bench.info("A").nodes > 20_000 else "-op:Relu")
        await pilot.press("t")
        while app.bridge.jobs:
            await pilot.pause(0.05)
        dag = app.query_one(DagView)
        boxes = len(dag.drawing.places) if dag.drawing is not None else 1
        found["dag boxes"] = boxes
        found["dag ms"] = _timed(app, [lambda k=k: dag.put(k * 7919 % boxes) for k in range(40)])
    found["memory MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def main() -> None:
    """Parse the command line; print one line a number."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--nodes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--keys", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keys is not None:
        print(json.dumps(asyncio.run(_keys(options.keys))))
        return
    with tempfile.TemporaryDirectory() as folder:
        for nodes in options.nodes:
            path = synthetic(nodes, Path(folder))
            paints = [first_paint(path) for _ in range(options.times)]
            print(
                f"{nodes:>9,} nodes  first paint  median {statistics.median(paints):.2f} s, best {min(paints):.2f} s",
                flush=True,
            )
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.tui", "--keys", str(path)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            for name, value in json.loads(done.stdout).items():
                print(f"{'':16s} {name:14s} {value:8.1f}", flush=True)


if __name__ == "__main__":
    main()
