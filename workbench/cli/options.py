"""Options that several commands share: one spelling everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from exec.errors import BenchError
from workbench.cli.failure import name_file

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("table", "json", "jsonl", "csv")


def model_argument(function: F) -> F:
    """MODEL, a path. Opening it gives our own errors, so click does not look at it; those of later work name it, too."""
    return click.argument("model", metavar="MODEL", type=click.Path())(_naming(function, "model"))


def two_models(function: F) -> F:
    """A and B, paths of two models."""
    function = click.argument("after", type=click.Path(), metavar="B")(_naming(function, "before", "after"))
    return click.argument("before", type=click.Path(), metavar="A")(function)


def _naming(function: F, *parameters: str) -> F:
    """`function` with errors in models that name the files in these parameters."""

    @functools.wraps(function)
    def command(*arguments: Any, **given: Any) -> Any:
        try:
            return function(*arguments, **given)
        except BenchError as error:
            name_file(error, *(given[name] for name in parameters))
            raise

    return cast(F, command)


def format_options(function: F) -> F:
    """`--format`, and `--json` for short."""
    function = click.option("--json", "format", flag_value="json", help="Short for --format json.")(function)
    return click.option(
        "--format",
        "format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How the result is written.",
    )(function)


def names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """ "a,b" → ("a", "b")."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if value else ()


def feed_options(function: F) -> F:
    """Where the inputs come from: a file, or generated from a seed with sizes for symbolic dims."""
    function = click.option(
        "--inputs",
        "inputs",
        metavar="FILE.npz",
        type=click.Path(),
        help="Inputs by name, or an .npy for a model of one input; generated from the seed when not given.",
    )(function)
    function = click.option(
        "--dim",
        "dims",
        metavar="NAME=N",
        multiple=True,
        help="Size of a symbolic dim in generated inputs; may be repeated.",
    )(function)
    return click.option("--seed", type=int, default=0, show_default=True, help="Seed of generated inputs.")(function)


_SIZES = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
}


def size(_: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Bytes: "0", "300k", "10M", "1Gi"."""
    return None if value is None else int(_parsed(value, parameter))


def _parsed(value: str, parameter: click.Parameter) -> float:
    import re

    match = re.fullmatch(r"([\d.]+)([kMGT]i?)?B?", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is no amount: 100000, 8G, 16Gi or none", param=parameter)
    return float(match[1]) * _SIZES[match[2] or ""]


def _amount(_: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Set one limit of the process; "none" takes it away."""
    if value is None:
        return
    import dataclasses

    from exec.budget import FLAGS, default_limits, use_limits

    field = next(name for name, flag in FLAGS.items() if flag in parameter.opts)
    amount = None if value == "none" else _parsed(value, parameter)
    number = amount if amount is None or field == "seconds" else int(amount)
    changed: Any = {field: number, **({_EXPECTED[field]: None} if field in _EXPECTED else {})}
    use_limits(dataclasses.replace(default_limits(), **changed))


_EXPECTED = {"bytes_alive": "growth", "multiply_adds": "effort"}
"""The limits that otherwise follow from a model's size, too: a number given is the only one."""


def budget_options(function: F) -> F:
    """`--max-memory` and its kin: what a model may use; reaching a limit is an error that names its flag."""
    texts = {
        "--max-memory": "Memory for values alive at one time (80 % of the machine's, and what --max-growth says).",
        "--max-growth": "Bytes of values for each byte of weights and inputs, beyond 128 MiB (64).", "--max-produced": "Bytes computed in all.",
        "--max-macs": "Multiply-adds of a run, and other work by what it is worth (10^15, and what --max-effort says).",
        "--max-effort": "Multiply-adds for each byte of weights and inputs, beyond 3·10^10 (32768).",
        "--max-loop-steps": "Iterations of loops in a run (1000000).",
        "--max-nodes": "Nodes after calls of functions are expanded (2000000).", "--max-depth": "Subgraphs in each other (64).",
        "--max-seconds": "Wall time of a run (no limit).",
    }  # fmt: skip
    for flag, text in reversed(texts.items()):
        function = click.option(flag, metavar="N", callback=_amount, expose_value=False, help=text)(function)
    return function


def rules_option(function: F) -> F:
    """`--rules FILE`: rules of one's own; nothing is loaded unless it is named here."""
    return click.option(
        "--rules",
        "rule_files",
        multiple=True,
        type=click.Path(),
        metavar="FILE.py",
        help="Rules of your own, all of them unless --passes names some; may be repeated.",
    )(function)


def _kernels(_: click.Context, __: click.Parameter, value: str) -> str:
    """A variant's name as it is; a Python file or a package is loaded, and its kernels are used wherever they fit."""
    if value in ("auto", "numpy", "compiled", "plain"):
        return value
    from workbench.plugins import installed_kernels, load_kernels

    if not value.endswith(".py") and value not in installed_kernels():
        return value  # the session says what it knows
    load_kernels(value)
    return "auto"


def kernels_option(function: F) -> F:
    """`--kernels`: a variant of ours, or a Python file with kernels for operators nobody has."""
    return click.option(
        "--kernels",
        callback=_kernels,
        default="auto",
        show_default=True,
        metavar="WHICH",
        help="auto, numpy, compiled or plain; or FILE.py, or an installed package's entry point, with kernels of your own.",
    )(function)


def _own_kernels(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> None:
    for value in values:
        from workbench.plugins import load_kernels

        load_kernels(value)


def own_kernels_option(function: F) -> F:
    """`--kernels FILE` where no variant can be chosen: only kernels for operators nobody has."""
    return click.option(
        "--kernels",
        callback=_own_kernels,
        expose_value=False,
        multiple=True,
        metavar="FILE.py",
        help="Kernels of your own, for operators that nobody knows; also an installed package's entry point; may be repeated.",
    )(function)


ENGINES = ("embedded", "onnxruntime", "reference")


def engine_option(function: F) -> F:
    return click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="embedded",
        show_default=True,
        help="What runs the model.",
    )(function)


def library_option(function: F) -> F:
    """`--ort-library`: operators of one's own for onnxruntime."""
    return click.option(
        "--ort-library", type=click.Path(), metavar="LIB.so", help="Custom operators, with --engine onnxruntime."
    )(function)
