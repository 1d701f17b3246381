"""A person's session in tmux, by script: its recipe, replayed headless, gives the same file; and what a terminal must survive."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.samples import sample

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")]


def test_slowest_node_passes_undo_int8_compare_save_quit_and_the_recipe_gives_the_same_file(tmp_path: Path) -> None:
    line = [sys.executable, str(ROOT / "docs" / "session.py"), "--out", str(tmp_path)]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gives the same" in done.stdout
    frames = [json.loads(text) for text in (tmp_path / "session.cast").read_text().splitlines()]
    assert frames[0]["version"] == 2
    assert [f[2] for f in frames[1:] if f[1] == "m"][-1] == "enter: model and recipe"
    assert (tmp_path / "session.svg").read_text().count("<svg id=") == len([f for f in frames[1:] if f[1] == "m"])


class Tmux:
    """A server of its own with one window that shows the app."""

    def __init__(self, folder: Path, *, size: str = "80x24", **environment: str) -> None:
        self.name = f"owb-test-{os.getpid()}"
        width, _, height = size.partition("x")
        given = " ".join(f"{k}={v}" for k, v in environment.items())
        shutil.copy(sample("digits_cnn.onnx"), folder / "m.onnx")
        command = f"env XDG_STATE_HOME={folder} PYTHONPATH={ROOT} {given} {sys.executable} -m workbench.cli tui m.onnx; echo exit $?; sleep 60"
        self.run(
            "-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", width, "-y", height, "-c", str(folder), command
        )

    def run(self, *words: str) -> str:
        """One tmux command."""
        # What readline sets for this process is not in os.environ, but a child would inherit it, and take it for its window's size.
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        command = ["tmux", "-L", self.name, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    def keys(self, *keys: str) -> None:
        """Send keys."""
        self.run("send-keys", "-t", "s", *keys)

    def until(self, text: str, seconds: float = 30.0) -> str:
        """The screen once a text stands on it."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            screen = self.run("capture-pane", "-p", "-t", "s")
            if text in screen:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{text!r} did not come:\n{screen}")


@pytest.fixture
def server() -> Iterator[None]:
    """Ends the window, whatever happened in it."""
    yield
    subprocess.run(["tmux", "-L", f"owb-test-{os.getpid()}", "kill-server"], check=False, capture_output=True)


@pytest.mark.parametrize(
    ("size", "environment"),
    [
        ("60x15", {}),
        ("80x24", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ("80x24", {"NO_COLOR": "1"}),
        ("100x30", {"TERM": "xterm"}),
    ],
    ids=["60x15", "LC_ALL=C", "NO_COLOR", "TERM=xterm"],
)
def test_any_terminal_shows_the_slowest_node_and_quits_clean(
    tmp_path: Path, server: None, size: str, environment: dict[str, str]
) -> None:
    tmux = Tmux(tmp_path, size=size, **environment)
    tmux.until("Opened in")
    tmux.keys("6")
    tmux.until("no profile")
    tmux.keys("r")
    tmux.until("sum ")
    tmux.keys("Enter")
    screen = tmux.until("/convs.1/Conv" if size != "60x15" else "Conv")
    if "LC_ALL" in environment:
        assert screen.isascii()
    tmux.keys("q")
    tmux.until("exit 0")


def test_resizing_and_leaving_while_it_works_is_clean(tmp_path: Path, server: None) -> None:
    tmux = Tmux(tmp_path, size="140x40")
    tmux.until("Opened in")
    tmux.keys("5", "r", "Enter")
    for width, height in ((60, 15), (200, 60), (40, 10), (100, 30)):
        tmux.run("resize-window", "-t", "s", "-x", str(width), "-y", str(height))
        time.sleep(0.2)
    tmux.keys("C-c")
    tmux.keys("6", "r", "q")
    tmux.until("exit 0")
