"""A process that is killed while it saves leaves the old model whole or the new one whole."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper as nh

from exec.ir import load

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

CHILD = """
import sys
import numpy as np
from exec.ir import load
path = sys.argv[1]
number = 1
print("ready", flush=True)
while True:
    model = load(path)
    number += 1
    for node in model.graph.nodes:
        node.inputs[1].values = np.full((64, 64), number, np.float32)
    model.save(path, external=True if sys.argv[2] == "data" else None)
"""


def is_whole(path: Path) -> bool:
    """One number everywhere: a mixture of two saves would have two."""
    arrays = [nh.to_array(tensor) for tensor in onnx.load(path).graph.initializer]
    first = float(arrays[0][0, 0])
    return len(arrays) == 24 and all(bool(np.all(array == first)) for array in arrays)


def kill_while_saving(path: Path, mode: str, rounds: int) -> None:
    rng = random.Random(rounds)
    for _ in range(rounds):
        with subprocess.Popen([sys.executable, "-c", CHILD, os.fspath(path), mode], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.01, 0.12))
            child.kill()
        assert is_whole(path)
        # What a killed process may leave is a data file that nothing refers to yet, never a changed one.
        assert len(list(path.parent.iterdir())) <= 4 + rounds


def uniform(make: Callable[..., Path], mode: str) -> Path:
    path = make(layers=24)
    model = load(path)
    for node in model.graph.nodes:
        node.inputs[1].values = np.ones((64, 64), np.float32)
    model.save(path, external=True if mode == "data" else None)
    return path


@pytest.mark.parametrize("mode", ["one", "data"])
def test_two_kills(layered: Callable[..., Path], mode: str) -> None:
    kill_while_saving(uniform(layered, mode), mode, 2)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["one", "data"])
def test_fifty_kills(layered: Callable[..., Path], mode: str) -> None:
    kill_while_saving(uniform(layered, mode), mode, 25)
