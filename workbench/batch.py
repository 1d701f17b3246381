"""Many models through many recipes: each pair in its own process, failures apart, resumable after a kill."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from exec.errors import BenchError, OptionError
from exec.progress import Cancel, Progress, check, report


@dataclass(frozen=True, slots=True)
class Task:
    """One model through one recipe, or only opened and inspected when there is no recipe."""

    model: str
    recipe: str | None
    output: str | None

    @property
    def key(self) -> str:
        """What a resumed batch knows it by."""
        return f"{self.model}|{self.recipe or ''}"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a task; `error` is "" when it went well."""

    model: str
    recipe: str
    nodes_before: int | None
    nodes_after: int | None
    bytes_before: int | None
    bytes_after: int | None
    worst_sqnr_db: float | None
    seconds: float
    error: str


def tasks_of(models: Sequence[str], recipes: Sequence[str], folder: str | None) -> list[Task]:
    """Every model with every recipe; results go to FOLDER/<model>-<recipe>.onnx."""
    found: list[Task] = []
    for model in models:
        for recipe in recipes or [None]:  # type: ignore[list-item]
            name = f"{Path(model).stem}-{Path(recipe).stem}.onnx" if recipe else None
            found.append(Task(model, recipe, str(Path(folder) / name) if folder and name else None))
    names = [t.output for t in found if t.output]
    if len(names) != len(set(names)):
        raise OptionError(
            "two results would have the same name",
            why="models or recipes share their file names",
            hint="rename one, or run them apart",
        )
    return found


def run_task(task: Task) -> Row:
    """Do one task; runs in a worker process. Never raises: an error is a row."""
    from time import perf_counter

    from workbench import load
    from workbench.comparison import compare
    from workbench.recipe import read_recipe, replay
    from workbench.saving import save_result

    began = perf_counter()
    try:
        model = load(task.model)
        before = len(model.graph.nodes), Path(task.model).stat().st_size
        if task.recipe is None:
            return Row(task.model, "", before[0], None, before[1], None, None, perf_counter() - began, "")
        done = replay(read_recipe(task.recipe), model, folder=Path(task.recipe).parent)
        size = None
        if task.output is not None:
            size = save_result(done.model, task.output).stat().st_size
        worst = min((o.sqnr_db for o in compare(model, done.model).outputs), default=None)
        return Row(
            task.model,
            task.recipe,
            before[0],
            len(done.model.graph.nodes),
            before[1],
            size,
            worst,
            perf_counter() - began,
            "",
        )
    except BenchError as error:
        return failed(task, perf_counter() - began, f"{error.kind}: {error.what}")
    except Exception as error:  # a defect in one task must not stop the others; it stands in the table
        return failed(task, perf_counter() - began, f"defect: {type(error).__name__}: {error}")


def failed(task: Task, seconds: float, error: str) -> Row:
    """The row of a task that came to nothing."""
    return Row(task.model, task.recipe or "", None, None, None, None, None, seconds, error)


def run_batch(
    tasks: Sequence[Task], *, jobs: int = 1, executor: Executor | None = None, journal: str | Path | None = None,
    progress: Progress | None = None, cancel: Cancel | None = None,
) -> list[Row]:  # fmt: skip
    """Do all tasks and return their rows in the order of the tasks.

    executor  where they run: any `concurrent.futures.Executor`; spawned processes by default
    journal   a file that gets a line as each task ends; tasks already in it are not done again
    """
    done = dict(_read_journal(journal)) if journal is not None else {}
    left = [t for t in tasks if t.key not in done]
    own = executor is None
    pool = executor or ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        waiting: dict[Future[Row], Task] = {pool.submit(run_task, t): t for t in left}
        for number, future in enumerate(as_completed(waiting)):
            task = waiting[future]
            done[task.key] = _result(future, task)
            if journal is not None:
                with open(journal, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": task.key, "row": asdict(done[task.key])}) + "\n")
            report(progress, number + 1, len(left), task.model)
            if cancel is not None and cancel():
                for other in waiting:
                    other.cancel()
                check(cancel, "the batch")
    finally:
        if own:
            pool.shutdown(wait=True, cancel_futures=True)
    return [done[t.key] for t in tasks]


def _result(future: Future[Row], task: Task) -> Row:
    """The row, or one that says how the worker died."""
    error = future.exception()
    if error is None:
        return future.result()
    return failed(task, 0.0, f"the worker died: {type(error).__name__}: {error}")


def _read_journal(path: str | Path) -> Iterator[tuple[str, Row]]:
    """What an earlier run finished; a half-written last line is left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry: Mapping[str, Any] = json.loads(line)
            yield entry["key"], Row(**entry["row"])
        except (ValueError, KeyError, TypeError):
            continue
