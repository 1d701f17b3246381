"""A profile kept for CI: is today's slower, node by node, on whatever machine runs it?

Machines differ, so times are compared in units of what the machine can do: the baseline's time is scaled by the ratio of the two
machines' measured rates, of matrix products for nodes they limit, of copying for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from exec.errors import BenchError, OptionError
from exec.sidefile import read_decoded
from exec.timing import NodeTime, Profile

VERSION = 1
_FLOOR_NS = 20_000  # below it a node's own noise decides


class NodeEntry(msgspec.Struct, forbid_unknown_fields=True):
    """One node of the baseline."""

    median_ns: float
    roofline: str


class ProfileBaseline(msgspec.Struct, forbid_unknown_fields=True):
    """A profile's figures and the machine it was measured on."""

    engine: str
    threads: int
    sum_ns: float
    gemm_flops_per_s: float
    copy_bytes_per_s: float
    nodes: dict[str, NodeEntry]
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A node (or "total") beside its baseline, scaled to this machine."""

    name: str
    was_ns: float
    now_ns: float
    ratio: float
    holds: bool


def baseline_of(profile: Profile) -> ProfileBaseline:
    """What to keep of a profile."""
    machine = profile.machine
    nodes = {n.name or f"{n.op}#{n.index}": NodeEntry(float(n.median_ns), n.roofline) for n in profile.nodes}
    return ProfileBaseline(
        profile.engine,
        profile.threads,
        float(profile.sum_ns),
        machine.gemm_flops_per_s,
        machine.copy_bytes_per_s,
        nodes,
    )


def save(path: str | Path, profile: Profile, *, force: bool = False) -> None:
    """Write a profile's figures as JSON. A busy machine's are refused unless `force`: every later run would look fast beside them."""
    if not profile.noise.quiet and not force:
        raise BenchError(
            "the machine is too busy for a baseline",
            str(path),
            profile.noise.reason,
            "--wait 60 waits until it is quiet and measures again; --force keeps these figures",
        )
    Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(baseline_of(profile)), indent=1) + b"\n")


def read(path: str | Path) -> ProfileBaseline:
    """Read a baseline; an error says what is wrong with the file."""
    try:
        return read_decoded(path, lambda data: msgspec.json.decode(data, type=ProfileBaseline))
    except OSError as error:
        raise OptionError("the baseline cannot be read", str(path), str(error), "--save makes one") from error
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise OptionError("this is no profile baseline", str(path), str(error)) from error


def judge(baseline: ProfileBaseline, profile: Profile, most: float) -> list[Slowdown]:
    """Total first, then every node that both have, the slowest change first. Refuses to judge a noisy profile."""
    if not profile.noise.quiet:
        raise BenchError(
            "the machine is too busy to judge",
            why=profile.noise.reason,
            hint="--wait 60 waits until it is quiet; or more --runs",
        )
    if (baseline.engine, baseline.threads) != (profile.engine, profile.threads):
        raise OptionError(
            "the baseline was measured differently", why=f"{baseline.engine} with {baseline.threads} threads, this is {profile.engine} with {profile.threads}"
        )  # fmt: skip
    rows = [_row("total", baseline.sum_ns * _scale(baseline, profile, ""), float(profile.sum_ns), most)]
    nodes = []
    for node in profile.nodes:
        entry = baseline.nodes.get(node.name or f"{node.op}#{node.index}")
        if entry is not None and max(entry.median_ns, node.median_ns) >= _FLOOR_NS:
            nodes.append(
                _row(
                    _name(node),
                    entry.median_ns * _scale(baseline, profile, entry.roofline),
                    float(node.median_ns),
                    most,
                )
            )
    return rows + sorted(nodes, key=lambda r: -r.ratio)


def _name(node: NodeTime) -> str:
    return node.name or f"{node.op}#{node.index}"


def _scale(baseline: ProfileBaseline, profile: Profile, roofline: str) -> float:
    if not (baseline.gemm_flops_per_s and profile.machine.gemm_flops_per_s):
        return 1.0  # an imported profile: of its machine nothing is known
    gemm = baseline.gemm_flops_per_s / profile.machine.gemm_flops_per_s
    copy = baseline.copy_bytes_per_s / profile.machine.copy_bytes_per_s
    return gemm if roofline == "compute" else copy if roofline == "memory" else (gemm * copy) ** 0.5


def _row(name: str, was: float, now: float, most: float) -> Slowdown:
    ratio = now / was if was else 1.0
    return Slowdown(name, was, now, ratio, ratio <= most)
