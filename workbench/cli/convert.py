"""owb convert: opset and sizes."""

from __future__ import annotations

import click

from workbench.cli.options import model_argument
from workbench.cli.output import say


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
def command(model: str, output: str, opset: int | None, sizes: tuple[str, ...], batch: int | None) -> None:
    """Convert MODEL: its opset, the sizes of its dims. Nothing else changes; `owb optimize` then simplifies what became static."""
    import workbench
    from exec.errors import OptionError
    from passes.convert.opset import convert_opset
    from workbench.editing import set_dims
    from workbench.feeding import parse_dims
    from workbench.saving import save_result

    if opset is None and not sizes and batch is None:
        raise OptionError("nothing to convert", hint="--opset N, --freeze NAME=N or --batch N")
    opened = workbench.load(model)
    dims: dict[str, int | str] = dict(parse_dims(sizes))
    if batch is not None:
        for info in opened.inputs:
            if info.shape:
                first = info.shape[0]
                dims[first if isinstance(first, str) and first else f"{info.name}:0"] = batch
    if dims:
        opened = set_dims(opened, dims)
    if opset is not None:
        before = opened.opset
        opened = convert_opset(opened, opset)
        say(f"opset {before} → {opened.opset}")
    save_result(opened, output)
    say(f"wrote {output}")
