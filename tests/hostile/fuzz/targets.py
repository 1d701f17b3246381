"""What is fuzzed: functions that take bytes and raise nothing but `BenchError`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import workbench
from exec.budget import Limits, use_limits
from exec.errors import BenchError
from exec.ir import load
from passes.convert.infer_shapes import infer_shapes
from workbench.nodes import NodeTable, node_table, select
from workbench.recipe import read_recipe, write_recipe
from workbench.samples import sample

MOST_BYTES = 1 << 16


def load_model(data: bytes) -> None:
    """Open, strictly and not, and write it again."""
    opened = load(data, strict=False)
    opened.to_proto().SerializeToString()
    workbench.inspect(opened)
    load(data)


def check_model(data: bytes) -> None:
    """Every lint rule on what opens at all."""
    workbench.check(load(data, strict=False))


def infer_model(data: bytes) -> None:
    """Shapes of a model that breaks no rule."""
    infer_shapes(load(data))


def query(data: bytes) -> None:
    """Parse a query and ask it of a model."""
    select(_rows(), data.decode("utf-8", "replace"))


def recipe(data: bytes) -> None:
    """Read a recipe, and write what was read."""
    path = _scratch() / "r.toml"
    path.write_bytes(data)
    write_recipe(read_recipe(path))


@lru_cache
def _rows() -> NodeTable:
    return node_table(load(sample("digits_cnn.onnx")))


@lru_cache
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "load": load_model, "check": check_model, "infer": infer_model, "query": query, "recipe": recipe,
}  # fmt: skip


def attempt(target: str, data: bytes) -> bool:
    """Whether the target took the data; a `BenchError` is a fair answer, anything else goes through."""
    use_limits(Limits(bytes_alive=64 << 20, seconds=5.0))
    try:
        TARGETS[target](data[:MOST_BYTES])
    except BenchError as error:
        if not str(error):
            raise AssertionError("an error that says nothing") from error
        return False
    return True
