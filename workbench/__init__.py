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
    "load": "exec.ir",
    "Model": "exec.ir",
    "Session": "exec.session",
    "BenchError": "exec.errors",
    "inspect": "workbench.card",
    "check": "workbench.findings",
    "optimize": "passes.optimize",
    "quantize": "workbench.quantization",
    "profile": "workbench.profiling",
    "compare": "workbench.comparison",
    "diff": "workbench.delta",
}

__all__ = [
    "BenchError",
    "Model",
    "Session",
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
    from exec.errors import BenchError
    from exec.ir import Model, load
    from exec.session import Session
    from passes.optimize import optimize
    from workbench.card import inspect
    from workbench.comparison import compare
    from workbench.delta import diff
    from workbench.findings import check
    from workbench.profiling import profile
    from workbench.quantization import quantize


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
