"""Many models through a recipe: failures stand apart, a resumed batch does not repeat itself."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exec.errors import OptionError
from workbench.batch import Task, run_batch, tasks_of
from workbench.samples import sample

RECIPE = 'version = 1\n[[step]]\ndo = "optimize"\npasses = ["default"]\n'


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "r.toml"
    path.write_text(RECIPE)
    return str(path)


def test_a_model_that_fails_does_not_stop_the_others(recipe: str, tmp_path: Path) -> None:
    tasks = tasks_of(
        [str(sample("digits_cnn.onnx")), "missing.onnx", str(sample("digits_mobile.onnx"))], [recipe], str(tmp_path)
    )
    with ThreadPoolExecutor(1) as pool:
        rows = run_batch(tasks, executor=pool)
    assert [bool(r.error) for r in rows] == [False, True, False]
    assert "unreadable-model" in rows[1].error
    assert rows[0].nodes_after is not None
    assert rows[0].nodes_after < (rows[0].nodes_before or 0)
    assert (tmp_path / "digits_cnn-r.onnx").exists()


class Counting(Executor):
    """Runs at once and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_a_batch_goes_on_where_it_was_killed(recipe: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    tasks = tasks_of([str(sample("digits_cnn.onnx")), str(sample("digits_fragile.onnx"))], [recipe], None)
    first = Counting()
    rows = run_batch(tasks, executor=first, journal=journal)
    journal.write_text(journal.read_text().splitlines()[0] + '\n{"key": "half writ')
    second = Counting()
    again = run_batch(tasks, executor=second, journal=journal)
    assert (first.calls, second.calls) == (2, 1)
    assert [(r.model, r.nodes_after) for r in again] == [(r.model, r.nodes_after) for r in rows]


def test_spawned_processes_give_the_same_rows() -> None:
    task = Task(str(sample("digits_cnn.onnx")), None, None)
    assert run_batch([task], jobs=1)[0].nodes_before == 13


def test_two_results_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        tasks_of(["a/m.onnx", "b/m.onnx"], ["r.toml"], str(tmp_path))
