"""owb convert: opset, sizes and types, verified."""

from __future__ import annotations

import click

from workbench.cli.options import (
    budget_options,
    feed_options,
    format_options,
    model_argument,
    names,
    own_kernels_option,
)
from workbench.cli.output import emit, say


@click.command()
@model_argument
@click.option("-o", "--output", type=click.Path(), required=True, metavar="FILE", help="Where the result goes.")
@click.option(
    "--opset",
    type=click.IntRange(1),
    metavar="N",
    help="Convert to this version of ai.onnx, up or down, subgraphs too.",
)
@click.option(
    "--freeze",
    "sizes",
    metavar="NAME=N",
    multiple=True,
    help="Give a symbolic dim of the inputs a size; may be repeated.",
)
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Give the first dim of every input this size.")
@click.option("--to", type=click.Choice(["float16", "bfloat16"]), help="Compute in this type.")
@click.option("--int32", is_flag=True, help="int64 becomes int32 where nothing can change.")
@click.option(
    "--keep-io/--convert-io",
    default=True,
    show_default=True,
    help="Whether inputs and outputs keep their types.",
)
@click.option("--block", callback=names, metavar="A,B", help="Ops and nodes that stay in float32.")
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Run the result against the original; what differs is not written.",
)
@feed_options
@format_options
@own_kernels_option
@budget_options
def command(
    model: str, output: str, opset: int | None, sizes: tuple[str, ...], batch: int | None, to: str | None, int32: bool, keep_io: bool,
    block: tuple[str, ...], verify: bool, inputs: str | None, dims: tuple[str, ...], seed: int, format: str,
) -> int:  # fmt: skip
    """Convert MODEL: its opset, the sizes of its dims, its types. `owb optimize` then simplifies what became static.

    The result is run against MODEL. Exit 0; 1 if it computes something else (nothing is written then); 2 if a file cannot be read or
    written or MODEL cannot be converted.
    """
    import workbench
    from exec.errors import OptionError
    from workbench import feeding
    from workbench.beforeafter import before_after
    from workbench.converting import convert
    from workbench.render.beforeafter import before_after_table
    from workbench.render.optimizing import verified
    from workbench.saving import check_target, save_result

    if opset is None and not sizes and batch is None and to is None and not int32:
        hint = "--opset N, --freeze NAME=N, --batch N, --to float16 or --int32"
        raise OptionError("nothing to convert", hint=hint)
    check_target(output)
    opened = workbench.load(model)
    feeds = (
        feeding.feeds_for(opened, inputs, dims=feeding.parse_dims(dims), seed=seed).values if inputs or dims else None
    )
    found = convert(
        opened,
        opset=opset,
        sizes=dict(feeding.parse_dims(sizes)),
        batch=batch,
        to=to,  # type: ignore[arg-type]  # click has checked it
        int32=int32,
        keep_io=keep_io,
        block=block,
        verify=verify,
        feeds=feeds,
    )
    both = before_after(opened, found.model)
    answer = {"done": found.done, "problem": found.problem, "verification": found.verification, "sizes": both}
    emit(answer, "conversion", [before_after_table(both, verified(found.verification), found.done)], format)
    if found.problem:
        say(f"not written: {found.problem}")
        hint = "`--block NODE` keeps a node in float32, " if to is not None else ""
        say(f"{hint}`--no-verify` writes it all the same, and `owb compare` shows where it begins".lstrip())
        return 1
    save_result(found.model, output)
    say(f"wrote {output}")
    return 0
