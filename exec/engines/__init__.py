"""Who computes: the embedded executor, onnxruntime where it is installed, or onnx.reference; one protocol for all."""

from __future__ import annotations

import importlib
from typing import Any

from exec.engines.protocol import Engine
from exec.errors import OptionError, nearest

ENGINES = {"embedded": "EmbeddedEngine", "onnxruntime": "OnnxRuntimeEngine", "reference": "ReferenceEngine"}
"""Engine name to the class in the module of that name."""

ALIASES = {"owb": "embedded", "ort": "onnxruntime", "ref": "reference"}


def open_engine(
    model: Any,
    engine: str = "embedded",
    *,
    threads: int | None = None,
    kernels: str = "auto",
    fuse: bool = True,
    seed: int = 0,
    budget: Any | None = None,
    ort_library: str | None = None,
) -> Engine:
    """`model` in the engine of that name.

    kernels, fuse, seed, budget  of the embedded engine
    ort_library  a shared library of custom ops for onnxruntime
    """
    name = ALIASES.get(engine, engine)
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise OptionError(f"no engine called '{engine}'", why=f"known: {known}", hint=nearest(engine, ENGINES))
    make = getattr(importlib.import_module(f"exec.engines.{name}"), ENGINES[name])
    options: dict[str, dict[str, Any]] = {
        "embedded": {"kernels": kernels, "fuse": fuse, "seed": seed, "budget": budget},
        "onnxruntime": {"library": ort_library},
    }
    made: Engine = make(model, threads=threads, **options.get(name, {}))
    return made


__all__ = ["ENGINES", "Engine", "open_engine"]
