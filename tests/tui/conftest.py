"""Driving the terminal UI by keys, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tui.app import WorkbenchApp
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


@pytest.fixture
def ui() -> UI:
    """Keys in, screen out."""
    return UI()
