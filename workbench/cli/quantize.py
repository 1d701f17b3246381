"""owb quantize: int8, calibrated, with everything that was left out named."""

from __future__ import annotations

import click

from workbench.cli.options import budget_options, format_options, model_argument, names
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
@click.option(
    "--data",
    type=click.Path(),
    metavar="PATH",
    help="Calibration: an .npz of arrays by input name, or a folder of .npy/.npz samples.",
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Generated samples when there is no --data.",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "minmax", "moving-average", "percentile", "entropy", "mse"]),
    default="auto",
    show_default=True,
    help="How a range is chosen.",
)
@click.option("--activations", type=click.Choice(["u8", "s8", "u16", "s16"]), default="u8", show_default=True)
@click.option("--weights", type=click.Choice(["s8", "u8", "s4", "u4"]), default="s8", show_default=True)
@click.option(
    "--per-channel/--per-tensor", default=True, show_default=True, help="One weight scale a channel, or one a tensor."
)
@click.option("--block-size", type=click.IntRange(16), metavar="N", help="weight-only: elements that share a scale.")
@click.option(
    "--preset",
    type=click.Choice(["balanced", "fast", "full"]),
    default="balanced",
    show_default=True,
    help="Which nodes are worth 8 bits.",
)
@click.option("--include", callback=names, metavar="A,B", help="Only these: node names, op types, or queries.")
@click.option("--exclude", callback=names, metavar="A,B", help="All but these.")
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
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="With --auto: when to take the best found so far.",
)
@click.option(
    "--sensitivity", is_flag=True, help="Only rank the nodes: each alone in 8 bits, and what it does to the outputs."
)
@format_options
@budget_options
def command(
    model: str, output: str | None, mode: str, data: str | None, samples: int, method: str, activations: str, weights: str, per_channel: bool,
    block_size: int | None, preset: str, include: tuple[str, ...], exclude: tuple[str, ...], operators: str, repairs: tuple[str, ...], ranges: str | None, save_ranges: str | None,
    auto: bool, target_db: float | None, target_latency: float | None, seconds: float, sensitivity: bool, format: str,
) -> None:  # fmt: skip
    """Quantize MODEL. What cannot be quantized rightly stays float, and the report says why.

    Without --data, inputs are generated and the result says that it must not be trusted for accuracy.
    """
    import workbench
    from workbench.render.quantizing import quantize_tables
    from workbench.saving import check_target, save_result

    target = None
    if auto or target_db is not None or target_latency is not None:
        from quantize.search import Target

        wanted = AUTO_DB if target_db is None and target_latency is None else target_db
        target = Target(db=wanted, latency=target_latency, seconds=seconds)
    if output:
        check_target(output)
    opened = workbench.load(model)
    if sensitivity:
        from quantize.sensitivity import sensitivity as rank
        from workbench.render.quantizing import sensitivity_tables

        with progress_bar() as progress:
            ranking = rank(
                opened, data if data else samples, preset=preset, method=method, activations=activations, weights=weights, include=include,
                exclude=exclude, progress=progress,
            )  # fmt: skip
        emit(ranking, "sensitivity", sensitivity_tables(ranking), format)
        return
    with progress_bar() as progress:
        result = workbench.quantize(
            opened, mode, data if data else samples, activations=activations, weights=weights, per_channel=per_channel, block_size=block_size,
            method=method, preset=preset, include=include, exclude=exclude, format=operators, repairs=repairs,
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
