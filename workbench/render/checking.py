"""Findings as a table, as GitHub annotations, as SARIF 2.1.0."""

from __future__ import annotations

from typing import Any

import msgspec

from exec.wording import counted
from workbench import __version__
from workbench.findings import Findings
from workbench.lint.catalog import BY_CODE
from workbench.render.github import annotation
from workbench.render.table import Column, Table
from workbench.render.text import display_name

_MOST = 4
_SARIF_LEVEL = {"error": "error", "warning": "warning", "note": "note"}


def findings_table(result: Findings, *, whole: bool = True) -> Table:
    """One row a finding, the worst first; only the first few of a code unless `whole`."""
    columns = (
        Column("code", "code"),
        Column("level", "level"),
        Column("where", "where", "name"),
        Column("message", "what", "name"),
        Column("fix", "fix"),
    )
    shown: list[tuple[str, str, str, str, str]] = []
    for code, level in dict.fromkeys((f.code, f.level) for f in result.findings):
        group = [f for f in result.findings if (f.code, f.level) == (code, level)]
        most = len(group) if whole or len(group) <= _MOST + 1 else _MOST
        shown += [(f.code, f.level, f.where, f"{BY_CODE[f.code].title}: {f.message}", f.fix) for f in group[:most]]
        if most < len(group):
            shown.append((code, level, f"{len(group) - most} more", "(--format csv lists all)", group[0].fix))
    rows = tuple(shown)
    counts = result.counts
    caption = f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}, {counted(counts['note'], 'note')}; {counted(len(result.clean), 'check')} found nothing"
    return Table("", columns, rows, caption)


def to_github(result: Findings, path: str) -> str:
    """Workflow commands that GitHub shows beside a commit."""
    word = {"error": "error", "warning": "warning", "note": "notice"}
    return "\n".join(
        annotation(word[f.level], path, f"{f.code} {f.where}", f"{BY_CODE[f.code].title}: {f.message}")
        for f in result.findings
    )


def to_sarif(result: Findings, path: str) -> str:
    """A SARIF log with one run."""
    used = sorted({f.code for f in result.findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": BY_CODE[code].title},
            "help": {"text": (BY_CODE[code].__doc__ or "").strip()},
        }
        for code in used
    ]
    results: list[dict[str, Any]] = [
        {
            "ruleId": f.code,
            "level": _SARIF_LEVEL[f.level],
            "message": {"text": f"{display_name(f.where)}: {display_name(f.message)}"},
            "locations": [
                {
                    "physicalLocation": {"artifactLocation": {"uri": display_name(path)}},
                    "logicalLocations": [{"name": display_name(f.where)}],
                }
            ],
        }
        for f in result.findings
    ]
    tool = {"driver": {"name": "onnx-workbench", "version": __version__, "rules": rules}}
    log = {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{"tool": tool, "results": results}],
    }
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode()
