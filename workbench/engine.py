"""`Session` of the public API: one name for every engine."""

from __future__ import annotations

from typing import Any

from exec.errors import OptionError, nearest
from exec.ir import Model

ENGINES = ("embedded", "onnxruntime", "reference")


def open_engine(model: Model, engine: str = "embedded", **options: Any) -> Any:
    """A session of the engine called `engine`: `.run(feeds, outputs=None)` gives values by name."""
    if engine not in ENGINES:
        raise OptionError(
            f"no engine called {engine!r}", why=f"there are {', '.join(ENGINES)}", hint=nearest(engine, ENGINES)
        )
    from exec.session import Session

    return Session(model, **options)
