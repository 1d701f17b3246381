"""The command line: one file a command, each imported only when it is asked for."""

from __future__ import annotations

import gc
import sys

_YOUNG_OBJECTS = 150_000
"""Made before a collection looks at them: at Python's 700, imports alone are collected 60 times, at 50,000 once for 10 ms, and nothing is found."""


def main() -> None:
    """Entry point of `owb`: every error of ours is told once, here."""
    from workbench.cli.blas import choose_kernel, choose_threads

    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
    choose_kernel()
    from workbench.cli.group import meant

    choose_threads(meant(next(iter(sys.argv[1:]), "")))
    from workbench.cli.start import run

    code = run(sys.argv[1:])
    gc.freeze()  # the process ends: its memory goes at once, not object by object
    sys.exit(code)
