"""python -m fuzz TARGET --seconds 120: coverage-guided fuzzing with atheris; what it finds is written beside it and ends the run."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["exec", "passes", "workbench"]):
    from fuzz.targets import MOST_BYTES, TARGETS, attempt

from corpus.every import ALL
from fuzz.mutation import mutate
from fuzz.seeds import QUERIES, RECIPES


def _mutator(data: bytes, most: int, seed: int) -> bytes:
    rng = random.Random(seed)
    if rng.random() < 0.2:
        return bytes(atheris.Mutate(data, most))
    return mutate(data, rng, most)[:most]


def _once(target: str, data: bytes) -> None:
    attempt(target, data)  # atheris wants no answer


def main() -> None:
    """Fuzz one target for a while."""
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--found", type=Path, default=Path.cwd(), help="folder for the input that broke it")
    given = parser.parse_args()
    is_model = given.target in ("load", "check", "infer")
    seeds = Path(tempfile.mkdtemp(prefix="seeds-"))
    texts = {"query": QUERIES, "recipe": RECIPES}.get(given.target, ())
    made = [case.make() for case in ALL if case.place is None] if is_model else [text.encode() for text in texts]
    for number, data in enumerate(made):
        if len(data) <= MOST_BYTES:
            (seeds / f"{number}").write_bytes(data)
    options = [f"-max_total_time={given.seconds}", f"-max_len={MOST_BYTES}", "-timeout=20", "-rss_limit_mb=2500", f"-artifact_prefix={given.found}/{given.target}-"]  # fmt: skip
    atheris.Setup(
        [sys.argv[0], *options, str(seeds)],
        lambda data: _once(given.target, data),
        **({"custom_mutator": _mutator} if is_model else {}),
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
