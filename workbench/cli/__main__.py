"""`python -m workbench.cli` is `owb`."""

from __future__ import annotations

from workbench.cli import main

main()
