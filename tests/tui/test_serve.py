"""`owb serve`: who is answered, and what the process behind a page may touch."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.samples import sample

aiohttp = pytest.importorskip("aiohttp", reason="owb serve needs the extra [web]")
pytest.importorskip("textual_serve", reason="owb serve needs the extra [web]")

Talk = Callable[[Any, str, str], Awaitable[None]]
"""(session, address without a path, token)"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that `owb serve` prints."""
    model = tmp_path_factory.mktemp("models") / "m.onnx"
    shutil.copy(sample("digits_cnn.onnx"), model)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "workbench.cli", "serve", str(model), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in said


def talk(address: str, script: Talk) -> None:
    """Run a script of requests; the server may need a moment to listen."""
    base, _, token = address.partition("/?token=")

    async def run() -> None:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            for _ in range(100):
                try:
                    async with session.get(base):
                        break
                except aiohttp.ClientConnectorError:
                    await asyncio.sleep(0.1)
            await script(session, base, token)

    asyncio.run(run())


def test_a_page_needs_the_token_the_host_and_the_origin(served: str) -> None:
    async def script(session: Any, base: str, token: str) -> None:
        async def status(path: str, **headers: str) -> int:
            async with session.get(base + path, headers=headers, allow_redirects=False) as response:
                return int(response.status)

        assert await status("/") == 403
        assert await status("/static/css/xterm.css") == 403
        assert await status("/?token=guess") == 403
        right = f"/?token={token}"
        assert await status(right, Host="rebound.example:80") == 403
        assert await status(right, Origin="http://elsewhere.example") == 403
        assert await status("/", Cookie=f"owb_{base.rpartition(':')[2]}=\udcff") == 403
        assert await status(right) == 303
        assert await status("/") == 200
        assert await status("/", Origin="null") == 403

    talk(served, script)


def test_a_websocket_without_token_or_from_elsewhere_is_refused(served: str) -> None:
    async def script(session: Any, base: str, token: str) -> None:
        async def status(**headers: str) -> int:
            try:
                async with session.ws_connect(f"{base}/ws", headers=headers):
                    return 101
            except aiohttp.WSServerHandshakeError as error:
                return int(error.status)

        assert await status(Origin=base) == 403
        async with session.get(f"{base}/?token={token}"):
            pass
        assert await status() == 403
        assert await status(Origin="http://elsewhere.example") == 403
        assert await status(Origin=base, Host="rebound.example:80") == 403
        assert await status(Origin=base) == 101

    talk(served, script)


def test_the_page_is_the_workbench_and_starts_no_program(served: str) -> None:
    async def script(session: Any, base: str, token: str) -> None:
        async with session.get(f"{base}/?token={token}"):
            pass
        async with session.ws_connect(f"{base}/ws?width=120&height=36", headers={"Origin": base}) as page:
            seen = b""

            async def until(words: bytes) -> None:
                nonlocal seen
                async with asyncio.timeout(40):
                    while words not in seen:
                        message = await page.receive()
                        seen += message.data if isinstance(message.data, bytes) else str(message.data).encode()

            await until(b"OWB090")
            seen = b""
            await page.send_json(["stdin", ":"])
            await asyncio.sleep(0.5)
            await page.send_json(["stdin", "inspect /etc/passwd\r"])
            await until(b"not allowed")
            assert b"root:" not in seen

    talk(served, script)


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "workbench.cli", "serve", str(sample("digits_cnn.onnx")), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"port {port} cannot be had" in done.stderr


ATTEMPTS = {
    "read beside": ("open(folder / 'm.onnx', 'rb').read()", True),
    "read above": ("open(folder / '../secret.txt').read()", False),
    "read by a link": ("open(folder / 'link.txt').read()", False),
    "list above": ("os.listdir(folder / '..')", False),
    "load above": ("numpy.load(folder / '../secret.npy')", False),
    "write beside": ("open(folder / 'new.onnx', 'wb')", False),
    "write by os": ("os.open(folder / 'new.onnx', os.O_WRONLY | os.O_CREAT)", False),
    "remove": ("os.remove(folder / 'm.onnx')", False),
    "rename": ("os.rename(folder / 'm.onnx', folder / 'n.onnx')", False),
    "start": ("subprocess.run(['true'])", False),
    "system": ("os.system('true')", False),
    "connect": ("socket.create_connection(('127.0.0.1', 9))", False),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_confined_process(name: str, tmp_path: Path) -> None:
    statement, allowed = ATTEMPTS[name]
    said = _confined(tmp_path, statement, write=False)
    assert said == ("done" if allowed else "refused")


def test_write_means_the_folder_and_nothing_else(tmp_path: Path) -> None:
    assert _confined(tmp_path, ATTEMPTS["write beside"][0] + ".close()", write=True) == "done"
    assert _confined(tmp_path, "open(folder / '../new.txt', 'w')", write=True) == "refused"


def _confined(home: Path, statement: str, *, write: bool) -> str:
    folder = home / "models"
    folder.mkdir(exist_ok=True)
    (folder / "m.onnx").write_bytes(b"model")
    (home / "secret.txt").write_text("secret", encoding="utf-8")
    if not (folder / "link.txt").is_symlink():
        (folder / "link.txt").symlink_to(home / "secret.txt")
    script = f"""
import os, pathlib, socket, subprocess, numpy
from tui.confined import Confines, confine
folder = pathlib.Path({str(folder)!r})
confine(Confines(folder, write={write}))
try:
    {statement}
    print("done")
except PermissionError:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    return done.stdout.strip() or done.stderr[-800:]
