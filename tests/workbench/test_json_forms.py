"""The form of what `--json` gives: keys and types by kind and version. A form that changes needs a new version. OWB_WRITE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exec.compiled.warming import Warmed
from workbench.cli.start import run
from workbench.samples import sample

FORMS = Path(__file__).parent / "golden" / "forms.json"
COMMANDS = {
    "inspect": ["inspect", "{mobile}"],
    "nodes": ["nodes", "{mobile}"],
    "tensors": ["tensors", "{mobile}", "--stats"],
    "show node": ["show", "{mobile}", "/stem/Conv"],
    "show weight": ["show", "{mobile}", "stem.weight"],
    "graph": ["graph", "{mobile}", "--around", "/stem/Conv", "--format", "json"],
    "infer-shapes": ["infer-shapes", "{mobile}"],
    "check": ["check", "{cnn}"],
    "coverage": ["coverage", "{control}"],
    "optimize": ["optimize", "{mobile}", "-o", "out.onnx"],
    "optimize why": ["optimize", "{mobile}", "--dry-run", "--why", "/stem/Conv"],
    "quantize": ["quantize", "{mobile}", "-o", "int8.onnx"],
    "run": ["run", "{mobile}"],
    "run onnxruntime": ["run", "{mobile}", "--engine", "onnxruntime"],
    "batch": ["batch", "{cnn}", "missing.onnx", "--recipe", "{recipe}", "--report", "out.json"],
    "profile": ["profile", "{mobile}", "--runs", "3"],
    "profile path": ["profile", "{mobile}", "--runs", "3", "--by", "path"],
    "profile pair": ["profile", "{mobile}", "--runs", "3", "--against", "onnxruntime"],
    "compare": ["compare", "{mobile}", "{cnn}"],
    "diff": ["diff", "{mobile}", "{cnn}"],
    "verify": ["verify", "{torch}", "--data", "{recorded}"],
    "bisect": ["bisect", "{cnn}"],
    "calibrate": ["calibrate", "{cnn}", "--samples", "2"],
    "sensitivity": ["sensitivity", "{cnn}", "--samples", "2"],
    "list rules": ["list", "rules"],
    "list kernels": ["list", "kernels"],
    "list checks": ["list", "checks"],
    "convert": ["convert", "{mobile}", "--opset", "20", "--batch", "2", "-o", "out.onnx"],
    "edit": ["edit", "set-dim", "{mobile}", "batch=2", "-o", "out.onnx"],
    "reduce": ["reduce", "{mobile}", "{cnn}", "-o", "part.onnx"],
    "recipe run": ["recipe", "run", "{recipe}", "{cnn}", "-o", "out.onnx"],
    "recipe show": ["recipe", "show"],
    "test-rules": ["test-rules", "{rules}"],
    "demo": ["demo"],
    "warm": ["warm"],
}
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "write-your-own-rule.md"
EXPORTS = Path(__file__).parent / "exports"


def outline(value: Any) -> Any:
    """Keys and types; of a list, what its elements are together."""
    if isinstance(value, dict):
        return {key: outline(v) for key, v in value.items()}
    if isinstance(value, list):
        return [together([outline(v) for v in value])]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def together(forms: list[Any]) -> Any:
    """One form for several: the keys of all, and where they differ the types of all."""
    if forms and all(isinstance(f, dict) for f in forms):
        return {key: together([f[key] for f in forms if key in f]) for form in forms for key in form}
    if forms and all(isinstance(f, list) for f in forms):
        return [together([inner for f in forms for inner in f if inner != "nothing"])]
    return " | ".join(sorted({f if isinstance(f, str) else type(f).__name__ for f in forms})) or "nothing"


def breaks(found: Any, wanted: Any, where: str) -> Iterator[str]:
    """Where a form is not the one written down; an empty list fits every list, and what was a number once may be missing."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in found.keys() ^ wanted.keys():
            yield f"{where}.{key} is in one of them only"
        for key in found.keys() & wanted.keys():
            yield from breaks(found[key], wanted[key], f"{where}.{key}")
    elif isinstance(found, list) and isinstance(wanted, list):
        if found != ["nothing"] and wanted != ["nothing"]:
            yield from breaks(found[0], wanted[0], where)
    elif isinstance(found, str) and isinstance(wanted, str):
        if set(found.split(" | ")) - set(wanted.split(" | ")) - {"NoneType"}:
            yield f"{where} is {found}, was {wanted}"
    elif "NoneType" not in (found, wanted):
        yield f"{where} is {found}, was {wanted}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_form_stays_what_its_version_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {key: str(sample(f"digits_{key}.onnx")) for key in ("cnn", "mobile", "fragile", "control")}
    files |= {"torch": str(EXPORTS / "torch_script.onnx"), "recorded": str(EXPORTS / "torch_script.npz")}
    if "onnxruntime" in COMMANDS[name]:
        pytest.importorskip("onnxruntime")
    files["recipe"] = str(tmp_path / "recipe.toml")
    Path(files["recipe"]).write_text('version = 1\n[[step]]\ndo = "optimize"\npasses = ["default"]\n', encoding="utf-8")
    files["rules"] = str(tmp_path / "rules.py")
    rules = GUIDE.read_text(encoding="utf-8").partition("```python file=my_rules.py\n")[2].partition("```")[0]
    Path(files["rules"]).write_text(rules, encoding="utf-8")
    if name == "warm":
        monkeypatch.setattr("exec.compiled.available", lambda: True)
        monkeypatch.setattr("exec.compiled.warming.warm", lambda _: Warmed("~/.cache/onnx-workbench", 31, 4, 2.5))
    words = [part.format(**files) for part in COMMANDS[name]]
    run(words if "--format" in words else [*words, "--json"])
    found = outline(json.loads(capsys.readouterr().out))
    forms = json.loads(FORMS.read_text(encoding="utf-8")) if FORMS.exists() else {}
    if os.environ.get("OWB_WRITE_GOLDEN"):
        forms[name] = found
        FORMS.write_text(json.dumps(forms, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert not list(breaks(found, forms[name], name))
    assert {"kind", "version"} <= found.keys()
