"""Take the screenshots of the README: drive the real app by keys and export what it draws.

    python docs/screens.py [--model PATH] [--out docs/screens]

Without --model the digits samples are shown; the README's detector pictures come from `--model` with a public OCR detector
(`python benchmarks/models.py` fetches it).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from pathlib import Path

from tui.app import WorkbenchApp
from workbench.samples import sample

HERE = Path(__file__).resolve().parent
WIDE, NARROW = (140, 40), (80, 24)

Shot = tuple[str, tuple[int, int], tuple[str, ...]]
APPLY = ("4", "A", "enter")
DIGITS: tuple[Shot, ...] = (
    ("overview", WIDE, ("1",)),
    ("graph", WIDE, ("2", "j", "j")),
    ("graph-drawing", WIDE, ("2", "t", "j", "j")),
    ("graph-ab", WIDE, (*APPLY, "b", "2")),
    ("tensors", WIDE, ("3", "j")),
    ("passes", WIDE, ("4",)),
    ("passes-apply", WIDE, ("4", "A")),
    ("passes-applied", WIDE, APPLY),
    ("profile", WIDE, (*APPLY, "6", "r")),
    ("profile-ab", WIDE, (*APPLY, "b", "6", "r")),
    ("compare", WIDE, (*APPLY, "7", "r")),
    ("checks", WIDE, ("8",)),
    ("log", WIDE, (*APPLY, "9")),
    ("graph-80x24", NARROW, ("2", "j")),
    ("help", WIDE, ("4", "question_mark")),
)
CNN: tuple[Shot, ...] = (("quantize", WIDE, ("5", "r", "enter", "plus")),)
DETECTOR: tuple[Shot, ...] = (
    ("detector-overview", WIDE, ("1",)),
    ("detector-passes", WIDE, ("4", "j", "j")),
    ("detector-profile-ab", WIDE, (*APPLY, "b", "6", "r")),
    ("detector-graph", WIDE, ("6", "r", "enter")),
    ("detector-graph-ab", WIDE, (*APPLY, "b", "2")),
)


def without_network(svg: str) -> str:
    """The picture asks for no font from elsewhere: the viewer's own monospace serves. Lines need no clipping: none is too long."""
    svg = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*', "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="url\(#[^"]*-line-\d+\)"', "", svg)
    svg = re.sub(r"terminal-\d+-", "t-", svg).replace(' shape-rendering="crispEdges"', "")
    return svg.replace("Fira Code", "DejaVu Sans Mono")


async def take(path: Path, shots: tuple[Shot, ...], out: Path) -> None:
    """One fresh app a picture, so that each shows what its keys alone do."""
    os.chdir(path.parent)  # the log names the file as a person who stands beside it would
    for name, size, keys in shots:
        app = WorkbenchApp(Path(path.name))
        async with app.run_test(size=size) as pilot:
            for key in ("", *keys):
                if key:
                    await pilot.press(key)
                for _ in range(3000):
                    await pilot.pause(0.02)
                    if app.bench is not None and not app.bridge.jobs:
                        await pilot.pause()
                        if not app.bridge.jobs:
                            break
            await pilot.pause(0.1)
            (out / f"{name}.svg").write_text(
                without_network(app.export_screenshot(title=f"owb {path.name}")), encoding="utf-8"
            )
            print(f"{name}.svg", flush=True)


def main() -> None:
    """Parse the command line and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "screens")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.model is not None:
        asyncio.run(take(options.model, DETECTOR, options.out))
    else:
        asyncio.run(take(sample("digits_cnn.onnx"), CNN, options.out))
        asyncio.run(take(sample("digits_attention_ts.onnx"), DIGITS, options.out))


if __name__ == "__main__":
    main()
