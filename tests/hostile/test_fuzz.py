"""Mutated models, queries and recipes: an answer or an error of ours. The long runs are guided by coverage."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from corpus.every import ALL
from fuzz.mutation import mutate
from fuzz.seeds import QUERIES, RECIPES
from fuzz.targets import TARGETS, attempt

SEEDS = [case.make() for case in ALL if case.place is None]
FOUND = sorted((Path(__file__).parent / "found").glob("*"))


@pytest.mark.parametrize("target", ["load", "check", "infer"])
def test_mutated_models(target: str) -> None:
    rng = random.Random(len(target))
    taken = sum(attempt(target, mutate(rng.choice(SEEDS), rng)) for _ in range(250))
    assert taken > 25


@pytest.mark.parametrize(("target", "texts"), [("query", QUERIES), ("recipe", RECIPES)])
def test_mutated_texts(target: str, texts: tuple[str, ...]) -> None:
    rng = random.Random(7)
    taken = 0
    for _ in range(600):
        text = list(rng.choice(texts))
        for _ in range(rng.choice((0, 1, 2, 5))):
            at = rng.randrange(len(text))
            text[at : at + rng.randrange(3)] = rng.choice(
                ["", '"', ":", ">", "~", "(", "[", "=", "\n", "\0", "9" * 30, "é", *texts]
            )
        taken += attempt(target, "".join(text).encode())
    assert taken > 60


@pytest.mark.parametrize("path", FOUND, ids=[path.name for path in FOUND])
def test_what_fuzzing_found_stays_mended(path: Path) -> None:
    attempt(path.name.partition("-")[0], path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_two_minutes_of_fuzzing_each(target: str, tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="coverage-guided fuzzing needs atheris, which has no wheel for this Python")
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])])}
    seconds = os.environ.get("OWB_FUZZ_SECONDS", "120")
    command = [sys.executable, "-m", "fuzz", target, "--seconds", seconds, "--found", str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stderr[-3000:]
