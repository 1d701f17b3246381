"""What commands print, at three widths: a change of the text is seen in review. OWB_WRITE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

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
    "infer-shapes": ["infer-shapes", "{fragile}"],
    "explain": ["explain", "OWB021"],
}
WIDTHS = (60, 100, 160)
PREFORMATTED = ("explain", "graph")  # a pattern's text and a drawing keep their columns: a terminal scrolls them


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_the_text_is_as_it_was(
    name: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(sample("digits_mobile.onnx").parent)
    files = {key: f"digits_{key}.onnx" for key in ("cnn", "mobile", "fragile", "control")}
    run([part.format(**files) for part in CASES[name]])
    text = re.sub(r"[ \t]+$", "", capsys.readouterr().out, flags=re.MULTILINE)
    path = GOLDEN / f"{name}-{width}.txt"
    if os.environ.get("OWB_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    if name not in PREFORMATTED:
        assert max(map(len, text.splitlines())) <= width
