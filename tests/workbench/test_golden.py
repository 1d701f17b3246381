"""What commands print, at three widths: a change of the text is seen in review. OWB_WRITE_GOLDEN=1 writes them anew.

Durations come from a clock that is the same every time, the machine's rates from a made-up machine.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from exec.compiled import available
from exec.compiled.toolchain import numba
from exec.compiled.warming import Warmed
from exec.machine import Blas, Machine
from workbench.cli.start import run
from workbench.samples import sample

GOLDEN = Path(__file__).parent / "golden"
CASES = {
    "inspect": ["inspect", "{mobile}"],
    "nodes": ["nodes", "{mobile}", "-q", "op:Conv attr.group>1"],
    "tensors": ["tensors", "{fragile}", "--stats", "--limit", "4"],
    "show": ["show", "{mobile}", "/stem/Conv"],
    "graph": ["graph", "{mobile}", "--around", "/stem/Conv", "--hops", "1"],
    "check": ["check", "{fragile}", "--ignore", "OWB090"],
    "coverage": ["coverage", "{control}"],
    "diff": ["diff", "{mobile}", "{mobile}"],
    "compare": ["compare", "{mobile}", "{mobile}"],
    "bisect": ["bisect", "{cnn}"],
    "list": ["list", "checks"],
    "recipe": ["recipe", "show"],
    "recipe-run": ["recipe", "run", "recipe.toml", "exact.onnx", "-o", "out.onnx"],
    "infer-shapes": ["infer-shapes", "{fragile}"],
    "explain": ["explain", "OWB021"],
    "optimize": ["optimize", "exact.onnx", "-o", "out.onnx"],
    "optimize-why": ["optimize", "exact.onnx", "--dry-run", "--why", "Relu#4"],
    "quantize": ["quantize", "{cnn}", "--no-time", "--samples", "4", "-o", "int8.onnx"],
    "calibrate": ["calibrate", "{cnn}", "--samples", "2", "-o", "ranges.json"],
    "sensitivity": ["sensitivity", "{cnn}", "--samples", "2"],
    "profile": ["profile", "{mobile}", "--runs", "3", "--kernels", "numpy", "--seed", "1"],
    "profile-path": ["profile", "{mobile}", "--runs", "3", "--kernels", "numpy", "--by", "path"],
    "profile-memory": ["profile", "{mobile}", "--runs", "3", "--kernels", "numpy", "--by", "memory"],
    "run": ["run", "{mobile}", "--seed", "1"],
    "verify": ["verify", "exact.onnx", "--data", "recorded.npz"],
    "verify-differs": ["verify", "exact.onnx", "--data", "wrong.npz"],
    "convert": ["convert", "exact.onnx", "--opset", "20", "--batch", "2", "-o", "out.onnx"],
    "edit": ["edit", "extract", "{mobile}", "--outputs", "/stem/Conv_output_0", "-o", "out.onnx"],
    "reduce": ["reduce", "exact.onnx", "other.onnx", "-o", "part.onnx"],
    "batch": ["batch", "exact.onnx", "missing.onnx", "--recipe", "recipe.toml", "--out", "made"],
    "report": ["report", "exact.onnx", "other.onnx", "-o", "page.html"],
    "test-rules": ["test-rules", "rules.py"],
    "warm": ["warm"],
}
WIDTHS = (60, 100, 160)
PREFORMATTED = ("explain", "graph")  # a pattern's text and a drawing keep their columns: a terminal scrolls them

EXACT = """g (float[N,1,4,4] x) => (float[N,16] y) <float[1,1,1,1] half = {0.5}, float four = {4}, float[1] none = {0}>
  { a = Identity (x) b = Conv <kernel_shape = [1, 1]> (a, half) c = Mul (b, four) d = Dropout (c) e = Relu (d) y = Flatten (e) }"""
"""Powers of two only: every machine computes the same bits."""

RECIPE = 'version = 1\n[[step]]\ndo = "optimize"\npasses = ["default"]\n'
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "write-your-own-rule.md"


class SteadyClock:
    """Every reading is 20 to 26 µs after the one before: the same each time."""

    def __init__(self) -> None:
        self.now = self.read = 0

    def nanoseconds(self) -> int:
        self.now += 1000 * (20 + self.read * 3 % 7)
        self.read += 1
        return self.now

    def seconds(self) -> float:
        return self.nanoseconds() / 1e9


REAL = {name: getattr(time, name) for name in ("perf_counter", "perf_counter_ns", "thread_time", "thread_time_ns")}


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock and a machine that do not vary; numba, which reads a clock as it compiles, has taken the real one by then."""
    if available():
        numba()
    clock = SteadyClock()
    fakes = {name: clock.nanoseconds if name.endswith("_ns") else clock.seconds for name in REAL}
    _replace(REAL, fakes)
    blas = Blas("openblas", "0.3", "SkylakeX", 1, "")
    monkeypatch.setattr("exec.timing.machine", lambda threads: Machine("a CPU", threads, 1e11, 1e10, 5e10, blas))
    monkeypatch.setattr("workbench.batch.ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(jobs))
    yield
    _replace(fakes, REAL)


def _replace(old: dict[str, object], new: dict[str, object]) -> None:
    """In `time`, and wherever one of our modules took the name from there."""
    ours = [
        m for name, m in sys.modules.items() if name.partition(".")[0] in ("exec", "passes", "quantize", "workbench")
    ]
    for module in (time, *ours):
        for name, function in old.items():
            if vars(module).get(name) == function:
                setattr(module, name, new[name])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run: the samples, small exact models, recordings and a recipe."""
    for name in ("cnn", "mobile", "fragile", "control"):
        shutil.copy(sample(f"digits_{name}.onnx"), tmp_path)
    head = '<ir_version: 8, opset_import: ["" : 17]> '
    onnx.save(parser.parse_model(head + EXACT), tmp_path / "exact.onnx")
    onnx.save(parser.parse_model(head + EXACT.replace("{4}", "{2}")), tmp_path / "other.onnx")
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    np.savez(tmp_path / "recorded.npz", x=x, y=2 * x.reshape(1, 16))
    np.savez(tmp_path / "wrong.npz", x=x, y=2 * x.reshape(1, 16) + np.float32(0.5))
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    rules = GUIDE.read_text(encoding="utf-8").partition("```python file=my_rules.py\n")[2].partition("```")[0]
    (tmp_path / "rules.py").write_text(rules, encoding="utf-8")
    (tmp_path / "made").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder", "steady")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_the_text_is_as_it_was(
    name: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("verify"):
        pytest.importorskip("onnxruntime")
    if name == "warm":
        monkeypatch.setattr("exec.compiled.available", lambda: True)
        monkeypatch.setattr("exec.compiled.warming.warm", lambda _: Warmed("~/.cache/onnx-workbench", 31, 4, 2.5))
    monkeypatch.setenv("COLUMNS", str(width))
    files = {key: f"digits_{key}.onnx" for key in ("cnn", "mobile", "fragile", "control")}
    run([part.format(**files) for part in CASES[name]])
    printed = capsys.readouterr()
    if name not in PREFORMATTED:
        assert max(map(len, printed.out.splitlines()), default=0) <= width
    text = printed.out + ("--- and on stderr ---\n" + printed.err if printed.err else "")
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    path = GOLDEN / f"{name}-{width}.txt"
    if os.environ.get("OWB_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_text_that_is_kept_has_a_case() -> None:
    assert {p.name for p in GOLDEN.glob("*.txt")} == {f"{name}-{width}.txt" for name in CASES for width in WIDTHS}
