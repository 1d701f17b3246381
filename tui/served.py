"""The process behind a page: `python -m tui.served MODEL`, started by `owb serve` for each one."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tui.confined import Confines, confine, scratch


def main() -> None:
    """Run the terminal UI on a model, inside its folder."""
    parser = argparse.ArgumentParser(prog="python -m tui.served")
    parser.add_argument("model", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--theme", default="owb-dark")
    given = parser.parse_args()
    model = given.model.resolve()

    from tui.app import WorkbenchApp

    own = scratch()
    tempfile.tempdir = own
    confines = Confines(model.parent, write=given.write, caches=(own, *_kernels()))
    app = WorkbenchApp(model, theme=given.theme)
    confine(confines)
    app.run()


def _kernels() -> list[Path]:
    """Where compiled kernels are kept, if there are any."""
    from exec.compiled import available

    if not available():
        return []
    from exec.compiled.toolchain import cache_folder

    folder = cache_folder()
    return [] if folder is None else [folder]


if __name__ == "__main__":
    main()
