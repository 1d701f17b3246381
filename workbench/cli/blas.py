"""The right matrix kernel, and threads only where they work, chosen before numpy is imported.

OpenBLAS looks the CPU up by itself, but OPENBLAS_CORETYPE overrides it, and machines set it to the oldest kernel of a fleet: on an
AVX-512 CPU its AVX2 kernel runs at half speed. A command of ours may choose; a library that is imported into another program may not.

OpenBLAS also starts its threads when numpy is imported: a sixth of the processor's time of a command that multiplies no matrix.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SLOWER = frozenset(
    {
        "haswell",
        "zen",
        "sandybridge",
        "nehalem",
        "core2",
        "barcelona",
        "bulldozer",
        "piledriver",
        "steamroller",
        "excavator",
        "prescott",
    }
)
KEEP = "OWB_KEEP_BLAS"
THREADS = "OPENBLAS_NUM_THREADS"

_WITHOUT_PRODUCTS = frozenset({"inspect", "nodes", "tensors", "show", "graph", "list", "explain"})


def choose_kernel() -> None:
    """Let OpenBLAS use AVX-512 where the CPU has it; OWB_KEEP_BLAS=1 leaves the environment as it is."""
    chosen = os.environ.get("OPENBLAS_CORETYPE", "")
    if "numpy" in sys.modules or os.environ.get(KEEP) or chosen.lower() not in _SLOWER or not has_avx512():
        return
    os.environ["OPENBLAS_CORETYPE"] = "SKYLAKEX"
    os.environ.pop("OPENBLAS_L2_SIZE", None)


def choose_threads(command: str) -> None:
    """One thread for a command that only looks at a model; a number that the environment names stays."""
    if command in _WITHOUT_PRODUCTS and "numpy" not in sys.modules and not os.environ.get(KEEP):
        os.environ.setdefault(THREADS, "1")


def has_avx512() -> bool:
    """Whether this CPU (Linux) has the AVX-512 subsets that OpenBLAS's kernel needs."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    line = next((row for row in text.splitlines() if row.startswith("flags")), "")
    return {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= set(line.split())
