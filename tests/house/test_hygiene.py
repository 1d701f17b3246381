"""The house keeps its shape: what imports what, how large files are, what never stands in the repository."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("exec", "passes", "quantize", "workbench", "tui")
SOURCES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
TRACKED = [
    ROOT / f for f in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
]
LONG = {}  # file → why it may be longer than 600 lines
HEADLESS_BANNED = ("textual", "plotext")


def imported(code: str) -> set[str]:
    """The modules a fresh interpreter has loaded after running `code`."""
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def version() -> str:
    return "from workbench.cli.start import run\nrun(['--version'])"


@pytest.mark.parametrize(
    ("code", "banned"),
    [
        ("import workbench, exec.session, passes.optimize, quantize", HEADLESS_BANNED),
        ("import exec.session, exec.ir", ("workbench", "rich", "click", "textual", "passes", "onnxruntime")),
        ("import passes.optimize", ("workbench", "rich", "click", "quantize")),
        (version(), ("onnx", "numpy", "rich", "textual", "networkx", "exec.ir")),
        ("import workbench", ("onnx", "numpy", "rich", "click", "textual")),
    ],
    ids=["headless", "exec", "passes", "version", "facade"],
)
def test_a_layer_loads_only_what_it_may(code: str, banned: tuple[str, ...]) -> None:
    loaded = imported(code)
    assert not loaded.intersection(banned)


def test_every_public_name_is_the_same_object_twice_in_a_fresh_process() -> None:
    script = "import workbench as wb\nfor n in wb.__all__:\n    assert getattr(wb, n) is getattr(wb, n) and callable(getattr(wb, n)), n"
    imported(script)


def test_no_submodule_of_the_facade_hides_a_public_name() -> None:
    import workbench

    assert not {p.stem for p in (ROOT / "workbench").iterdir()}.intersection(workbench.__all__)


def test_files_are_small() -> None:
    lines = {p: len(p.read_text().splitlines()) for p in SOURCES}
    too_long = {
        str(p.relative_to(ROOT)): n for p, n in lines.items() if n > 600 and str(p.relative_to(ROOT)) not in LONG
    }
    assert not too_long
    assert statistics.median(lines.values()) < 250


def test_no_file_is_named_by_what_it_is_not() -> None:
    assert not [p for p in SOURCES if p.stem in ("utils", "helpers", "common", "manager")]


def test_no_test_package_shadows_a_package_of_ours() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_error_is_swallowed(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler) and len(node.body) == 1 and isinstance(node.body[0], ast.Pass):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {getattr(c, "id", getattr(c, "attr", "BaseException")) for c in caught}
            assert not names.intersection({"Exception", "BaseException"}), f"{path}:{node.lineno}"


def test_every_module_says_what_it_is() -> None:
    """In its own docstring, or in that of its one class: a rule's docstring is its page."""
    silent = []
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        classes = [n for n in tree.body if isinstance(n, ast.ClassDef)]
        if tree.body and not ast.get_docstring(tree) and not (classes and ast.get_docstring(classes[-1])):
            silent.append(str(path.relative_to(ROOT)))
    assert not silent


def test_nothing_of_a_machine_stands_in_the_repository() -> None:
    machine = re.compile(r"(?<![\w.])/(work|root|home/[a-z]+|opt/dev)/|pypi\.org|pythonhosted|npmjs|deb\.debian")
    found = []
    for path in TRACKED:
        if path.suffix in (".npz", ".png", ".gz") or path == Path(__file__) or not path.is_file():
            continue
        found += [f"{path.relative_to(ROOT)}: {m.group(0)}" for m in machine.finditer(path.read_text(errors="replace"))]
    assert not found


def test_no_model_is_committed_but_the_samples() -> None:
    models = [p for p in TRACKED if p.suffix in (".onnx", ".data", ".safetensors", ".pt")]
    assert all(p.parent == ROOT / "samples" or "tests" in p.parts for p in models)
    assert all(p.stat().st_size < 1_000_000 for p in models if p.is_file())
