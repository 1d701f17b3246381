"""Limits on what a model may make the workbench do: cumulative, on by default, each with a flag that raises it.

A 180-byte model can ask for terabytes or for ever. Sizes are Python ints, computed and checked before an array exists; whoever
computes, folds, infers shapes or calibrates spends from one `Budget`. A limit that is reached raises `BudgetExceeded`, which names
the work, the limit and the flag.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from exec.errors import BudgetExceeded

GIB = 1 << 30

FLAGS = {
    "bytes_alive": "--max-memory",
    "bytes_produced": "--max-produced",
    "multiply_adds": "--max-macs",
    "loop_steps": "--max-loop-steps",
    "nodes": "--max-nodes",
    "depth": "--max-depth",
    "seconds": "--max-seconds",
    "growth": "--max-growth",
    "effort": "--max-effort",
}
"""The command line's name for each limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of each is allowed; None is no limit.

    bytes_alive     arrays that exist at one time
    bytes_produced  arrays made in all
    multiply_adds   of convolutions, matrix products and the like, and what other work is worth as many (`exec.effort`)
    loop_steps      iterations of Loop and Scan in all
    nodes           after calls of functions are expanded
    depth           of subgraphs and function calls in each other
    seconds         wall time
    growth          bytes of values that each byte of weights and inputs may become, beyond 128 MiB; None: `bytes_alive` alone says
    effort          multiply-adds that each byte of weights and inputs may cost, beyond 30·10⁹; None: `multiply_adds` alone says
    """

    bytes_alive: int | None = field(default_factory=lambda: default_memory_bytes())
    bytes_produced: int | None = 4096 * GIB
    multiply_adds: int | None = 10**15
    loop_steps: int | None = 1_000_000
    nodes: int | None = 2_000_000
    depth: int | None = 64
    seconds: float | None = None
    growth: int | None = 64
    effort: int | None = 1 << 15


_defaults: list[Limits] = []


def default_limits() -> Limits:
    """What holds where nobody gives a budget: the built-in limits, or those `use_limits` set for this process."""
    return _defaults[-1] if _defaults else Limits()


def use_limits(limits: Limits) -> None:
    """Set the limits of this process: what the command line's `--max-…` flags do."""
    _defaults[:] = [limits]


NO_LIMITS = Limits(None, None, None, None, None, None, None, None, None)


