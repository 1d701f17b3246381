"""owb coverage: which engine can run which operator."""

from __future__ import annotations

import click

from workbench.cli.options import format_options, model_argument
from workbench.cli.output import emit


@click.command()
@model_argument
@format_options
def command(model: str, format: str) -> int:
    """Say for every operator of MODEL how the embedded engine runs it, and whether onnxruntime loads the model.

    kernel: one of ours. function: expanded, maybe slow. reference: onnx.reference, slow. none: cannot run. Exit 1 if one is none.
    """
    import workbench
    from workbench.coverage import coverage
    from workbench.render.table import Column, Table

    result = coverage(workbench.load(model))
    columns = (
        Column("op", "operator", "name"), Column("domain", "domain", "name"), Column("opset", "opset", "count"), Column("nodes", "nodes", "count"),
        Column("embedded", "embedded"), Column("example", "for example", "name"),
    )  # fmt: skip
    rows = tuple((o.op, o.domain, o.opset, o.nodes, o.embedded, o.example) for o in result.operators)
    runtime = (
        f"onnxruntime {result.onnxruntime}." if result.onnxruntime else "onnxruntime is not installed (extra [ort])."
    )
    emit(result, "coverage", [Table("", columns, rows, runtime)], format)
    return int(bool(result.missing))
