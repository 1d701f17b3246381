"""The command line: one file a command, each imported only when it is asked for."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of `owb`: every error of ours is told once, here."""
    from workbench.cli.blas import choose_kernel

    choose_kernel()
    from workbench.cli.start import run

    sys.exit(run(sys.argv[1:]))
