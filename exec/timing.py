"""Where the time of a run goes: one line per source node, and what the numbers are worth.

Each step of a plan is timed in runs of its own, beside runs that are not timed inside, so "sum of nodes" and "wall" are both said.
A fixed matrix product between the runs, and the share of the wall time this process really had, tell whether the machine was quiet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exec.arrays import Value
from exec.machine import Machine, machine
from exec.noise import Noise
from exec.progress import Cancel, Progress


@dataclass(frozen=True, slots=True)
class NodeTime:
    """One source node.

    name, op, domain  as in the graph
    index         position in the graph; nodes of a taken branch follow their If
    kernel        "numpy", "compiled", "reference" or the engine's own word; "view" costs nothing, "constant" was folded
    median_ns     over the runs; p95_ns the 95th percentile
    share         of the sum of all nodes
    macs, flops, bytes_read, bytes_written   what it costs in principle; None where nobody knows
    shapes        of the outputs, "float32[1,64,56,56]"
    live_bytes    memory the plan holds while it runs
    roofline      "compute", "memory" or "overhead": what limits it; "" where nothing is known
    shared        its time is its part, by cost, of a step it shares with others
    """

    name: str
    op: str
    domain: str
    index: int
    kernel: str
    median_ns: int
    p95_ns: int
    share: float
    macs: int | None
    flops: int | None
    bytes_read: int | None
    bytes_written: int | None
    shapes: tuple[str, ...]
    live_bytes: int
    roofline: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of a model in one engine.

    nodes        one NodeTime per source node, in execution order
    sum_ns       of the nodes' medians; wall_ns a whole run's median, timed without looking inside
    overhead_ns  wall − sum: dispatch, copying in and out
    peak_bytes   of the values alive at one time, weights apart; None where the engine does not tell
    weight_bytes weights, in the layouts the plan keeps; None where the engine does not tell
    assumptions  what was assumed to make the inputs
    """

    engine: str
    kernels: str
    threads: int
    runs: int
    nodes: tuple[NodeTime, ...]
    sum_ns: int
    wall_ns: int
    overhead_ns: int
    peak_bytes: int | None
    weight_bytes: int | None
    noise: Noise
    machine: Machine
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def macs(self) -> int:
        return sum(n.macs or 0 for n in self.nodes)

    @property
    def flops(self) -> int:
        return sum(n.flops or 0 for n in self.nodes)

    def slowest(self, count: int) -> tuple[NodeTime, ...]:
        """The nodes that take the most time."""
        return tuple(sorted(self.nodes, key=lambda n: -n.median_ns)[:count])


def profile(
    model: Any,
    feeds: Mapping[str, Value] | None = None,
    runs: int = 20,
    *,
    engine: str = "embedded",
    threads: int = 1,
    seconds: float | None = None,
    kernels: str = "auto",
    fuse: bool = True,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Profile:
    """Time every node of `model` (a Model, or an engine that is already open).

    feeds    inputs; made, and what was assumed said, if none are given
    seconds  stop after this time even if `runs` are not done; at least three runs are made
    fuse     False times every node alone
    """
    from exec.engines import open_engine
    from exec.feeds import make_feeds

    assumptions: tuple[str, ...] = ()
    opened = model if hasattr(model, "measure") else None
    if feeds is None:
        made = make_feeds(model if opened is None else opened.model)
        feeds, assumptions = made.feeds, made.assumptions
    if opened is None:
        opened = open_engine(model, engine, threads=threads, kernels=kernels, fuse=fuse)
    result: Profile = opened.measure(feeds, runs, seconds=seconds, progress=progress, cancel=cancel)
    return replace(result, assumptions=assumptions)


def finished(
    rows: Sequence[NodeTime],
    *,
    engine: str,
    kernels: str,
    threads: int,
    runs: int,
    wall_ns: int,
    noise: Noise,
    peak_bytes: int | None = None,
    weight_bytes: int | None = None,
    notes: Sequence[str] = (),
) -> Profile:
    """The profile of `rows`, with shares and roofline classes filled in."""
    roofs = machine(threads)
    total = sum(row.median_ns for row in rows)
    nodes = tuple(
        replace(row, share=row.median_ns / total if total else 0.0, roofline=roofline_class(row, roofs)) for row in rows
    )
    said = list(notes)
    if roofs.blas.slower_than_cpu:
        said.append(roofs.blas.slower_than_cpu)
    if not noise.quiet:
        said.append(noise.reason)
    above = [n for n in nodes if n.macs and (n.flops or 0) * 1e9 > OVER * roofs.gemm_flops_per_s * n.median_ns > 0]
    if above:
        said.append(
            f"{len(above)} of the nodes did more than this machine's {roofs.gemm_flops_per_s / 1e9:.0f} GFLOP/s of matrix products: "
            "operations are counted as the operator defines them, and Winograd's convolutions need fewer"
        )
    return Profile(
        engine, kernels, threads, runs, nodes, total, wall_ns, wall_ns - total, peak_bytes, weight_bytes, noise, roofs,
        (), tuple(said),
    )  # fmt: skip


OVER = 1.05
"""A rate above this part of the roof is no error of measurement."""

OVERHEAD_SHARE = 0.25
"""A node that does less than this part of what the roofs allow is limited by neither: its time is dispatch and latency."""


def roofline_class(row: NodeTime, roofs: Machine) -> str:
    """What limits a node: the time each roof would need, against the time it took."""
    if not row.median_ns or row.flops is None or row.bytes_read is None or row.bytes_written is None:
        return ""
    compute_s = row.flops / roofs.gemm_flops_per_s
    moved = row.bytes_read + row.bytes_written
    memory_s = moved / (roofs.cache_bytes_per_s if moved <= 1 << 20 else roofs.copy_bytes_per_s)
    if max(compute_s, memory_s) < OVERHEAD_SHARE * row.median_ns * 1e-9:
        return "overhead"
    return "compute" if compute_s >= memory_s else "memory"
