"""The process behind a page: `python -m tui.served MODEL`, started by `owb serve` for each one."""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

from tui.confined import Confines, confine, scratch


def main() -> None:
    """Run the terminal UI on a model, inside its folder."""
    parser = argparse.ArgumentParser(prog="python -m tui.served")
    parser.add_argument("model", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--theme", default="owb-dark")
    parser.add_argument("--server", type=int, help="process id of the server, whose end is the page's")
    given = parser.parse_args()
    if given.server is not None:
        threading.Thread(target=_end_with, args=(given.server,), daemon=True).start()
    model = given.model.resolve()

    from tui.app import WorkbenchApp

    own = scratch()
    tempfile.tempdir = own
    confines = Confines(model.parent, write=given.write, caches=(own, *_kernels()))
    app = WorkbenchApp(model, theme=given.theme)
    confine(confines)
    app.run()


def _end_with(server: int) -> None:
    """Leave when the server is gone: a killed one cannot say so, and a page nobody sees would go on for ever."""
    while True:
        time.sleep(2.0)
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            os._exit(0)
        except PermissionError:
            pass  # it is there, and another user's


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
