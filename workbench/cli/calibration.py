"""Options for calibration data, the same in every command that measures ranges."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _numbers(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...]:
    """ "0.485,0.456,0.406" → three numbers."""
    try:
        return tuple(float(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers", param=parameter) from None


def _height_width(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """ "224" or "320x240" → (height, width)."""
    if value is None:
        return None
    parts = value.lower().split("x")
    if len(parts) > 2 or not all(p.isdigit() and int(p) for p in parts):
        raise click.BadParameter(f"{value!r} is no size: 224, or 320x240 for height and width", param=parameter)
    return int(parts[0]), int(parts[-1])


def data_options(function: F) -> F:
    """`--data` and what images need; the command gets `data` as `quantize` takes it."""

    @functools.wraps(function)
    def with_data(
        *args: Any, data: str | None, samples: int, mean: tuple[float, ...], std: tuple[float, ...], scale: float | None, layout: str | None,
        image_size: tuple[int, int] | None, color: str | None, **rest: Any,
    ) -> Any:  # fmt: skip
        given: Any = samples if data is None else data
        how = {"mean": mean, "std": std, "scale": scale, "layout": layout, "size": image_size, "color": color}
        if any(v not in (None, ()) for v in how.values()):
            if data is None or not Path(data).is_dir():
                raise click.UsageError(
                    "--mean, --std, --scale, --layout, --image-size and --color need --data FOLDER of images"
                )
            from quantize.images import Images

            given = Images(data, **how)  # type: ignore[arg-type]
        return function(*args, data=given, **rest)

    options = (
        click.option("--data", metavar="PATH", help="Calibration: an .npz of arrays by input name (or FILE.npz:input=array), a folder of .npy, .npz or image files, or module:function, an iterator of samples."),
        click.option("--samples", type=click.IntRange(1), default=16, show_default=True, help="Generated samples when there is no --data."),
        click.option("--mean", callback=_numbers, metavar="R,G,B", help="Images: x = (pixel · scale - mean) / std."),
        click.option("--std", callback=_numbers, metavar="R,G,B", help="Images: see --mean."),
        click.option("--scale", type=float, metavar="N", help="Images: 1/255 by default."),
        click.option("--layout", type=click.Choice(["NCHW", "NHWC"]), help="Images: where the channels are, when the input does not tell."),
        click.option("--image-size", callback=_height_width, metavar="HxW", help="Images: their size, when the input leaves it open."),
        click.option("--color", type=click.Choice(["rgb", "bgr", "gray"]), help="Images: the order of the channels."),
    )  # fmt: skip
    made: Any = with_data
    for option in reversed(options):
        made = option(made)
    return made  # type: ignore[no-any-return]


def scheme_options(function: F) -> F:
    """Which nodes, which integers, and how a range is chosen."""
    from workbench.cli.options import names

    options = (
        click.option(
            "--method", type=click.Choice(["auto", "minmax", "moving-average", "percentile", "entropy", "mse"]), default="auto", show_default=True, help="How a range is chosen.",
        ),
        click.option("--activations", type=click.Choice(["u8", "s8", "u16", "s16", "f8"]), default="u8", show_default=True, help="What activations become: unsigned, signed, float8."),
        click.option("--weights", type=click.Choice(["s8", "u8", "s4", "u4", "f8"]), default="s8", show_default=True, help="What weights become; 4 bits with --mode weight-only."),
        click.option("--preset", type=click.Choice(["balanced", "fast", "full"]), default="balanced", show_default=True, help="Which nodes are worth 8 bits."),
        click.option("--include", callback=names, metavar="A,B", help="Only these: node names, op types, patterns, scopes or queries."),
        click.option("--exclude", callback=names, metavar="A,B", help="All but these."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function
