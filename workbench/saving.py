"""Writing a result: one file where it fits comfortably, data beside it where it does not."""

from __future__ import annotations

from pathlib import Path

from exec.ir import Model
from passes.report import census

ONE_FILE_BYTES = 512 << 20


def save_result(model: Model, path: str | Path) -> Path:
    """Save `model`: with its weights inside up to 512 MB, else with a data file beside it (see docs/decisions/0006)."""
    target = Path(path)
    model.save(target, external=None if census(model).weight_bytes > ONE_FILE_BYTES else False)
    return target
