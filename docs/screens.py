"""Take the screenshots of the README and of the acceptance points: drive the real app by keys and export what it draws.

    python docs/screens.py [--model PATH] [--only WORD] [--out docs/screens]

Without --model the samples and the models of `docs/showmodels.py` are shown; the README's detector pictures come from `--model` with a
public OCR detector (`python benchmarks/models.py` fetches it). `docs/screens/README.md` says which picture shows which point.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import showmodels
from simulated import simulated

from tui.app import WorkbenchApp
from workbench.samples import sample

HERE = Path(__file__).resolve().parent
WIDE, NARROW = (140, 40), (80, 24)
APPLY = ("4", "A", "enter")
INT8 = ("5", "r", "enter", "a", "enter")


@dataclass(frozen=True)
class Shot:
    """One picture: keys pressed on a fresh app.

    toasts True keeps what stands in the corner
    wait   False takes the picture before the work that the last key began has ended
    sight  "deutan", "protan" or "grey" for a second picture as such eyes see it
    """

    name: str
    keys: tuple[str, ...]
    size: tuple[int, int] = WIDE
    theme: str = "owb-dark"
    env: dict[str, str] = field(default_factory=dict)
    wait: bool = True
    toasts: bool = False
    sight: tuple[str, ...] = ()


def _every_screen(prefix: str, **kwargs: Any) -> tuple[Shot, ...]:
    names = ("overview", "graph", "tensors", "passes", "quantize", "profile", "compare", "checks", "log")
    return tuple(Shot(f"{prefix}-{name}", (str(k + 1),), **kwargs) for k, name in enumerate(names))


ATTENTION: tuple[Shot, ...] = (
    Shot("overview", ("1",)),
    Shot("graph", ("2", "j", "j")),
    Shot("graph-drawing", ("2", "t", "j", "j")),
    Shot("graph-rails", ("2", "t", "t", "j")),
    Shot("graph-ab", (*APPLY, "b", "2"), sight=("deutan", "protan")),
    Shot("tensors", ("3", "j")),
    Shot("slice", ("3", "enter")),
    Shot("activations", ("3", "t", "r", "j")),
    Shot("copy-as", ("2", "j", "Y")),
    Shot("filter", ("3", "slash", *"query")),
    Shot("compare-structure", (*APPLY, "7", "t")),
    Shot("passes", ("4",)),
    Shot("passes-apply", ("4", "A")),
    Shot("passes-applied", APPLY, toasts=True),
    Shot("profile", (*APPLY, "6", "r"), sight=("grey",)),
    Shot("profile-ab", (*APPLY, "b", "6", "r")),
    Shot("compare", (*APPLY, "7", "r")),
    Shot("checks", ("8",)),
    Shot("log", (*APPLY, "9")),
    Shot("graph-80x24", ("2", "j"), NARROW),
    Shot("help", ("4", "question_mark")),
    Shot("palette", ("colon", "o", "p", "t")),
    Shot("save", (*APPLY, "w")),
    Shot("inspector", ("6", "r", "enter")),
    Shot("light-graph", ("6", "r", "enter"), theme="owb-light"),
    Shot("light-graph-ab", (*APPLY, "b", "2"), theme="owb-light", sight=("deutan",)),
    Shot("light-profile", ("6", "r"), theme="owb-light"),
    Shot("no-color-graph-ab", (*APPLY, "b", "2"), env={"NO_COLOR": "1"}),
    Shot("ascii-80x24", ("6", "r", "enter"), NARROW, env={"OWB_GLYPHS": "ascii"}),
    Shot("disabled", ("z",)),
    Shot("stale", ("6", "r", *APPLY, "6")),
    Shot("first-paint", (), wait=False),
    Shot("leave", (*APPLY, "q")),
    *_every_screen("narrow", size=NARROW),
    *_every_screen("smallest", size=(60, 15)),
)
CNN: tuple[Shot, ...] = (
    Shot("quantize", ("5", "r", "enter", "plus")),
    Shot("quantize-options", ("5", "r")),
    Shot("tensors-ab", (*INT8, "b", "3", "j")),
    Shot("compare-int8", (*INT8, "7", "r")),
    Shot("graph-error", (*INT8, "7", "r", "2", "c", "c", "c", "c", "j")),
    Shot("graph-error-drawing", (*INT8, "7", "r", "2", "c", "c", "c", "c", "t")),
)
C2F: tuple[Shot, ...] = (Shot("c2f", ("6", "r", "2", "t", "j", "j")),)
HEAVY: tuple[Shot, ...] = (Shot("working", ("6", "r"), wait=False), Shot("stopped", ("6", "r", "ctrl+c")))
HOSTILE: tuple[Shot, ...] = (Shot("hostile-graph", ("2", "j", "j")), Shot("hostile-drawing", ("2", "t")))
FOREIGN: tuple[Shot, ...] = (Shot("error", ("6", "r")),)
DETECTOR: tuple[Shot, ...] = (
    Shot("detector-overview", ("1",)),
    Shot("detector-passes", ("4", "j", "j")),
    Shot("detector-refused", ("4", "end", "k", "k", "k")),
    Shot("detector-profile-ab", (*APPLY, "b", "6", "r")),
    Shot("detector-graph", ("6", "r", "enter")),
    Shot("detector-drawing", ("6", "r", "enter", "t")),
    Shot("detector-graph-ab", (*APPLY, "b", "2")),
)


def without_network(svg: str) -> str:
    """The picture asks for no font from elsewhere: the viewer's own monospace serves. Lines need no clipping: none is too long."""
    svg = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*', "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="url\(#[^"]*-line-\d+\)"', "", svg)
    svg = re.sub(r"terminal-\d+-", "t-", svg)
    return svg.replace("Fira Code", "DejaVu Sans Mono")


