"""A command line typed after `:`: an `owb` command run beside the screen, its output on a page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui import files
from tui.dialogs.page import PageDialog
from workbench.cli.group import COMMANDS
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.app import WorkbenchApp

NAMES = tuple(name for names in COMMANDS.values() for name in names)


def is_command(text: str) -> bool:
    """Whether a line starts with one of `owb`'s commands."""
    return text.strip().removeprefix("owb ").split(" ")[0] in NAMES


def run(app: WorkbenchApp, text: str) -> None:
    """Run it; the words A and B stand for the models in the slots."""
    bench = app.bench
    assert bench is not None
    try:
        words = shlex.split(text.strip().removeprefix("owb "))
    except ValueError as error:
        app.say(f"{text}: {error}", "warn")
        return
    if words[0] == "recipe" and len(words) == 2 and "." in words[1]:  # `recipe run` and `recipe show` are commands
        files.run_recipe(app, Path(words[1]))
        return

    def work(progress: Any, cancel: Callable[[], bool]) -> tuple[int, str]:
        with tempfile.TemporaryDirectory(prefix="owb-") as folder:
            paths = {"A": str(bench.path)} if not bench.a else {}
            for slot in {"A", "B"}.intersection(words) - set(paths):
                paths[slot] = str(Path(folder) / f"{slot}.onnx")
                bench.model(slot).save(paths[slot])
            line = [sys.executable, "-m", "workbench.cli", *(paths.get(w, w) for w in words)]
            environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "96"}
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)  # fmt: skip
            while True:
                try:
                    said, _ = process.communicate(timeout=0.2)
                    return process.returncode, said
                except subprocess.TimeoutExpired:
                    if cancel():
                        process.kill()

    def done(result: tuple[int, str]) -> None:
        code, said = result
        app.say(f"owb {words[0]}: exit code {code}", "fg" if code == 0 else "warn")
        app.push_screen(PageDialog(f"owb {display_name(shlex.join(words), 80)}", [("", said)]))

    app.bridge.run("command", f"owb {words[0]}", work, done)