class Budget:
    """What is left of some `Limits`. Threads may share one; a budget given down is the same one, so that limits hold in all."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = default_limits() if limits is None else limits
        self.bytes_alive = self.bytes_produced = self.multiply_adds = self.loop_steps = self.nodes = self.depth = 0
        self.peak_bytes_alive = 0
        self._began = monotonic()
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Wall time since the budget was made."""
        return monotonic() - self._began

    def array(self, shape: Iterable[int], itemsize: int, where: str) -> int:
        """Ask for an array before it is made; returns its bytes, to be given back with `free`."""
        size = element_count(shape) * itemsize
        self.allocate(size, where)
        return size

    def allocate(self, size: int, where: str) -> None:
        """Ask for `size` bytes that will be alive."""
        with self._lock:
            self._check("bytes_alive", self.bytes_alive + size, where, _bytes)
            self._check("bytes_produced", self.bytes_produced + size, where, _bytes)
            self.bytes_alive += size
            self.bytes_produced += size
            self.peak_bytes_alive = max(self.peak_bytes_alive, self.bytes_alive)

    def require(self, size: int, where: str) -> None:
        """Refuse what would not fit beside what is alive, without taking it."""
        with self._lock:
            self._check("bytes_alive", self.bytes_alive + size, where, _bytes)

    def free(self, size: int) -> None:
        """Give bytes back that are no longer alive."""
        with self._lock:
            self.bytes_alive -= size

    def would_fit(self, size: int) -> bool:
        """Whether `allocate(size)` would succeed; nothing is spent."""
        alive, produced = self.limits.bytes_alive, self.limits.bytes_produced
        return (alive is None or self.bytes_alive + size <= alive) and (
            produced is None or self.bytes_produced + size <= produced
        )

    def work(self, multiply_adds: int, where: str) -> None:
        """Spend arithmetic, before it is done; also looks at the clock."""
        with self._lock:
            self._check("multiply_adds", self.multiply_adds + multiply_adds, where, _count)
            self.multiply_adds += multiply_adds
        self.check_time(where)

    def produced(self, size: int, where: str) -> None:
        """Spend bytes that were computed, whoever counts those alive."""
        with self._lock:
            self._check("bytes_produced", self.bytes_produced + size, where, _bytes)
            self.bytes_produced += size

    def step(self, where: str, count: int = 1) -> None:
        """Spend iterations of a loop; also looks at the clock."""
        with self._lock:
            self._check("loop_steps", self.loop_steps + count, where, _count)
            self.loop_steps += count
        self.check_time(where)

    def foresee(self, steps: int, multiply_adds: int, where: str) -> None:
        """Refuse a loop of `steps` more iterations, each of this arithmetic, before it has begun; nothing is spent."""
        with self._lock:
            self._check("loop_steps", self.loop_steps + steps, where, _count)
            self._check("multiply_adds", self.multiply_adds + steps * multiply_adds, where, _count)

    def expand(self, nodes: int, where: str) -> None:
        """Spend nodes that an expansion adds: counted before anything is expanded."""
        with self._lock:
            self._check("nodes", self.nodes + nodes, where, _count)
            self.nodes += nodes

    @contextmanager
    def nested(self, where: str) -> Iterator[None]:
        """One level of subgraph or function call."""
        self._check("depth", self.depth + 1, where, _count)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def check_time(self, where: str) -> None:
        """Raise once the wall time is used up."""
        if self.limits.seconds is not None:
            self._check("seconds", self.seconds, where, _seconds)

    def _check(self, name: str, wanted: float, where: str, say: _Say) -> None:
        limit = getattr(self.limits, name)
        if limit is not None and wanted > limit:
            raise exceeded(name, say(wanted), say(limit), where)


def exceeded(name: str, wanted: str, limit: str, where: str) -> BudgetExceeded:
    """The error for a limit, which is a field of `Limits`."""
    return BudgetExceeded(
        f"the limit on {_MEANING[name]} is reached",
        where,
        f"it would be {wanted}, the limit is {limit}",
        f"`{FLAGS[name]}` raises it",
    )


_MEANING = {
    "bytes_alive": "memory",
    "bytes_produced": "bytes computed in all",
    "multiply_adds": "multiply-adds",
    "loop_steps": "loop iterations",
    "nodes": "nodes after expansion",
    "depth": "nesting",
    "seconds": "time",
}


class _Say:
    """How a number of one unit is written."""

    def __init__(self, unit: str) -> None:
        self.unit = unit

    def __call__(self, number: float) -> str:
        if self.unit == "s":
            return f"{number:.1f} s"
        if self.unit == "bytes":
            return bytes_text(int(number))
        return f"{int(number):,}" if number < 10**12 else f"{number:.3g}"


_bytes, _count, _seconds = _Say("bytes"), _Say(""), _Say("s")


def bytes_text(size: int) -> str:
    """ "37.3 GiB"; exact below a KiB."""
    if size < 1024:
        return f"{size} bytes"
    value, units = size / 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.4g} {units[0]}"


def element_count(shape: Iterable[int]) -> int:
    """The product of dims as a Python int: numpy's wraps around at 2⁶³."""
    count = 1
    for dim in shape:
        count *= int(dim)
    return count


def default_memory_bytes() -> int:
    """80 % of what this process may have: the machine's memory, or its container's limit."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        total = 8 * GIB
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            total = min(total, int(file.read()))
    except (OSError, ValueError):
        # No container, or one without a limit.
        pass
    return max(total * 4 // 5, GIB)
