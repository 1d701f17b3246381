"""Functions of the user's own, named `module:function`."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exec.errors import OptionError, nearest


def is_callable(text: str) -> bool:
    """Whether `text` is written as module:function."""
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text) is not None


def imported(spec: str) -> Callable[..., Any]:
    """The function behind "module:function"; the working directory is looked at first, as `python -m` does."""
    module, _, name = spec.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise OptionError(f"{spec} cannot be imported", why=str(error)) from error
    finally:
        sys.path.remove(here)
    found = getattr(loaded, name, None)
    if not callable(found):
        raise OptionError(f"{module} has no function '{name}'", hint=nearest(name, dir(loaded)))
    made: Callable[..., Any] = found
    return made
