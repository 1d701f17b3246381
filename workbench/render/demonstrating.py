"""The demonstration as tables."""

from __future__ import annotations

from exec.wording import counted
from workbench.demonstration import RUNS, Demonstration
from workbench.render.table import Column, Table


def demonstration_tables(result: Demonstration) -> list[Table]:
    """Before, optimized and int8; then the slowest nodes."""
    engines = list(dict.fromkeys(e for v in result.variants for e in v.latency_ns))
    columns = (
        Column("title", result.model), Column("nodes", "nodes", "count"), Column("file_bytes", "file", "bytes"), Column("accuracy", "accuracy", "percent"),
        Column("sqnr_db", "SQNR", "db"), *(Column(f"{e}_ns", e, "ns") for e in engines),
    )  # fmt: skip
    rows = tuple(
        (v.title, v.nodes, v.file_bytes, v.accuracy, v.sqnr_db, *(v.latency_ns.get(e) for e in engines))
        for v in result.variants
    )
    first = Table(
        "",
        columns,
        rows,
        f"Accuracy on {result.images} held-out images. Time of 32 images, one thread, median of {counted(RUNS, 'run')}.",
        tuple(result.remarks),
    )
    slow = (
        Column("name", "slowest nodes, optimized", "name"),
        Column("op", "operator", "name"),
        Column("median_ns", "median", "ns"),
        Column("share", "share", "percent"),
    )
    caption = "next: owb samples/digits_cnn.onnx opens the terminal UI; owb --help lists the rest"
    return [first, Table("", slow, tuple((n.name, n.op, n.median_ns, n.share) for n in result.slowest), caption)]
