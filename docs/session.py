"""A person's session in a real terminal, recorded: slowest node, why, passes, undo, quantize, compare, save, quit; then the recipe replayed.

    python docs/session.py [--model PATH] [--out docs/screens]

Without --model a shipped sample is used; the recording in the README is of the public OCR detector (`python benchmarks/models.py` fetches it).
Needs tmux. Writes `session.cast` (asciicast, for asciinema) and `session.svg` (the same as a picture that moves, for the README), and ends
with an error unless the recipe that was saved, replayed headless, gives the byte-same model.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from workbench.samples import sample

HERE = Path(__file__).resolve().parent
SIZE = (120, 34)
STILL_S, LONGEST_S = 0.7, 120.0
STEPS: tuple[tuple[str, str, str], ...] = (
    ("", "Opened in", "owb MODEL"),
    ("6", "No profile", "6: where does the time go?"),
    ("r", "sum ", "r: run it"),
    ("Enter", "rank 1 of", "enter: the slowest node in the graph"),
    ("d", "could be", "d: why it is not fused"),
    ("Escape", "rank 1 of", "esc"),
    ("4", " rules · ", "4: what may be done"),
    ("A", "enter applies", "A: everything that is ready"),
    ("Enter", "verified", "enter: applied and verified"),
    ("z", "undone: step 1", "z: undo"),
    ("Z", "done again: step 1", "Z: and again"),
    ("5", "Not ranked", "5: fewer bits"),
    ("r", "ranks every node", "r: how"),
    ("Enter", "measured ✓", "enter: every node alone, worst first"),
    ("=", "kept float for", "=: just enough float for the target"),
    ("a", "nodes in 8 bits", "a: apply the plan"),
    ("Enter", "z undoes", "enter"),
    ("7", "Compare", "7: is it still right?"),
    ("r", "the outputs", "r: every value of A and B"),
    ("w", "never written over", "w: keep it"),
    ("Enter", "saved", "enter: model and recipe"),
    ("q", "exit 0", "q: done"),
)


@dataclass(frozen=True)
class Frame:
    """The screen after a key, with its colours as escape codes."""

    at: float
    keys: str
    screen: str


class Terminal:
    """A tmux server of its own, with one window."""

    def __init__(self, folder: Path, command: str) -> None:
        self.name = f"owb-{os.getpid()}"
        environment = {
            **os.environ,
            "XDG_STATE_HOME": str(folder / "state"),
            "PYTHONPATH": str(HERE.parent),
            "COLORTERM": "truecolor",
        }
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "s",
            "-x",
            str(SIZE[0]),
            "-y",
            str(SIZE[1]),
            "-c",
            str(folder),
            f"{command}; echo exit $?; sleep 60",
            env=environment,
        )

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        return subprocess.run(
            ["tmux", "-L", self.name, *words], check=True, capture_output=True, text=True, env=env
        ).stdout

    def press(self, key: str) -> None:
        """Send one key."""
        self._tmux("send-keys", "-t", "s", key)

    def screen(self, *, colours: bool = False) -> str:
        """What stands there."""
        return self._tmux("capture-pane", "-p", "-t", "s", *(["-e"] if colours else []))

    def wait_for(self, text: str) -> str:
        """Until a text stands there and nothing has moved for a while; what stands there then."""
        ends, before, still = time.monotonic() + LONGEST_S, "", time.monotonic()
        while time.monotonic() < ends:
            now = self.screen()
            if now != before:
                before, still = now, time.monotonic()
            if text in now and "ctrl+c stops" not in now and time.monotonic() - still > STILL_S:
                return self.screen(colours=True)
            time.sleep(0.1)
        raise SystemExit(f"{text!r} did not come within {LONGEST_S:.0f} s:\n{before}")

    def close(self) -> None:
        """End the server."""
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False, capture_output=True)


def record(folder: Path, model: Path) -> list[Frame]:
    """Press the keys and keep a frame of each."""
    terminal = Terminal(folder, f"{sys.executable} -m workbench.cli tui {model.name}")
    frames, started = [], time.monotonic()
    try:
        for key, text, said in STEPS:
            if key:
                terminal.press(key)
            screen = terminal.wait_for(text).replace(
                str(folder), "~/models"
            )  # a folder that will be gone is of no use to a reader
            frames.append(Frame(time.monotonic() - started, said, screen))
            print(f"{frames[-1].at:6.1f} s  {said}", flush=True)
    finally:
        terminal.close()
    return frames[:-1]


def replayed(folder: Path, model: Path) -> None:
    """The recipe, run headless, must give the byte-same model."""
    saved = next(folder.glob(f"{model.stem}_step*.onnx"))
    again = folder / "again.onnx"
    line = [
        sys.executable,
        "-m",
        "workbench.cli",
        "recipe",
        "run",
        str(saved.with_suffix(".toml")),
        str(model),
        "-o",
        str(again),
    ]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(HERE.parent)})
    if again.read_bytes() != saved.read_bytes():
        raise SystemExit("the recipe, replayed, gives another model")
    print(f"the recipe, replayed, gives the same {saved.stat().st_size:,} bytes")


def cast(frames: list[Frame]) -> str:
    """Asciicast, version 2: every frame drawn whole, a wait between them long enough to read."""
    head = {"version": 2, "width": SIZE[0], "height": SIZE[1], "title": "owb", "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(head)]
    for k, frame in enumerate(frames):
        body = "\x1b[H\x1b[2J" + frame.screen.rstrip("\n").replace("\n", "\r\n")
        lines.append(json.dumps([round(2.5 * k, 2), "o", body]))
        lines.append(json.dumps([round(2.5 * k, 2), "m", frame.keys]))
    return "\n".join(lines) + "\n"


def moving(frames: list[Frame], seconds: float = 2.5) -> str:
    """One picture, its frames one after the other; readers who want no motion see the first."""
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    theme = TerminalTheme((18, 22, 28), (215, 221, 229), [(18, 22, 28)] * 8, [(215, 221, 229)] * 8)
    total, out, view = seconds * len(frames), [], ""
    for k, frame in enumerate(frames):
        console = Console(
            width=SIZE[0],
            height=SIZE[1],
            record=True,
            file=io.StringIO(),
            color_system="truecolor",
            force_terminal=True,
        )
        console.print(Text.from_ansi(frame.screen.rstrip("\n")), soft_wrap=True)
        svg = console.export_svg(title=frame.keys, theme=theme, unique_id=f"f{k}")
        svg = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
        view = view or re.search(r'viewBox="([^"]+)"', svg)[1]  # type: ignore[index]
        out.append(svg.replace("<svg ", f'<svg id="s{k}" ', 1))
    share = 100 / len(frames)
    rules = [
        f"@keyframes turn {{ 0% {{ visibility: visible; }} {share:.3f}% {{ visibility: hidden; }} 100% {{ visibility: hidden; }} }}"
    ]
    rules += [
        f"#s{k} {{ visibility: hidden; animation: turn {total:.1f}s step-end infinite; animation-delay: {k * seconds:.1f}s; }}"
        for k in range(len(frames))
    ]
    rules.append(
        "@media (prefers-reduced-motion: reduce) { svg svg { animation: none !important; } #s0 { visibility: visible; } }"
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}"><style>{" ".join(rules)}</style>{"".join(out)}</svg>\n'


def main() -> None:
    """Parse the command line, record, replay, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--model", type=Path, default=sample("digits_cnn.onnx"))
    parser.add_argument("--out", type=Path, default=HERE / "screens")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = Path(shutil.copy(options.model, folder))
        frames = record(folder, model)
        replayed(folder, model)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "session.cast").write_text(cast(frames), encoding="utf-8")
    (options.out / "session.svg").write_text(moving(frames), encoding="utf-8")


if __name__ == "__main__":
    main()