async def settled(pilot: Any, app: WorkbenchApp) -> None:
    """Until the model is open and no work is left."""
    idle = 0
    while idle < 3:
        await pilot.pause(0.02)
        await pilot.pause()
        idle = idle + 1 if app.bench is not None and not app.bridge.jobs else 0


async def take(path: Path, shots: tuple[Shot, ...], out: Path, only: str) -> None:
    """One fresh app a picture, so that each shows what its keys alone do."""
    os.chdir(path.parent)  # the log names the file as a person who stands beside it would
    for shot in shots:
        if only not in shot.name:
            continue
        os.environ.update(shot.env)
        app = WorkbenchApp(Path(path.name), theme=shot.theme)
        for name in shot.env:
            del os.environ[name]
        if not shot.keys and not shot.wait:
            app.open = lambda path: None  # type: ignore[method-assign]  # the first paint is what stands there before the model is open
        async with app.run_test(size=shot.size, notifications=True) as pilot:
            if shot.keys:
                await settled(pilot, app)
            for key in shot.keys:
                stops = key == "ctrl+c"
                await pilot.pause(1.5 if stops else 0.0)
                await pilot.press(key)
                if stops or (shot.wait and "ctrl+c" not in shot.keys) or key != "r":
                    await settled(pilot, app)
            await pilot.pause(0.1 if shot.wait or not shot.keys else 1.8)
            if not shot.toasts:
                app.toasts.clear()
                await pilot.pause()
            svg = without_network(app.export_screenshot(title=f"owb {path.name}"))
        (out / f"{shot.name}.svg").write_text(svg, encoding="utf-8")
        print(f"{shot.name}.svg", flush=True)
        for sight in shot.sight:
            (out / f"{shot.name}-{sight}.svg").write_text(simulated(svg, sight), encoding="utf-8")
            print(f"{shot.name}-{sight}.svg", flush=True)


def main() -> None:
    """Parse the command line and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--model", type=Path)
    parser.add_argument("--only", default="", help="only pictures with this in their name")
    parser.add_argument("--out", type=Path, default=HERE / "screens")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.model is not None:
        asyncio.run(take(options.model.resolve(), DETECTOR, options.out, options.only))
        return
    made: tuple[tuple[Callable[[Path], Path], tuple[Shot, ...]], ...] = (
        (showmodels.c2f, C2F), (showmodels.hostile, HOSTILE), (showmodels.foreign, FOREIGN), (showmodels.heavy, HEAVY),
        (lambda folder: Path(shutil.copy(sample("digits_cnn.onnx"), folder)), CNN),
        (lambda folder: Path(shutil.copy(sample("digits_attention_ts.onnx"), folder)), ATTENTION),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for make, shots in made:
            if any(options.only in shot.name for shot in shots):
                asyncio.run(take(make(Path(folder)), shots, options.out, options.only))
        os.chdir(HERE)


if __name__ == "__main__":
    main()
