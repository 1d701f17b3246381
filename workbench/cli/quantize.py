"""owb quantize: int8, calibrated, with everything that was left out named."""

from __future__ import annotations

from typing import Any

import click

from workbench.cli.calibration import data_options, scheme_options
from workbench.cli.options import (
    budget_options,
    format_options,
    model_argument,
    names,
    own_kernels_option,
)
from workbench.cli.output import emit, progress_bar, say

AUTO_DB = 30.0


@click.command()
@model_argument
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Where the result goes.")
@click.option(
    "--mode",
    type=click.Choice(["static", "dynamic", "weight-only"]),
    default="static",
    show_default=True,
    help="What gets 8 bits, and when ranges are measured.",
)
@data_options
@scheme_options
@click.option(
    "--per-channel/--per-tensor", default=True, show_default=True, help="One weight scale a channel, or one a tensor."
)
@click.option("--block-size", type=click.IntRange(16), metavar="N", help="weight-only: elements that share a scale.")
@click.option(
    "--operators",
    type=click.Choice(["qdq", "qoperator"]),
    default="qdq",
    show_default=True,
    help="Q and DQ around float operators, or integer operators (weight-only: MatMulNBits).",
)
@click.option("--repair", "repairs", callback=names, metavar="A,B", help="Before 8 bits: equalize, smooth, bias.")
@click.option("--ranges", type=click.Path(), metavar="FILE", help="Take ranges from a calibration that was saved.")
@click.option("--save-ranges", type=click.Path(), metavar="FILE", help="Save the ranges as JSON.")
@click.option(
    "--auto", is_flag=True, help="Search the mix of float and 8 bits that reaches a target (30 dB without one)."
)
@click.option("--target-db", type=float, metavar="N", help="With --auto: SQNR of the worst output.")
@click.option(
    "--target-latency",
    type=click.FloatRange(0, min_open=True),
    metavar="R",
    help="With --auto: time as a share of the float model's.",
)
@click.option("--metric", metavar="M:F", help="With --auto: module:function of the model, larger is better.")
@click.option(
    "--max-drop",
    type=float,
    default=0.005,
    show_default=True,
    metavar="N",
    help="With --metric: how far below the float model's.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=36.0,
    show_default=True,
    help="With --auto: when to take the best found so far.",
)
@click.option(
    "--sensitivity", is_flag=True, help="Only rank the nodes: each alone in 8 bits, and what it does to the outputs."
)
@click.option(
    "--time/--no-time", "timed", default=True, show_default=True, help="Measure time before and after, per node."
)
@format_options
@own_kernels_option
@budget_options
def command(
    model: str, output: str | None, mode: str, data: Any, method: str, activations: str, weights: str, per_channel: bool,
    block_size: int | None, preset: str, include: tuple[str, ...], exclude: tuple[str, ...], operators: str, repairs: tuple[str, ...], ranges: str | None, save_ranges: str | None,
    auto: bool, target_db: float | None, target_latency: float | None, metric: str | None, max_drop: float, seconds: float, sensitivity: bool, timed: bool, format: str,
) -> None:  # fmt: skip
    """Quantize MODEL. What cannot be quantized rightly stays float, and the report says why.

    Without --data, inputs are generated and the result says that it must not be trusted for accuracy.
    """
    import workbench
    from workbench.render.quantizing import quantize_tables
    from workbench.saving import check_target, save_result
    from workbench.selecting import selectors

    target = None
    if auto or target_db is not None or target_latency is not None or metric is not None:
        from quantize.importing import imported
        from quantize.search import Target

        wanted = AUTO_DB if target_db is None and target_latency is None and metric is None else target_db
        judge = None if metric is None else imported(metric)
        target = Target(db=wanted, latency=target_latency, metric=judge, drop=max_drop, seconds=seconds)
    if output:
        check_target(output)
    opened = workbench.load(model)
    chosen, left = selectors(opened, include), selectors(opened, exclude)
    if sensitivity:
        from quantize.sensitivity import sensitivity as rank
        from workbench.render.quantizing import sensitivity_tables

        with progress_bar() as progress:
            ranking = rank(
                opened, data, preset=preset, method=method, activations=activations, weights=weights, include=chosen, exclude=left, progress=progress,
            )  # fmt: skip
        if output:
            say("nothing was written: --sensitivity only ranks")
        emit(ranking, "sensitivity", sensitivity_tables(ranking), format)
        return
    with progress_bar() as progress:
        result = workbench.quantize(
            opened, mode, data, activations=activations, weights=weights, per_channel=per_channel, block_size=block_size,
            method=method, preset=preset, include=chosen, exclude=left, timed=timed, format=operators, repairs=repairs,
            ranges=ranges, target=target, progress=progress,
        )  # fmt: skip
    if save_ranges:
        from quantize.ranges import save_ranges as save

        save(result.report, save_ranges)
        say(f"wrote {save_ranges}")
    if output:
        save_result(result.model, output)
        say(f"wrote {output}")
    else:
        say("nothing was written: give -o FILE")
    emit(result.report, "quantize", quantize_tables(result.report), format)
