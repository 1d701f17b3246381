"""How kernels are compiled, and where the result is kept.

The cache folder's name holds the version of this package's sources, numba and the CPU: numba looks at the file of the function it
compiles only, not at the files that one calls into, and code for another CPU must never be loaded.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None where nothing can be written."""
    base = Path(os.environ.get("OWB_CACHE_DIR") or platformdirs.user_cache_dir("onnx-workbench"))
    folder = base / "kernels" / _fingerprint()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def _fingerprint() -> str:
    import llvmlite
    from llvmlite import binding

    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    features = binding.get_host_cpu_features().flatten()
    for part in (sys.version, llvmlite.__version__, binding.get_host_cpu_name(), features):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


@cache
def numba() -> Any:
    """numba, told where to keep its cache before it is imported."""
    folder = cache_folder()
    if folder is not None and "numba" not in sys.modules:
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
    import numba as module

    if folder is not None:
        config: Any = module.config
        config.CACHE_DIR = str(folder)
    return module


class Kernel:
    """A function compiled at first use, for one signature of int64 and float32 arguments.

    part  compiled for being called by other kernels through its address, so that its code exists once
    """

    def __init__(self, function: Callable[..., Any], kinds: str, part: bool) -> None:
        self.function, self.kinds, self.part = function, kinds.split(), part
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._compiled: Any = None

    @property
    def compiled(self) -> Any:
        """The machine code, from the cache if it is there."""
        if self._compiled is None:
            module = numba()
            names = {"i": "int64", "f": "float32"}
            signature = f"void({','.join(names[k] for k in self.kinds)})"
            make = module.cfunc if self.part else module.njit
            self._compiled = make(signature, cache=cache_folder() is not None, **OPTIONS)(self.function)
        return self._compiled

    @property
    def address(self) -> int:
        """Where a part's code begins."""
        return int(self.compiled.address)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


KERNELS: list[Kernel] = []


def kernel(kinds: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Make the decorated function a kernel: "i i f" are the kinds of its arguments, int64 or float32."""
    return lambda function: _registered(Kernel(function, kinds, False))


def part(kinds: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Make the decorated function a part of kernels, which call it through its address."""
    return lambda function: _registered(Kernel(function, kinds, True))


def _registered(made: Kernel) -> Kernel:
    KERNELS.append(made)
    return made
