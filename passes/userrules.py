"""Rewrites of your own: a Python file with `Rewrite` classes, named on the command line, or an installed package's entry point.

A recipe or a model never loads code; only a file that the user names does.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import entry_points
from pathlib import Path

from exec.errors import OptionError
from passes.base import Rewrite

GROUP = "workbench.rules"
"""Entry points: each names a `Rewrite` class."""


def rules_in(path: str | Path) -> list[type[Rewrite]]:
    """The rewrites a file defines, in its order; runs the file."""
    file = Path(path)
    if not file.is_file():
        raise OptionError(f"there is no file {file}", hint="--rules takes a Python file with Rewrite classes")
    spec = importlib.util.spec_from_file_location(f"owb_rules_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise OptionError(f"{file} is not a Python file", hint="--rules takes a Python file with Rewrite classes")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise OptionError(f"{file} cannot be loaded", why=f"{type(error).__name__}: {error}") from error
    found = [v for v in vars(module).values() if _is_rule(v) and v.__module__ == module.__name__]
    if not found:
        raise OptionError(
            f"{file} defines no Rewrite", hint="a class that derives from passes.base.Rewrite and has an id"
        )
    return found


def installed_rules() -> list[type[Rewrite]]:
    """The rewrites that installed packages offer."""
    found = []
    for point in entry_points(group=GROUP):
        kind = point.load()
        if not _is_rule(kind):
            raise OptionError(f"the entry point {point.name} of {GROUP} is no Rewrite", why=str(kind))
        found.append(kind)
    return found


def _is_rule(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Rewrite) and value is not Rewrite and bool(value.id)
