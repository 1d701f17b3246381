"""Kernels are compiled before they are wanted, once, and a cache that cannot be written is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exec.compiled import available
from exec.errors import Cancelled

pytestmark = pytest.mark.skipif(not available(), reason="numba is not installed")

SCRIPT = """
from exec.compiled import narrow, warming
few = [k for k in warming.kernels() if k.function.__module__ == narrow.__name__]
warming.kernels = lambda: few
seen = []
done = warming.warm(lambda *told: seen.append(told))
print(done.kernels, done.compiled, bool(done.folder), seen[-1][:2])
"""


def warmed(cache: Path) -> str:
    environment = {**os.environ, "OWB_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def test_the_second_process_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    assert warmed(tmp_path) == "1 1 True (1, 1)"
    assert warmed(tmp_path) == "1 0 True (1, 1)"


def test_compiling_can_be_stopped() -> None:
    from exec.compiled.warming import warm

    with pytest.raises(Cancelled):
        warm(cancel=lambda: True)
