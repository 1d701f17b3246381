"""owb optimize: rewrite a model, verified."""

from __future__ import annotations

import click

from exec.errors import OptionError
from workbench.cli.complete import rules
from workbench.cli.options import (
    budget_options,
    feed_options,
    format_options,
    model_argument,
    names,
    own_kernels_option,
    rules_option,
    size,
)
from workbench.cli.output import emit, progress_bar, say


@click.command()
@model_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Where the result goes; MODEL itself is never written over unless named here.",
)
@click.option(
    "--passes",
    callback=names,
    shell_complete=rules,
    metavar="A,B",
    help="Rules by id, or a preset: default, safe, aggressive, contrib.  [default: default]",
)
@click.option("--skip", callback=names, shell_complete=rules, metavar="A,B", help="Rules to leave out.")
@click.option("--opset", type=int, help="Convert to this opset first.")
@click.option(
    "--target",
    type=click.Choice(["portable", "onnxruntime"]),
    default="portable",
    show_default=True,
    help="Which runtime the result is for.",
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Run the result against the original, and undo what changed the numbers.",
)
@click.option(
    "--grow", callback=size, metavar="SIZE", help="Bytes the file may grow by (10M); next to nothing when not given."
)
@click.option(
    "--overridable",
    type=click.Choice(["auto", "keep", "weights"]),
    default="auto",
    show_default=True,
    help="Inputs that have a default: keep them, take them as weights, or do so only where a model lists 16 or more (auto).",
)
@click.option("--dry-run", is_flag=True, help="Count what each rule would do; change nothing.")
@click.option(
    "--why", metavar="NODE", help="With --dry-run: what would be done with one node, and what not for which reason."
)
@rules_option
@feed_options
@format_options
@own_kernels_option
@budget_options
def command(
    model: str, output: str | None, passes: tuple[str, ...], skip: tuple[str, ...], opset: int | None, target: str, verify: bool, grow: int | None, overridable: str, dry_run: bool, why: str | None, rule_files: tuple[str, ...],
    inputs: str | None, dims: tuple[str, ...], seed: int, format: str,
) -> int:  # fmt: skip
    """Rewrite MODEL: fold, fuse and clean up, every change named and the result verified.

    Exit 0; 1 if a rewrite changed the numbers and was undone; 2 if the file cannot be read or written.
    """
    import workbench
    from passes import optimize as optimizer
    from workbench import feeding
    from workbench.plugins import load_rules
    from workbench.render.optimizing import report_tables
    from workbench.saving import check_target, save_result

    if output:
        check_target(output)
    opened = workbench.load(model)
    own = {rule.id: rule for rule in load_rules(rule_files)}
    named = [p for p in passes if p in own] or list(own)
    rules = [own[name] for name in named if name not in skip]
    chosen = [p for p in passes if p not in own] if passes else "default"
    skip = tuple(name for name in skip if name not in own)
    if why and not dry_run:
        raise OptionError("--why changes nothing and writes nothing", hint="give --dry-run, too")
    if dry_run:
        with progress_bar() as progress:
            report = optimizer.dry_run(
                opened, chosen, skip=skip, opset=opset, target=target, rules=rules, progress=progress
            )
        if why:
            from workbench.render.why import why_table
            from workbench.why import why as found_at

            found = found_at(opened, report, why)
            emit(found, "why", [why_table(found)], format)
            return 0
        emit(report, "dry-run", report_tables(report), format)
        return 0
    feeds = (
        feeding.feeds_for(opened, inputs, dims=feeding.parse_dims(dims), seed=seed).values if inputs or dims else None
    )
    with progress_bar() as progress:
        result = workbench.optimize(
            opened,
            chosen,
            skip=skip,
            opset=opset,
            target=target,
            rules=rules,
            feeds=feeds,
            verify=verify,
            grow=grow,
            overridable=overridable,
            progress=progress,
        )
    if output:
        save_result(result.model, output)
        say(f"wrote {output}")
    else:
        say("nothing was written: give -o FILE")
    emit(result.report, "optimize", report_tables(result.report), format)
    return 1 if result.report.undone else 0
