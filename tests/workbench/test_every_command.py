"""Every command has what a command needs: its page, JSON of a known form, texts that are kept, exit codes, completion. A new one without them fails here."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from click.shell_completion import ShellComplete
from onnx import parser

from workbench.cli.group import COMMANDS, owb
from workbench.cli.start import run

GOLDEN = Path(__file__).parent / "golden"
NAMES = [name for names in COMMANDS.values() for name in names]

WITHOUT_JSON = {
    "explain": "a page for people; `list --json` has the catalogs",
    "report": "the page is the result; compare, diff and profile give its figures as JSON",
}
WITHOUT_TEXT = {"demo": "its figures are measured on this machine; test_json_forms.py runs it"}

EXITS: dict[str, dict[int, list[str]]] = {
    "inspect": {0: ["a.onnx"], 1: ["a.onnx", "--baseline", "small.json"], 2: ["none.onnx"]},
    "nodes": {0: ["a.onnx"], 2: ["a.onnx", "-q", "op:"]},
    "tensors": {0: ["a.onnx"], 2: ["none.onnx"]},
    "show": {0: ["a.onnx", "b"], 2: ["a.onnx", "nothing"]},
    "graph": {0: ["a.onnx"], 2: ["a.onnx", "--around", "nothing"]},
    "infer-shapes": {0: ["a.onnx"], 1: ["claims.onnx"], 2: ["none.onnx"]},
    "convert": {0: ["a.onnx", "--opset", "18", "-o", "o.onnx"], 1: ["wide.onnx", "--to", "float16", "-o", "o.onnx"], 2: ["a.onnx", "-o", "o.onnx"]},
    "optimize": {0: ["a.onnx"], 1: ["twice.onnx", "--rules", "wrong.py", "--passes", "wrong-double"], 2: ["a.onnx", "--passes", "no-such-rule"]},
    "quantize": {0: ["a.onnx", "--no-time"], 2: ["a.onnx", "--data", "none.npz"]},
    "calibrate": {0: ["a.onnx", "--samples", "2"], 2: ["a.onnx", "--data", "none.npz"]},
    "edit": {0: ["rename", "a.onnx", "b=c", "-o", "o.onnx"], 2: ["rename", "a.onnx", "nothing=c", "-o", "o.onnx"]},
    "check": {0: ["a.onnx", "--fail-on", "error"], 1: ["odd.onnx"], 2: ["none.onnx"]},
    "coverage": {0: ["a.onnx"], 1: ["odd.onnx"], 2: ["none.onnx"]},
    "verify": {0: ["a.onnx", "--data", "right.npz"], 1: ["a.onnx", "--data", "wrong.npz"], 2: ["a.onnx", "--data", "none.npz"]},
    "run": {0: ["a.onnx"], 2: ["odd.onnx"]},
    "profile": {0: ["a.onnx", "--runs", "3"], 2: ["a.onnx", "--runs", "3", "--baseline", "none.json"]},
    "sensitivity": {0: ["a.onnx", "--samples", "2"], 2: ["none.onnx"]},
    "compare": {0: ["a.onnx", "a.onnx"], 1: ["a.onnx", "twice.onnx"], 2: ["a.onnx", "none.onnx"]},
    "diff": {0: ["a.onnx", "a.onnx"], 1: ["a.onnx", "twice.onnx"], 2: ["a.onnx", "none.onnx"]},
    "bisect": {0: ["a.onnx"], 2: ["none.onnx"]},
    "reduce": {0: ["a.onnx", "twice.onnx", "-o", "o.onnx"], 2: ["a.onnx", "a.onnx", "-o", "o.onnx"]},
    "recipe": {0: ["run", "r.toml", "a.onnx", "-o", "o.onnx"], 2: ["run", "none.toml", "a.onnx", "-o", "o.onnx"]},
    "batch": {0: ["a.onnx"], 1: ["none.onnx"], 2: ["a.onnx", "--jobs", "0"]},
    "report": {0: ["a.onnx", "twice.onnx", "-o", "p.html", "--runs", "3"], 2: ["a.onnx", "none.onnx", "-o", "p.html"]},
    "test-rules": {0: ["right.py"], 1: ["wrong.py"], 2: ["none.py"]},
    "explain": {0: ["Conv"], 2: ["nothing"]},
    "list": {0: ["checks"], 2: ["nothing"]},
    "warm": {0: []},
    "demo": {2: ["--keep", "a.onnx"]},
}  # fmt: skip
"""What each exit code answers, one command line each."""

WITHOUT_0 = {"demo": "test_json_forms.py runs it"}
WITHOUT_2 = {"warm": "it reads nothing; test_without_numba_warm_says_what_to_install"}
FINDS = frozenset(
    [
        "inspect",
        "infer-shapes",
        "convert",
        "optimize",
        "check",
        "coverage",
        "verify",
        "profile",
        "compare",
        "diff",
        "bisect",
        "batch",
        "test-rules",
    ]
)
"""Commands whose help promises an exit 1."""
ELSEWHERE_1 = {"profile": "test_baselines.py: a slower node", "bisect": "test_bisection.py: a guilty rewrite"}

HEAD = '<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]> '
MODELS = {
    "a": "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { [n] t = MatMul (x, w) [b] y = Relu (t) }",
    "twice": "g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { [n] t = MatMul (x, w) [b] y = Add (t, t) }",
    "odd": "g (float[2] x) => (float[2] y) { y = my.ops.Swirl (x) }",
    "claims": "g (float[2] x) => (float[2] y) <float[3] t> { t = Relu (x) y = Neg (t) }",
    "wide": "g (float[2,4] x) => (float[2,4] y) <float k = {60000}, float d = {0.0001}> { a = Mul (x, k) b = Mul (a, k) y = Mul (b, d) }",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models, recordings, a baseline, a recipe, a right and a wrong rule."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in MODELS.items():
        onnx.save(parser.parse_model(HEAD + text), folder / f"{name}.onnx")
    x = np.float32([[1, -1]])
    right = np.maximum(x @ np.float32([[1, 2], [3, 4]]), 0)
    np.savez(folder / "right.npz", x=x, y=right)
    np.savez(folder / "wrong.npz", x=x, y=right + 1)
    (folder / "r.toml").write_text('version = 1\n[[step]]\ndo = "optimize"\npasses = ["default"]\n', encoding="utf-8")
    guide = Path(__file__).resolve().parents[2] / "docs" / "guides" / "write-your-own-rule.md"
    rule = guide.read_text(encoding="utf-8").partition("```python file=my_rules.py\n")[2].partition("```")[0]
    (folder / "right.py").write_text(rule, encoding="utf-8")
    wrong = rule.replace("double-to-mul", "wrong-double").replace("asarray(2,", "asarray(3,")
    (folder / "wrong.py").write_text(wrong, encoding="utf-8")
    small = json.dumps({"kind": "inspect", "version": 1, "figures": {"nodes": 1.0}})
    (folder / "small.json").write_text(small, encoding="utf-8")
    return folder


@pytest.fixture
def inside(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of them, where the commands run."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def command_of(name: str) -> click.Command:
    found = owb.get_command(click.Context(owb, info_name="owb"), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_documented_by_its_docstrings(name: str) -> None:
    command = command_of(name)
    assert command.callback is not None
    module = sys.modules[command.callback.__module__]
    assert (module.__doc__ or "").startswith(f"owb {name}: ")
    assert len(inspect.getdoc(command.callback) or "") > 20
    for part in (command, *getattr(command, "commands", {}).values()):
        undocumented = [p.name for p in part.params if isinstance(p, click.Option) and not p.hidden and not p.help]
        assert not undocumented
    pages = (GOLDEN.parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert f"### owb {name}\n" in pages


@pytest.mark.parametrize("name", NAMES)
def test_a_commands_json_has_a_form_that_is_kept(name: str) -> None:
    parts = [command_of(name), *getattr(command_of(name), "commands", {}).values()]
    takes = any("--json" in option.opts for part in parts for option in part.params)
    forms = json.loads((GOLDEN / "forms.json").read_text(encoding="utf-8"))
    has_form = any(key.partition(" ")[0] == name for key in forms)
    assert takes == has_form == (name not in WITHOUT_JSON)


@pytest.mark.parametrize("name", NAMES)
def test_a_commands_text_is_kept_at_three_widths(name: str) -> None:
    kept = [(GOLDEN / f"{name}-{width}.txt").exists() for width in (60, 100, 160)]
    assert all(kept) if name not in WITHOUT_TEXT else not any(kept)


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(("name", "code"), [(name, code) for name in EXITS for code in EXITS[name]])
def test_a_command_exits_with_what_it_means(name: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "warm":
        pytest.importorskip("numba")
    assert run([name, *EXITS[name][code]]) == code
    assert "defect" not in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_every_exit_code_of_a_command_has_a_case(name: str) -> None:
    wanted = {0, 2} | ({1} if name in FINDS else set())
    wanted -= {0} if name in WITHOUT_0 else set()
    wanted -= {2} if name in WITHOUT_2 else set()
    wanted -= {1} if name in ELSEWHERE_1 else set()
    assert EXITS[name].keys() == wanted
    told = inspect.getdoc(command_of(name).callback) or ""
    assert ("xit 1" in told or "; 1 if" in told) == (name in FINDS)


@pytest.mark.parametrize("name", NAMES)
def test_tab_knows_a_command_its_options_and_their_choices(name: str) -> None:
    shell = ShellComplete(owb, {}, "owb", "_OWB_COMPLETE")
    assert name in [item.value for item in shell.get_completions([], name[:2])]
    parts: dict[tuple[str, ...], click.Command] = {(name,): command_of(name)}
    parts |= {(name, part): command for part, command in getattr(command_of(name), "commands", {}).items()}
    for words, part in parts.items():
        offered = {item.value for item in shell.get_completions(list(words), "--")}
        for option in part.params:
            if not isinstance(option, click.Option) or option.hidden:
                continue
            long = [o for o in option.opts if o.startswith("--")]
            assert not long or set(long) & offered
            if isinstance(option.type, click.Choice) and not option.is_flag:
                values = [item.value for item in shell.get_completions([*words, long[0]], "")]
                assert values == list(option.type.choices)


def test_without_numba_warm_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("exec.compiled.available", lambda: False)
    assert run(["warm"]) == 2
    assert "pip install 'onnx-workbench[jit]'" in capsys.readouterr().err
