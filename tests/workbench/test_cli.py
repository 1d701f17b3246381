"""The command line as a person meets it: exit codes, formats, one-line errors, nothing raw on the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from quantize.findings import PAGES
from workbench.cli.start import run
from workbench.samples import sample

ROOT = Path(__file__).resolve().parents[2]
CNN = str(sample("digits_cnn.onnx"))


def owb(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def tiny(tmp_path: Path, text: str = "g (float[2] x) => (float[2] y) { y = Relu(x) }") -> str:
    path = tmp_path / "tiny.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    return str(path)


def test_inspect_says_what_the_model_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = owb("inspect", CNN, capsys=capsys)
    assert (code, err) == (0, "")
    assert "BatchNormalization" in out
    assert "batch×1×8×8" in out


def test_json_has_a_kind_and_a_version_and_raw_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = owb("inspect", CNN, "--json", capsys=capsys)
    card = json.loads(out)
    assert (card["kind"], card["version"]) == ("summary", 1)
    assert card["parameters"] == 58_794
    assert card["inputs"] == [{"name": "image", "dtype": "float32", "shape": ["batch", 1, 8, 8]}]


def test_csv_and_jsonl_give_the_main_table(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = owb("nodes", CNN, "-q", "op:Conv", "--format", "csv", capsys=capsys)
    assert out.splitlines()[0] == "op,name,shape,dtype,params"
    assert len(out.splitlines()) == 4
    _, out, _ = owb("nodes", CNN, "-q", "op:Conv", "--format", "jsonl", capsys=capsys)
    assert [json.loads(line)["op"] for line in out.splitlines()] == ["Conv"] * 3


def test_a_file_that_is_not_there_is_one_sentence_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = owb("inspect", "no/such/model.onnx", capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("owb: unreadable-model: ")
    assert "no/such/model.onnx" in err
    assert len(err.splitlines()) <= 4


def test_a_wrong_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = owb("inspct", capsys=capsys)
    assert code == 2
    assert "did you mean 'inspect'" in err


def test_a_wrong_rule_names_the_nearest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = owb("optimize", tiny(tmp_path), "--passes", "lift-constant", capsys=capsys)
    assert code == 2
    assert "lift-constants" in err


def test_a_query_error_points_at_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = owb("nodes", CNN, "-q", "op:Conv kind>3", capsys=capsys)
    assert code == 2
    assert "column 9" in err


def test_optimize_writes_only_where_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tiny(tmp_path, "g (float[2] x) => (float[2] y) { t = Identity(x) y = Relu(t) }")
    before = Path(source).read_bytes()
    target = tmp_path / "out.onnx"
    code, _, _ = owb("optimize", source, "-o", str(target), capsys=capsys)
    assert code == 0
    assert Path(source).read_bytes() == before
    assert [n.op_type for n in onnx.load(target).graph.node] == ["Relu"]


def test_diff_of_a_model_with_itself_is_empty_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = owb("diff", CNN, CNN, capsys=capsys)
    assert code == 0
    assert "13 nodes equal" in out


def test_compare_exits_1_when_an_output_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = tiny(tmp_path)
    other = tmp_path / "other.onnx"
    onnx.save(
        parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'),
        other,
    )
    code, out, _ = owb("compare", one, str(other), capsys=capsys)
    assert code == 1
    assert "differ" in out


@pytest.mark.parametrize("command", ["inspect", "nodes", "tensors", "check", "run"])
def test_nothing_from_a_file_reaches_the_terminal_raw(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = "x\x1b]0;pwn\x07\x1b[2J\u202e[/red]"
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }'
    )
    model.graph.node[0].name = model.graph.name = name
    for field in (model.graph.input[0], model.graph.initializer[0], model.graph.output[0]):
        field.name += name
    model.graph.node[0].input[:] = [model.graph.input[0].name, model.graph.initializer[0].name]
    model.graph.node[0].output[:] = [model.graph.output[0].name]
    path = tmp_path / "hostile.onnx"
    path.write_bytes(model.SerializeToString())
    _, out, err = owb(command, str(path), capsys=capsys)
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
    assert "\x07" not in out + err


def test_without_a_terminal_a_model_alone_is_inspected() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench.cli", CNN], capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0
    assert "BatchNormalization" in done.stdout


def test_the_ui_without_a_terminal_says_what_to_use_instead() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench.cli", "tui", CNN],
        capture_output=True,
        text=True,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert "owb inspect" in done.stderr


def test_every_command_documents_itself(capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.cli.group import COMMANDS

    for name in (n for names in COMMANDS.values() for n in names):
        code, out, _ = owb(name, "--help", capsys=capsys)
        assert code == 0
        assert out.startswith(f"Usage: owb {name}")


def test_nodes_are_found_by_what_they_cost(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = owb("nodes", CNN, "-q", "macs>100k", "--columns", "name,macs", capsys=capsys)
    assert code == 0
    assert "/convs.1/Conv" in out
    assert "/head/Gemm" not in out
    assert "batch=" in err
    code, _, err = owb("nodes", CNN, "-q", "time>1%", capsys=capsys)
    assert code == 2
    assert "owb profile" in err


def test_one_array_is_enough_for_one_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.float32([-1.0, 2.0]))
    code, out, _ = owb("run", tiny(tmp_path), "--inputs", str(tmp_path / "x.npy"), "--json", capsys=capsys)
    assert code == 0
    assert json.loads(out)["outputs"]
    two = tiny(tmp_path, "g (float[2] x, float[2] z) => (float[2] y) { y = Add(x, z) }")
    code, _, err = owb("run", two, "--inputs", str(tmp_path / "x.npy"), capsys=capsys)
    assert code == 2
    assert "2 inputs" in err


@pytest.mark.parametrize("command", ["optimize", "quantize", "report"])
@pytest.mark.parametrize("target", [".", "nowhere/out"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    command: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    models = [CNN, CNN] if command == "report" else [CNN]
    code, out, err = owb(command, *models, "-o", target, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("owb: save: ")
    assert not list(tmp_path.iterdir())


def test_a_page_for_every_finding_of_the_quantizer(capsys: pytest.CaptureFixture[str]) -> None:
    for code in PAGES:
        status, out, _ = owb("explain", code, capsys=capsys)
        assert status == 0
        assert out.startswith(code)


def test_a_lack_of_memory_names_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tiny(tmp_path), tmp_path / "there.onnx"
    target.write_bytes(b"")

    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("workbench.optimize", full)
    code, out, err = owb("optimize", source, "-o", str(target), capsys=capsys)
    assert (code, out) == (2, "")
    assert f"file {source}\n" in err.replace("where  ", "")


def test_another_commands_word_for_growth_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = owb("inspect", CNN, "--max-growth", "0.01", capsys=capsys)
    assert code == 2
    assert "--max-increase" in err
