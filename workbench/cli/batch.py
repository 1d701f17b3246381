"""owb batch: many models through many recipes."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.options import format_options
from workbench.cli.output import emit, progress_bar, say


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path())
@click.option(
    "--recipe",
    "recipes",
    multiple=True,
    type=click.Path(),
    metavar="R.toml",
    help="A recipe; may be repeated. Without one, models are only opened.",
)
@click.option(
    "--out", type=click.Path(file_okay=False), metavar="DIR", help="Where results go, as <model>-<recipe>.onnx."
)
@click.option("--report", type=click.Path(), metavar="FILE", help="Write the rows there as JSON, too.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "--journal",
    type=click.Path(),
    metavar="FILE",
    help="A line for each finished task; started again, the batch goes on where it was.",
)
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler instead of processes (extra [cluster]).")
@format_options
def command(
    models: tuple[str, ...],
    recipes: tuple[str, ...],
    out: str | None,
    report: str | None,
    jobs: int,
    journal: str | None,
    cluster: str | None,
    format: str,
) -> int:
    """Replay every RECIPE on every one of MODELS, each in its own process, and print one table. Exit 1 if a task failed."""
    from workbench.batch import Row, run_batch, tasks_of
    from workbench.render.json import to_json
    from workbench.render.table import Column, Table

    if out:
        Path(out).mkdir(parents=True, exist_ok=True)
    tasks = tasks_of(models, recipes, out)
    with progress_bar() as progress:
        rows: list[Row] = run_batch(tasks, jobs=jobs, executor=_cluster(cluster), journal=journal, progress=progress)
    columns = (
        Column("model", "model", "name"), Column("recipe", "recipe", "name"), Column("nodes_before", "nodes", "count", spare=3), Column("nodes_after", "after", "count", spare=2),
        Column("bytes_before", "file", "bytes", spare=5), Column("bytes_after", "after", "bytes", spare=4), Column("worst_sqnr_db", "worst", "db"), Column("seconds", "s", "number", spare=6), Column("error", "error", wrap=True),
    )  # fmt: skip
    data = tuple(
        (
            r.model,
            r.recipe,
            r.nodes_before,
            r.nodes_after,
            r.bytes_before,
            r.bytes_after,
            r.worst_sqnr_db,
            round(r.seconds, 2),
            r.error,
        )
        for r in rows
    )
    failed = sum(bool(r.error) for r in rows)
    emit(
        {"rows": rows},
        "batch",
        [Table("", columns, data, f"{len(rows)} {'task' if len(rows) == 1 else 'tasks'}, {failed} failed")],
        format,
    )
    if report:
        Path(report).write_text(to_json({"rows": rows}, "batch"), encoding="utf-8")
        say(f"wrote {report}")
    return int(failed > 0)


def _cluster(address: str | None):  # type: ignore[no-untyped-def]
    """The Dask cluster at an address as an Executor; None without one."""
    if address is None:
        return None
    from exec.errors import EngineMissing

    try:
        from distributed import Client
    except ImportError as error:
        raise EngineMissing(
            "Dask is not installed", why=str(error), hint="pip install 'onnx-workbench[cluster]'"
        ) from error
    return Client(address).get_executor()
