"""Names come from untrusted files: they change no style, no row height, no title, and reach no terminal raw."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

from tui.app import WorkbenchApp
from tui.views import registry

NAMES = [
    "x[/]y", "x[/bold]y", "[red]x[/red]", "[@click=app.bell]n[/]", "[$primary]x[/]", "[link=file:///etc/passwd]n[/link]", "layers[0]", "a[b", "tail\\",
    "\x1b]0;pwn\x07", "\x1b[2J", "\x9b31m", "nul\x00", "\u202ertl", "new\nline", "tab\there", "cr\rx", "e" * 5000, "宽" * 9, "é\u0301\u0301\u0301\u0301", "{}%s",
    "👩\u200d👧", "\u200bzero\u2066iso\u2069", "../../../pwn", "$(id)`id`;rm", "\nINFO forged\r", "[bold red]P[/] [/nope]",
]  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A chain of one node a name, with values of the same names."""
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }')  # fmt: skip
    first = model.graph.node[0]
    del model.graph.node[:]
    last = "x"
    for k, name in enumerate(NAMES):
        node = model.graph.node.add()
        node.CopyFrom(first)
        node.name, node.input[0] = name, last
        last = node.output[0] = f"{name}{k}"
    model.graph.output[0].name = last
    model.graph.name = model.producer_name = model.doc_string = "\x1b]0;pwn\x07[/]\u202e"
    model.metadata_props.add(key="k\x1b[2J", value="v[/]")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "d\x1b[2J[/]"
    model.graph.initializer[0].name = node.input[1] = "w\x1b]0;pwn\x07[/]"
    for node in model.graph.node:
        node.input[1] = model.graph.initializer[0].name
    path = tmp_path / "hostile.onnx"
    onnx.save(model, path)
    return path


def harmless(text: str, height: int) -> None:
    """No control, bidi or escape character; every row in its place."""
    assert not {c for c in text if c < " " and c != "\n"} | ({"\x7f", "\u202e", "\x9b"} & set(text))
    assert len(text.splitlines()) == height


def test_no_name_gets_through_any_screen_dialog_toast_or_clipboard(ui: Any, hostile: Path) -> None:
    async def script(pilot: Any, app: Any) -> None:
        for name in registry.names():
            app.go(name)
            await ui.settled(pilot, app)
            for _ in range(len(NAMES) if name == "graph" else 3):
                app.act("move.down")
                app.act("copy.name")
                await pilot.pause()
                harmless(ui.text(app), 40)
            for action in ("explain.open", "run.options", "slot.choose", "file.open", "help.open"):
                app.act(action)
                await pilot.pause()
                harmless(ui.text(app), 40)
                while len(app.screen_stack) > 1:
                    await pilot.press("escape")
        for name in NAMES:
            app.say(name)
            await pilot.pause()
            harmless(ui.text(app), 40)
        app.notify("x[/]y", markup=False)
        await pilot.pause()
        assert "x[/]y" in ui.text(app)

    ui.drive(script, hostile)


def test_an_error_that_quotes_a_name_is_harmless(ui: Any, hostile: Path) -> None:
    from exec.errors import BenchError

    async def script(pilot: Any, app: Any) -> None:
        for name in NAMES:
            app.fail(BenchError(f"no kernel for {name}", f"node {name}", f"because {name}", f"rename {name}"))
            await pilot.pause()
            harmless(ui.text(app), 40)
            assert "no kernel for" in ui.text(app)
            await pilot.press("escape")

    ui.drive(script, hostile)


def test_a_weight_whose_name_is_a_path_is_written_beside_the_model(ui: Any, tmp_path: Path) -> None:
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }')  # fmt: skip
    model.graph.initializer[0].name = model.graph.node[0].input[1] = "../../../pwn"
    (tmp_path / "inside").mkdir()
    path = tmp_path / "inside" / "m.onnx"
    onnx.save(model, path)

    async def script(pilot: Any, app: Any) -> None:
        assert "wrote" in await ui.press(pilot, app, "3", "x", "enter")

    ui.drive(script, path)
    assert [p.suffix for p in (tmp_path / "inside").iterdir() if p != path] == [".npy"]
    assert [p.name for p in tmp_path.iterdir()] == ["inside"]


def test_rails_weights_and_both_models_hold_hostile_names(ui: Any, hostile: Path) -> None:
    async def script(pilot: Any, app: Any) -> None:
        harmless(await ui.press(pilot, app, "2", "t", "t", "j"), 24)
        harmless(await ui.press(pilot, app, "4", "A", "enter"), 24)
        if app.bench.b:
            for key in ("b", "1", "2", "3", "8", "9"):
                harmless(await ui.press(pilot, app, key), 24)

    ui.drive(script, hostile, size=(80, 24))


def test_the_drawing_holds_hostile_names(ui: Any, hostile: Path) -> None:
    async def script(pilot: Any, app: Any) -> None:
        harmless(await ui.press(pilot, app, "2", "t", "plus", "plus", "e"), 24)

    ui.drive(script, hostile, size=(80, 24))


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_no_raw_escape_of_a_name_reaches_a_terminal(hostile: Path, tmp_path: Path) -> None:
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    process = subprocess.Popen([sys.executable, "-m", "workbench.cli", "tui", str(hostile)], stdin=child, stdout=child, stderr=child, env={**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path)})  # fmt: skip
    os.close(child)
    seen, keys, ends = b"", [b"2", b"j", b"j", b"t", b"3", b"8", b"y", b"q"], time.monotonic() + 25
    try:
        while time.monotonic() < ends:
            ready, _, _ = select.select([parent], [], [], 0.5)
            if ready:
                try:
                    seen += os.read(parent, 1 << 16)
                except OSError:
                    break
            elif keys and b"hostile.onnx" in seen:
                os.write(parent, keys.pop(0))
            elif not keys:
                break
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    assert b"hostile.onnx" in seen
    assert b"]0;pwn" not in seen.replace(b"\\x1b]0;pwn", b"")
    assert b"\x1b[2J" not in seen.split(b"hostile.onnx", 1)[1]


@pytest.mark.slow
def test_fifty_models_opened_and_closed_leave_no_app_behind(ui: Any) -> None:
    import gc

    async def once() -> None:
        app = WorkbenchApp(ui.CNN)
        async with app.run_test(size=(80, 24)) as pilot:
            await ui.settled(pilot, app)

    def alive() -> int:
        gc.collect()
        return sum(isinstance(o, WorkbenchApp) for o in gc.get_objects())

    asyncio.run(once())
    before = alive()
    for _ in range(50):
        asyncio.run(once())
    assert alive() <= before + 2
