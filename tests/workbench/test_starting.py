"""What the process of a command is told before anything large is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from workbench.cli import blas
from workbench.cli.group import meant
from workbench.samples import sample


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process that has not imported numpy and names nothing."""
    monkeypatch.setenv(blas.THREADS, "")
    monkeypatch.delenv(blas.THREADS)
    monkeypatch.delenv(blas.KEEP, raising=False)
    monkeypatch.setattr(blas, "sys", SimpleNamespace(modules={}))
    return monkeypatch


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("command", "threads"), [("inspect", "1"), ("graph", "1"), ("run", None), ("profile", None)])
def test_a_command_that_multiplies_nothing_starts_no_threads(command: str, threads: str | None) -> None:
    blas.choose_threads(command)
    assert os.environ.get(blas.THREADS) == threads


def test_a_file_without_a_terminal_is_inspected_and_starts_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    model = str(sample("digits_cnn.onnx"))
    assert [meant(word) for word in (model, "run", "nonsense", "")] == ["inspect", "run", "nonsense", ""]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[1:] = [{model!r}]\nimport os, threading, workbench.cli as cli\ntry: cli.main()\nexcept SystemExit: print(len(os.listdir('/proc/self/task')) if os.path.exists('/proc/self/task') else 1)"],
        capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, env={k: v for k, v in os.environ.items() if k not in (blas.THREADS, blas.KEEP)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "1"


@pytest.mark.parametrize(("name", "value"), [(blas.THREADS, "3"), (blas.KEEP, "1")])
def test_what_the_environment_names_stays(fresh: pytest.MonkeyPatch, name: str, value: str) -> None:
    fresh.setenv(name, value)
    blas.choose_threads("inspect")
    assert os.environ.get(blas.THREADS) == ("3" if name == blas.THREADS else None)


def test_the_version_is_told_without_numpy_or_onnx() -> None:
    code = "import sys; from workbench.cli.start import run; run(['--version']); print({'numpy', 'onnx', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
