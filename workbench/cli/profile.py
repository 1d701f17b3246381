"""owb profile: where the time goes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exec.wording import counted
from workbench.cli.options import (
    ENGINES,
    FORMATS,
    budget_options,
    engine_option,
    feed_options,
    kernels_option,
    library_option,
    model_argument,
)
from workbench.cli.output import emit, progress_bar, say

if TYPE_CHECKING:
    from exec.arrays import Value
    from exec.progress import Progress
    from exec.timing import Profile
    from workbench.runnable import Lost

_NAMED = 5
"""So many nodes that could not be measured are named."""


@click.command()
@model_argument
@feed_options
@engine_option
@library_option
@click.option("--runs", type=click.IntRange(3), default=20, show_default=True, help="Timed runs, after a warm-up.")
@click.option("--seconds", type=float, metavar="S", help="Stop after this time, at least three runs.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of the engine.")
@kernels_option
@click.option(
    "--fuse/--no-fuse",
    default=True,
    show_default=True,
    help="Let neighbouring nodes share a step; --no-fuse times every node alone.",
)
@click.option(
    "--by",
    type=click.Choice(["node", "op", "scope", "path", "memory"]),
    default="node",
    show_default=True,
    help="What a row is; path: the nodes a run must wait for, and what each would save; memory: what is alive along the run.",
)
@click.option("--all", "whole", is_flag=True, help="List every node, not only the slowest.")
@click.option("--save", type=click.Path(), metavar="FILE.json", help="Keep the times and this machine's rates, for CI.")
@click.option("--force", is_flag=True, help="Let --save keep the figures of a busy machine.")
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=0.0,
    metavar="S",
    help="Wait up to this many seconds until the machine is quiet, and measure again while it was not.",
)
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE.json",
    help="Compare with times kept before, scaled to this machine; exit 1 if slower.",
)
@click.option(
    "--max-slowdown",
    type=float,
    default=1.10,
    show_default=True,
    metavar="RATIO",
    help="What counts as slower, for a node and in all.",
)
@click.option(
    "--import",
    "source",
    type=click.Path(),
    metavar="FILE.json",
    help="Show a profile of onnxruntime's or trtexec's by the nodes of MODEL; nothing is run.",
)
@click.option(
    "--against",
    metavar="ENGINE|FILE.json",
    help="Both times of each node: of another engine on the same inputs, or of a profile kept before.",
)
@click.option("--trace", type=click.Path(), metavar="FILE.json", help="Write a Chrome trace (Perfetto opens it).")
@click.option("--model-explorer", type=click.Path(), metavar="FILE.json", help="Write node data for Model Explorer.")
@click.option(
    "--format",
    "format",
    type=click.Choice([*FORMATS, "github"]),
    default="table",
    show_default=True,
    help="How the result is written.",
)
@click.option("--json", "format", flag_value="json", help="Short for --format json.")
@budget_options
def command(
    model: str, inputs: str | None, dims: tuple[str, ...], seed: int, engine: str, runs: int, seconds: float | None, threads: int,
    kernels: str, fuse: bool, by: str, whole: bool, save: str | None, baseline: str | None, max_slowdown: float, trace: str | None,
    source: str | None, model_explorer: str | None, ort_library: str | None, force: bool, wait: float, against: str | None, format: str,
) -> int:  # fmt: skip
    """Time every node of MODEL: median, share, FLOP/s, what limits it; the sum of the nodes against the wall.

    One thread unless asked; a busy machine is said, and its times are not kept as a baseline. Without --inputs, valid ones are generated
    from the seed. A node without a kernel is left out and said; what it makes is generated, too. Exit 0; 1 if a node or the whole is
    slower than its --baseline allows; 2 if the machine is too busy to judge or to --save.
    """
    import workbench
    from exec.errors import OptionError
    from workbench import feeding, slowdown
    from workbench.render import units
    from workbench.render.profiling import profile_tables
    from workbench.scopes import modules

    if by == "memory" and (source or engine != "embedded"):
        raise OptionError("memory is measured in the embedded engine only", hint="leave --engine and --import away")
    if against and by not in ("node", "op"):
        raise OptionError(f"--by {by} with --against", hint="node and op are set side by side")
    opened = workbench.load(model)
    lost: Sequence[Lost] = ()
    other: Profile | None = None
    if engine == "embedded" and not source:
        from workbench.runnable import runnable

        opened, lost = runnable(opened)
    if source:
        from exec.engines.imported import imported

        result = imported(source, opened)
    else:
        feeds = feeding.feeds_for(opened, inputs, dims=feeding.parse_dims(dims), seed=seed)
        for line in feeds.assumptions:
            say(line)

        def timed(engine: str) -> Profile:
            with progress_bar() as progress:
                session = workbench.Session(
                    opened, engine, threads=threads, kernels=kernels, fuse=fuse, ort_library=ort_library
                )
                return measured(session, feeds.values, runs, seconds, wait, progress)

        result = timed(engine)
        if against in ENGINES:
            other = timed(against)
        result = replace(result, notes=(*result.notes, *_not_measured(lost, whole or format != "table")))
    if trace:
        from exec.chrome_trace import chrome_trace

        _write(trace, chrome_trace(result, opened.graph.name))
    if model_explorer:
        from exec.model_explorer import node_data

        _write(model_explorer, node_data(result, opened.graph.name or "main"))
    if against:
        from workbench.measured import times_in
        from workbench.render.sidebyside import beside_table
        from workbench.sidebyside import side_by_side

        name = Path(source).name if source else result.engine
        second = (against, other) if other is not None else (Path(against).name, times_in(against, opened))
        pairs = side_by_side(opened, (name, result), second)
        emit(
            pairs,
            "profile-pair",
            [beside_table(pairs, by, whole=whole or format != "table")],
            "table" if format == "github" else format,
        )
    elif by == "path":
        from workbench.criticalpath import critical_path
        from workbench.lookup import Lookup
        from workbench.render.profiling import path_table

        lookup = Lookup(opened, result)
        answer, table = path_table(lookup, critical_path(lookup), result, whole=whole or format != "table")
        emit(answer, "critical-path", [table], "table" if format == "github" else format)
    elif format != "github":
        emit(
            result,
            "profile",
            profile_tables(result, by, whole=whole or format != "table", modules=modules(opened.graph)),
            format,
        )
    if save:
        slowdown.save(save, result, force=force)
        say(f"wrote {save}")
    if not baseline:
        return 0
    worse = [r for r in slowdown.judge(slowdown.read(baseline), result, max_slowdown) if not r.holds]
    if format == "github":
        from workbench.render.profiling import to_github

        click.echo(to_github(worse, model, max_slowdown), nl=bool(worse))
        return int(bool(worse))
    for r in worse:
        say(
            f"{r.name} took {units.duration(r.was_ns)} on this machine's scale, takes {units.duration(r.now_ns)}: {units.ratio(r.ratio)}, {max_slowdown:.2f}× is allowed"
        )
    return int(bool(worse))


def _not_measured(lost: Sequence[Lost], whole: bool) -> list[str]:
    """A sentence for each node that was left out; without --all only for the first ones, which the others lie behind."""
    said = [f"not measured: {n.node}: {n.reason}" for n in (lost if whole else lost[:_NAMED])]
    left = len(lost) - len(said)
    return [*said, f"not measured: {counted(left, 'more node')} behind them (--all names each)"] if left else said


def measured(
    session: Any, feeds: Mapping[str, Value], runs: int, seconds: float | None, wait: float, progress: Progress | None
) -> Profile:
    """A profile of a quiet machine, or the last one there was time for."""
    import workbench
    from exec.noise import wait_until_quiet

    if not wait:
        return workbench.profile(session, feeds, runs, seconds=seconds, progress=progress)
    deadline = time.perf_counter() + wait
    while True:
        wait_until_quiet(deadline, progress)
        result = workbench.profile(session, feeds, runs, seconds=seconds, progress=progress)
        if result.noise.quiet or time.perf_counter() >= deadline:
            return result


def _write(path: str, data: object) -> None:
    Path(path).write_text(json.dumps(data), encoding="utf-8")
    say(f"wrote {path}")
