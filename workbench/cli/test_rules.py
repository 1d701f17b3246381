"""owb test-rules: check rules by their own BEFORE and AFTER."""

from __future__ import annotations

import click

from workbench.cli.options import format_options
from workbench.cli.output import emit


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="RULES.py…")
@format_options
def command(files: tuple[str, ...], format: str) -> int:
    """Check every rule in FILES: BEFORE becomes AFTER, the numbers stay within its Safety, a second run changes nothing, undo restores.

    Exit 1 if a rule fails.
    """
    from passes.selftest import report
    from workbench.plugins import rule_classes
    from workbench.render.table import Column, Table

    found = report([cls for file in files for cls in rule_classes(file)])
    rows = tuple((name, "passes" if not why else "fails", why) for name, why in found.items())
    failed = sum(bool(why) for why in found.values())
    columns = (Column("rule", "rule"), Column("verdict", ""), Column("reason", "because", wrap=True))
    emit(
        {"rules": [{"rule": n, "reason": w} for n, w in found.items()]},
        "test-rules",
        [Table("", columns, rows, f"{len(rows)} {'rule' if len(rows) == 1 else 'rules'}, {failed} failed")],
        format,
    )
    return int(failed > 0)
