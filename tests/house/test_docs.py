"""Every block of the tutorials and guides runs, in order, in a folder with the samples."""

from __future__ import annotations

import math
import re
import shlex
import shutil
from pathlib import Path

import onnx
import pytest

from workbench.cli.start import run

DOCS = Path(__file__).resolve().parents[2] / "docs"
SAMPLES = DOCS.parent / "samples"
PAGES = sorted([*(DOCS / "tutorials").glob("*.md"), *(DOCS / "guides").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FINDINGS = ("check",)  # commands whose exit 1 is an answer, not a failure


def blocks(page: Path) -> list[tuple[str, str, str]]:
    return [(m[1], m[2].strip(), m[3]) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands(language: str, text: str) -> list[str]:
    """The command lines of a block: of a workflow, the steps that run ours."""
    if language == "yaml":
        return re.findall(r"^ *- run: (owb .*)$", text, re.MULTILINE)
    assert language == "sh", f"a block of {language} is run by nobody"
    return text.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_runs_as_it_stands(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for sample in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.npz")):
        shutil.copy(sample, tmp_path)
    custom = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]> g (float[2] x) => (float[2] y) { y = my.ops.Swirl(x) }'
    )
    onnx.save(custom, tmp_path / "custom.onnx")
    for name in ("model.onnx", "reference.onnx"):
        shutil.copy(SAMPLES / "digits_cnn.onnx", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("exec.noise.MOST_SPREAD", math.inf)  # a page is to run on a busy machine, too
    monkeypatch.setattr("exec.noise.LEAST_SHARE", 0.0)
    ran = 0
    for language, options, text in blocks(page):
        if options.startswith("file="):
            (tmp_path / options.removeprefix("file=")).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, str(page), "exec"), {})
            ran += 1
        else:
            for line in commands(language, text):
                words = shlex.split(line)
                assert words[0] == "owb"
                code = run(words[1:])
                assert code == 0 or (code == 1 and (words[1] in FINDINGS or language == "yaml")), line
                ran += 1
    assert ran or "why-these" in page.name


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in (*DOCS.rglob("*.md"), DOCS.parent / "README.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
