"""What there is: rewrite rules, kernels and checks, as tables."""

from __future__ import annotations

from exec.wording import counted
from workbench.render.table import Column, Table


def rules() -> Table:
    """Every rule of the catalogue, in the order the pipeline tries them."""
    from passes import catalog

    columns = (Column("id", "rule"), Column("safety", "safety"), Column("summary", "what it does"))
    found = catalog.rules().values()
    rows = tuple((rule.id, rule.safety.value, (rule.__doc__ or "").strip().partition("\n")[0]) for rule in found)
    return Table(
        "",
        columns,
        rows,
        f"{counted(len(rows), 'rule')}, in the order they run; `owb optimize --passes ID,…` runs some",
    )


def kernels() -> Table:
    """Every kernel of our own; other ops run through their function body or onnx.reference."""
    from exec.kernels.registry import registered

    columns = (
        Column("op", "operator"),
        Column("domain", "domain"),
        Column("since", "since opset", "count"),
        Column("variant", "kernel"),
    )
    rows = tuple((k.op, k.domain or "ai.onnx", k.since, k.variant) for k in registered())
    return Table("", columns, rows, f"{len(rows)} kernels")


def checks() -> Table:
    """Every check."""
    from workbench.lint.catalog import CHECKS

    columns = (
        Column("code", "code"),
        Column("level", "level"),
        Column("title", "finds", wrap=True),
        Column("fix", "fix"),
    )
    return Table(
        "",
        columns,
        tuple((c.code, c.level, c.title, c.fix) for c in CHECKS),
        f"{counted(len(CHECKS), 'check')}; `owb explain CODE` tells more",
    )
