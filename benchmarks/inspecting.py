"""How long it takes, and how much memory, to be told what a model is: `owb inspect` beside other tools, whole processes, in turn.

    python benchmarks/inspecting.py MODEL.onnx [--nodes 10000] [--rounds 5] [--peers FOLDER] [--owb FILE]

FOLDER is the bin folder of an environment with polygraphy, onnx-tool, onnx-card and onnxslim; what is not there is left out.
Seconds are the minimum of the rounds, of the processor and of the clock; memory is the highest resident size of the process and its children.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PEERS = {
    "polygraphy": ("polygraphy", "inspect", "model", "{model}"),
    "onnx-tool": ("python", "-m", "onnx_tool", "-i", "{model}"),
    "onnx-card": ("onnx-card", "{model}"),
    "onnxslim": ("onnxslim", "--inspect", "{model}"),
}


def once(command: Sequence[str]) -> tuple[float, float, float, bool]:
    """Seconds of the processor and of the clock, peak MB, and whether it ended well."""
    began = time.perf_counter()
    null = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(
        command[0],
        list(command),
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)],
    )
    _, status, usage = os.wait4(pid, 0)
    os.close(null)
    wall = time.perf_counter() - began
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, status == 0


def measure(commands: Mapping[str, Sequence[str]], rounds: int) -> None:
    """Run all in turn, `rounds` times, and print the table."""
    rows: dict[str, list[tuple[float, float, float, bool]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            rows[name].append(once(command))
    ours = min(r[0] for r in rows["owb"])
    print(f"{'tool':12} {'cpu s':>8} {'of ours':>8} {'wall s':>8} {'MB':>7}")
    for name, runs in rows.items():
        seconds, wall = (min(r[k] for r in runs) for k in (0, 1))
        note = "" if all(r[3] for r in runs) else "  failed"
        print(f"{name:12} {seconds:8.2f} {seconds / ours:8.1f} {wall:8.2f} {max(r[2] for r in runs):7.0f}{note}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="*")
    options.add_argument("--nodes", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--peers", type=Path)
    options.add_argument("--owb", default=str(Path(sys.executable).parent / "owb"))
    chosen = options.parse_args()
    tools = {"owb": (chosen.owb, "inspect", "{model}")}
    for name, (program, *rest) in PEERS.items():
        found = shutil.which(program, path=chosen.peers) if chosen.peers else None
        if found:
            tools[name] = (found, *rest)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"chain_{chosen.nodes}.onnx"
        make = f"import onnx; from benchmarks.rewrites import chain; onnx.save(chain({chosen.nodes}), {str(made)!r})"
        # in a process of its own: a child's peak counts what its parent held
        subprocess.run([sys.executable, "-c", make], check=True, cwd=Path(__file__).parents[1])
        for model in (*map(Path, chosen.model), made):
            print(f"\n{model.name}, {model.stat().st_size / 1e6:.1f} MB")
            measure({name: [part.format(model=model) for part in tool] for name, tool in tools.items()}, chosen.rounds)


if __name__ == "__main__":
    main()
