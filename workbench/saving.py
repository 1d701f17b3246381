"""Writing a result: one file where it fits comfortably, data beside it where it does not."""

from __future__ import annotations

import os
from pathlib import Path

from exec.errors import SaveError
from exec.ir import Model
from exec.ir.save import resolve_target
from passes.report import census

ONE_FILE_BYTES = 512 << 20


def check_target(path: str | Path) -> None:
    """Raise SaveError now for a place where nothing can be written: long work is not done in vain."""
    folder = resolve_target(Path(path)).parent
    if not os.access(folder, os.W_OK):
        raise SaveError("the folder cannot be written to", f"folder {folder}", hint="choose another")


def save_result(model: Model, path: str | Path) -> Path:
    """Save `model`: with its weights inside up to 512 MB, else with a data file beside it (see docs/decisions/0006)."""
    target = Path(path)
    model.save(target, external=None if census(model).weight_bytes > ONE_FILE_BYTES else False)
    return target
