"""What this machine's integer units do to 8-bit products."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

from quantize.findings import Finding

_VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Instruction sets as Linux names them; empty where it cannot be asked."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


def cpu_findings(
    activations: str, weights: str, flags: frozenset[str] | None = None, machine: str | None = None
) -> list[Finding]:
    """Without VNNI, runtimes add pairs of u8·s8 products in 16 bits, which saturates: 2·255·127 is twice what fits."""
    known = cpu_flags() if flags is None else flags
    if (
        (machine or platform.machine()).lower() not in ("x86_64", "amd64")
        or not known
        or any(f in known for f in _VNNI)
    ):
        return []
    if (activations, weights) != ("u8", "s8"):
        return []
    text = "this CPU has no VNNI: runtimes add pairs of u8·s8 products in 16 bits, which can saturate, and int8 gains little time here"
    return [
        Finding("Q060", "warning", "", text, "--weights u8 does not saturate; measure on the machine the model is for")
    ]
