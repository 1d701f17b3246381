"""Driving the terminal UI by keys, without a terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from exec.errors import BenchError, Cancelled
from tui.app import WorkbenchApp
from workbench import jobs
from workbench.samples import sample

Script = Callable[[Pilot[None], WorkbenchApp], Awaitable[None]]


class UI:
    """`drive` runs a script of keys on a model; `settled` waits for background work; `text` is the screen."""

    CNN = sample("digits_cnn.onnx")

    def drive(
        self, script: Script, path: Path = CNN, size: tuple[int, int] = (140, 40), data: str | None = None
    ) -> None:
        """Open a model and let `script` press keys."""

        async def run() -> None:
            app = WorkbenchApp(path, data=data)
            async with app.run_test(size=size, notifications=True) as pilot:
                await self.settled(pilot, app)
                await script(pilot, app)

        asyncio.run(run())

    async def settled(self, pilot: Pilot[None], app: WorkbenchApp, seconds: float = 40.0) -> None:
        """Wait until no job runs and the screen is drawn."""
        idle = 0
        for _ in range(int(seconds / 0.02)):
            await pilot.pause(0.02)
            await pilot.pause()
            idle = idle + 1 if app.bench is not None and not app.bridge.jobs else 0
            if idle == 2:  # what one message starts may be another message
                break

    async def press(self, pilot: Pilot[None], app: WorkbenchApp, *keys: str) -> str:
        """Press keys one by one, letting each one's work end; the screen afterwards."""
        for key in keys:
            await pilot.press(key)
            await self.settled(pilot, app)
        return self.text(app)

    def text(self, app: WorkbenchApp) -> str:
        """The whole screen as plain text."""
        width, height = app.size
        strips = app.screen._compositor.render_strips(app.size)  # the composed screen, cell by cell
        return "\n".join("".join(segment.text for segment in strip)[:width] for strip in strips[:height])


class Steady:
    """Does the long work here and now, and replaces what a clock or a CPU made by numbers that are always the same.

    held   a job of this name reports that it is half done and stays there until it is stopped
    fails  a job of this name ends with an error
    """

    def __init__(self, app: WorkbenchApp, held: str = "", fails: str = "") -> None:
        self.bench, self.held, self.fails = app.bench, held, fails

    def __call__(
        self, job: str, states: Sequence[Any], options: dict[str, Any], progress: Any = None, cancel: Any = None
    ) -> Any:
        """What a `Runner` does."""
        if job == self.held:
            while not cancel():
                progress(6, 12, "run 7")
                time.sleep(0.02)
            raise Cancelled("stopped")
        if job == self.fails:
            raise BenchError("no kernel for my.domain::RoiPool", "node /head/RoiPool", "no op of domain 'my.domain' is known", "--engine onnxruntime may have it")  # fmt: skip
        assert self.bench is not None
        result = jobs.run(job, [self.bench.model_of(s.number) for s in states], options, progress, cancel)
        return getattr(self, "_" + job, lambda found: found)(result)

    def _profile(self, found: Any) -> Any:
        times = [1000 * (1 + 7 * k % 29) for k in range(len(found.nodes))]
        nodes = tuple(
            replace(n, median_ns=t, p95_ns=t + 500, share=t / sum(times), kernel="numpy", live_bytes=1000 * (1 + 5 * k % 13), roofline="memory")
            for k, (n, t) in enumerate(zip(found.nodes, times, strict=True))
        )  # fmt: skip
        machine = replace(found.machine, gemm_flops_per_s=100e9, copy_bytes_per_s=10e9)
        noise = replace(found.noise, gemm_min_ns=100, gemm_median_ns=101, cpu_share=1.0, quiet=True, reason="")
        return replace(found, nodes=nodes, sum_ns=sum(times), wall_ns=sum(times) + 9000, overhead_ns=9000, peak_bytes=13000, weight_bytes=99000, kernels="numpy", machine=machine, noise=noise, notes=())  # fmt: skip

    def _compare(self, found: Any) -> Any:
        values = tuple(
            replace(v, sqnr_db=120.0 - k, cosine=1.0, max_abs=1e-6 * (k + 1), lost_db=1.0)
            for k, v in enumerate(found.values)
        )
        outputs = tuple(replace(o, sqnr_db=100.0, cosine=1.0, max_abs=2e-6) for o in found.outputs)
        return replace(found, values=values, outputs=outputs)

    def _sensitivity(self, found: Any) -> Any:
        nodes = tuple(replace(n, sqnr_db=30.0 + 5 * k) for k, n in enumerate(found.nodes))
        return replace(found, nodes=nodes, all_db=28.0, seconds=1.0)

    def _quantize(self, found: Any) -> Any:
        outputs = tuple(replace(o, sqnr_db=28.5, cosine=0.9991, agreement=1.0) for o in found.report.outputs)
        timing = found.report.timing and replace(found.report.timing, of_original=0.8, of_optimized=0.85, float_ms=2.0)
        findings = tuple(
            f for f in found.report.findings if f.code != "Q052"
        )  # whether time is saved is the machine's word
        return replace(found, report=replace(found.report, outputs=outputs, timing=timing, findings=findings))


@pytest.fixture
def steady() -> type[Steady]:
    """Long work without a clock."""
    return Steady


@pytest.fixture
def ui() -> UI:
    """Keys in, screen out."""
    return UI()
