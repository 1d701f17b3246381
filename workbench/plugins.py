"""Rules and kernels of a user's own: Python files, loaded only when a command line or a call names them."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from exec.errors import OptionError

if TYPE_CHECKING:
    from passes.base import Rewrite


_loaded_kernels: set[Path] = set()


def load_file(path: str | Path) -> ModuleType:
    """Import a Python file by path; an error in it names the file and the line."""
    file = Path(path)
    if not file.is_file():
        raise OptionError("no such Python file", str(path))
    name = f"owb_plugin_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise OptionError("this is no Python file", str(path), hint="a file that ends in .py is needed")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's own code raises
        trace = inspect.getinnerframes(error.__traceback__)[-1] if error.__traceback__ else None
        line = f"{path}:{trace.lineno}" if trace is not None and trace.filename == str(file) else str(path)
        raise OptionError(f"the file raises {type(error).__name__}", line, str(error)) from error
    return module


def rule_classes(path: str | Path) -> list[type[Rewrite]]:
    """The `Rewrite` classes a file defines, in its order; a file without one is an error."""
    from passes.base import Rewrite

    module = load_file(path)
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Rewrite) and c is not Rewrite and c.__module__ == module.__name__
    ]
    if not found:
        raise OptionError(
            "no rule in this file", str(path), hint="define a class that derives from passes.base.Rewrite"
        )
    return found


def load_rules(paths: tuple[str, ...]) -> list[Rewrite]:
    """The rules of several files, ready to run; one that takes the id of a built-in rule is an error."""
    from passes import catalog

    rules = [cls() for path in paths for cls in rule_classes(path)]
    for rule in rules:
        if rule.id in catalog.rules():
            raise OptionError(f"a rule called '{rule.id}' is built in", hint="give yours another id")
    return rules


def installed_kernels() -> dict[str, EntryPoint]:
    """Packages of kernels that are installed, by the name of their entry point; none is loaded unless it is named."""
    return {e.name: e for e in entry_points(group="workbench.kernels")}


def load_kernels(path: str | Path) -> None:
    """Import a file, or an installed package by name, whose `@kernel` functions register themselves; once."""
    installed = installed_kernels().get(str(path))
    if installed is not None:
        installed.load()
        return
    file = Path(path).resolve()
    if file in _loaded_kernels:
        return
    from exec.kernels import registry

    registry.load_families()
    before = sum(1 for _ in registry.registered())
    load_file(path)
    if sum(1 for _ in registry.registered()) == before:
        raise OptionError(
            "no kernel in this file", str(path), hint='decorate a function with @kernel("MyOp", domain="my")'
        )
    _loaded_kernels.add(file)
