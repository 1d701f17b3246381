"""Every file of the corpus through `owb inspect`, `optimize` and `run`, each in a process of its own with limits."""

from __future__ import annotations

import hashlib
import os
import random
import re
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpus.case import Case
from corpus.every import ALL
from corpus.external import SECRET

SECONDS, MEGABYTES, ADDRESS_SPACE = 20, 450, 8 << 30
SAMPLE = random.Random(11).sample(range(len(ALL)), 24)


@dataclass(frozen=True, slots=True)
class Said:
    """What a command did: exit code, its words, the size of its process."""

    code: int
    words: bytes
    megabytes: float

    @property
    def text(self) -> str:
        return self.words.decode("utf-8", "replace")


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def owb(folder: Path, *arguments: str) -> Said:
    """Run one command in `folder`; its peak memory comes from the system."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", COLUMNS="120")
    with (folder / ".said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench.cli", *arguments], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            cwd=folder, env=environment, preexec_fn=_limits, start_new_session=True,
        )  # fmt: skip
        signal.alarm(SECONDS)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.alarm(0)
            if process.poll() is None:
                process.kill()
                process.wait()
        process.returncode = os.waitstatus_to_exitcode(status)
    words = (folder / ".said").read_bytes()
    (folder / ".said").unlink()
    return Said(process.returncode, words, usage.ru_maxrss / 1024)


def _late(*_: object) -> None:
    raise TimeoutError(f"no answer in {SECONDS} s")


def examine(case: Case, folder: Path) -> None:
    home = folder / "models"
    home.mkdir()
    (folder / "secret.bin").write_bytes(SECRET)
    model = home / "model.onnx"
    model.write_bytes(case.make())
    if case.place is not None:
        case.place(home)
    before = hashlib.sha256(model.read_bytes()).digest()
    there = set(os.listdir(home))
    signal.signal(signal.SIGALRM, _late)
    for verb, owed in (("inspect", case.look), ("optimize", case.work), ("run", case.work)):
        if verb == "optimize" and case.look == "error":
            owed = "error"
        more = ["-o", "out.onnx"] if verb == "optimize" else []
        said = owb(home, verb, "model.onnx", *more)
        where = f"{case.name}: owb {verb} → {said.code}\n{said.text[-1500:]}"
        _clean(said, where)
        _as_owed(verb, owed, case, said, where)
        out = home / "out.onnx"
        if out.exists():
            assert SECRET[:7] not in out.read_bytes(), where
            out.unlink()
        assert set(os.listdir(home)) <= there | {"out.onnx.data"}, where
        assert hashlib.sha256(model.read_bytes()).digest() == before, where


def _clean(said: Said, where: str) -> None:
    assert said.code in (0, 1, 2), where
    assert b"Traceback" not in said.words, where
    assert "defect:" not in said.text, where
    assert SECRET[:7] not in said.words, where
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", said.words), where
    assert not any(mark in said.text for mark in "\u202e\u2066\u200b"), where
    assert said.megabytes < MEGABYTES, f"{said.megabytes:.0f} MB, {where}"


def _as_owed(verb: str, owed: str, case: Case, said: Said, where: str) -> None:
    if owed == "error":
        assert said.code == 2, where
        lines = said.text.strip().splitlines()
        assert 1 <= len(lines) <= 6, where
        assert "model.onnx" in said.text, where
        assert case.says.lower() in said.text.lower(), where
    elif owed in ("fine", "warn"):
        assert said.code == 0, where
        assert said.text.strip(), where
        if verb == "inspect" and owed == "warn":
            assert re.search(r"warn|OWB\d{3}|note", said.text, re.I), where
    elif owed == "budget":
        assert said.code == 0 or ("--" in said.text and "model.onnx" in said.text), where
    else:
        assert said.code in (0, 2), where


@pytest.mark.parametrize("number", SAMPLE, ids=[ALL[n].name for n in SAMPLE])
def test_a_sample_of_the_corpus(number: int, tmp_path: Path) -> None:
    examine(ALL[number], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_the_whole_corpus(case: Case, tmp_path: Path) -> None:
    examine(case, tmp_path)


def test_names_are_said_once() -> None:
    assert len({case.name for case in ALL}) == len(ALL)
