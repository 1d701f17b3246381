"""onnx-workbench: see, rewrite, quantize and prove ONNX models.

    import workbench as wb

    model = wb.load("m.onnx")
    print(wb.inspect(model))
    result = wb.optimize(model)            # .model, .report
    small = wb.quantize(result.model, data="images.npz")
    wb.compare(model, small.model)

Every name loads its part of the house at first use: importing this package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from workbench import _origin

_origin.check()

__version__ = "0.1.0"

_HOME = {
    "load": ("exec.ir", "load"),
    "Model": ("exec.ir", "Model"),
    "Session": ("exec.engines", "open_engine"),
    "BenchError": ("exec.errors", "BenchError"),
    "inspect": ("workbench.card", "inspect"),
    "check": ("workbench.findings", "check"),
    "optimize": ("passes.optimize", "optimize"),
    "quantize": ("quantize.quantize", "quantize"),
    "profile": ("exec.timing", "profile"),
    "compare": ("workbench.comparison", "compare"),
    "diff": ("workbench.delta", "diff"),
    "bisect": ("workbench.bisection", "bisect"),
}

__all__ = [
    "BenchError",
    "Model",
    "Session",
    "bisect",
    "check",
    "compare",
    "diff",
    "inspect",
    "load",
    "optimize",
    "profile",
    "quantize",
]

if TYPE_CHECKING:
    from exec.engines import open_engine as Session
    from exec.errors import BenchError
    from exec.ir import Model, load
    from exec.timing import profile
    from passes.optimize import optimize
    from quantize.quantize import quantize
    from workbench.bisection import bisect
    from workbench.card import inspect
    from workbench.comparison import compare
    from workbench.delta import diff
    from workbench.findings import check


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    module, attribute = _HOME[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
