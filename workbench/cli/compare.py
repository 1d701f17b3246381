"""owb compare: run two models on the same inputs."""

from __future__ import annotations

import click

from exec.wording import counted
from workbench.cli.options import FORMATS, budget_options, feed_options, kernels_option, two_models
from workbench.cli.output import emit, progress_bar, say

_ENGINES = ["embedded", "onnxruntime", "reference"]


@click.command()
@two_models
@feed_options
@kernels_option
@click.option("--engine", type=click.Choice(_ENGINES), default="embedded", show_default=True, help="What runs both.")
@click.option("--engine-a", type=click.Choice(_ENGINES), help="What runs A, if not --engine.")
@click.option("--engine-b", type=click.Choice(_ENGINES), help="What runs B, if not --engine.")
@click.option(
    "--max-error",
    type=float,
    metavar="SHARE",
    help="Largest difference that counts as equal, as a share of a value's range.",
)
@click.option("--save-baseline", type=click.Path(), metavar="FILE", help="Keep the SQNR of every output, for CI.")
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="Outputs must be as good as figures kept before, less 1 dB; replaces --max-error as the verdict.",
)
@click.option("--all", "whole", is_flag=True, help="List every aligned value, not only those that differ.")
@click.option(
    "--format",
    "format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How the result is written.",
)
@click.option("--json", "format", flag_value="json", help="Short for --format json.")
@budget_options
def command(
    before: str, after: str, inputs: str | None, dims: tuple[str, ...], seed: int, kernels: str, engine: str, engine_a: str | None, engine_b: str | None,
    max_error: float | None, save_baseline: str | None, baseline: str | None, whole: bool, format: str,
) -> int:  # fmt: skip
    """Run A and B on the same inputs and line up every value they share: the first that differs, and where it was lost.

    With one model twice and two engines it answers whether a runtime computes what another does. Exit 1 if an output differs, 2 if
    one could not be computed: an operator that nobody knows is left out, and what lies before and behind it is compared.
    """
    import workbench
    from workbench import baseline as kept
    from workbench import feeding
    from workbench.render.comparing import comparison_tables

    one, other = workbench.load(before), workbench.load(after)
    feeds = feeding.feeds_for(one, inputs, dims=feeding.parse_dims(dims), seed=seed)
    for line in feeds.assumptions:
        say(line)
    engines = (engine_a or engine, engine_b or engine)
    with progress_bar() as progress:
        result = workbench.compare(
            one, other, feeds.values, engines=engines, tolerance=max_error, kernels=kernels, progress=progress
        )
    emit(
        result,
        "comparison",
        comparison_tables(result, whole=whole or format != "table", judged_by=baseline or ""),
        format,
    )
    figures = {o.name: min(o.sqnr_db, 200.0) for o in result.outputs}
    if save_baseline:
        kept.save_baseline(save_baseline, kept.Baseline("compare", figures, list(figures)))
        say(f"wrote {save_baseline}")
    if baseline:
        worse = [
            v
            for v in kept.judge(kept.load_baseline(baseline, "compare"), figures, 0.0)
            if v.now is None or v.now < v.was - 1.0
        ]
        for v in worse:
            say(f"{v.name} was {v.was:.1f} dB, is {'gone' if v.now is None else f'{v.now:.1f} dB'}")
        holds = f"holds, {counted(len(figures), 'output')} at most 1 dB worse"
        say(f"{baseline}: {'does not hold' if worse else holds}")
        return int(bool(worse))
    if not result.equal:
        return 1
    return 2 if result.unreached else 0
