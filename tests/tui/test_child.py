"""Long work in another process: the same results, nothing of the file's weights on the way, cancel and crash survived."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from exec.errors import BenchError, Cancelled
from exec.ir import load
from tui.child import Child
from workbench.bench import Bench
from workbench.samples import sample
from workbench.transfer import Courier

CNN = sample("digits_cnn.onnx")


@pytest.fixture(scope="module")
def worked() -> Iterator[tuple[Bench, Child]]:
    """A bench with one step, whose long work is done by a child."""
    bench = Bench(CNN, data=4)
    bench.optimize("default", verify=False)
    child = Child(bench)
    bench.runner = child
    yield bench, child
    child.close()


def test_a_state_arrives_as_the_same_bytes() -> None:
    bench = Bench(CNN)
    bench.optimize("default", verify=False)
    here, there = Courier(bench.history.original.store), Courier(load(CNN).store)
    snapshot = bench.history.steps[1].snapshot
    assert snapshot is not None
    packed = here.pack(snapshot)
    model, numbers = there.unpack(pickle.loads(pickle.dumps(packed)))
    here.arrived(numbers)
    want = bench.model("B").to_proto().SerializeToString(deterministic=True)
    assert model.to_proto().SerializeToString(deterministic=True) == want
    back, _ = here.unpack(there.pack(model.snapshot()))
    assert back.to_proto().SerializeToString(deterministic=True) == want
    assert not here.pack(snapshot).blobs, "an array that crossed once is not sent again"


def test_weights_of_the_file_do_not_travel() -> None:
    bench = Bench(CNN)
    bench.optimize(["eliminate-identity"], verify=False)
    snapshot = bench.history.steps[1].snapshot
    assert snapshot is not None
    packed = Courier(bench.history.original.store).pack(snapshot)
    assert not packed.blobs
    assert len(packed.data) < CNN.stat().st_size / 2


def test_profiles_comparisons_and_quantizations_come_back_whole(worked: tuple[Bench, Child]) -> None:
    bench, child = worked
    profile = bench.profile("B", runs=3)
    assert len(profile.nodes) == bench.info("B").nodes
    assert bench.last_profile("B") is profile
    first = child.pid
    comparison = bench.compare()
    assert all(o.within for o in comparison.outputs)
    result = bench.try_quantize()
    bench.keep_quantized(result)
    assert bench.b == 2
    assert bench.compare().outputs
    assert child.pid == first, "one process serves all"
    for weight in (t for n in bench.model("B").graph.nodes for t in n.inputs if hasattr(t, "values")):
        assert np.asarray(weight.values).size >= 0


def test_an_error_there_is_the_same_error_here(worked: tuple[Bench, Child]) -> None:
    bench, _ = worked
    with pytest.raises(BenchError, match="engine"):
        bench.profile("A", runs=1, engine="nonsense")
    assert bench.profile("A", runs=3).nodes


def test_work_that_does_not_stop_is_killed_and_the_next_one_runs(worked: tuple[Bench, Child]) -> None:
    bench, child = worked
    child.start()
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(Cancelled):
        bench.profile("A", runs=3, cancel=lambda: True)
    assert time.monotonic() - started < 6
    assert bench.profile("A", runs=3).nodes
    assert child.pid != pid


def test_a_crash_there_is_a_message_here(worked: tuple[Bench, Child]) -> None:
    bench, child = worked
    child.start()

    def die(done: int, total: int, text: str) -> None:
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(BenchError, match="process that does the profile has ended") as caught:
        bench.profile("A", runs=100_000, progress=die)
    assert "SIGKILL" in caught.value.why
    assert bench.profile("A", runs=3).nodes


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in a process"])
@pytest.mark.parametrize("turned", [False, True], ids=["straight", "after undo"])
def test_a_recipe_of_two_steps_gives_the_bytes_its_session_gave(tmp_path: Path, elsewhere: bool, turned: bool) -> None:
    from workbench.recipe import read_recipe, replay

    path = Path(shutil.copy(sample("digits_cnn.onnx"), tmp_path / "m.onnx"))
    bench = Bench(path)
    child = Child(bench) if elsewhere else None
    bench.runner = child
    try:
        bench.optimize("default")
        if turned:
            bench.undo()
            bench.redo()
        bench.quantize()
    finally:
        if child is not None:
            child.close()
    saved, recipe = bench.save(tmp_path / "saved.onnx"), bench.save_recipe(tmp_path / "saved.toml")
    replay(read_recipe(recipe), wb.load(path), folder=tmp_path).model.save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == saved.read_bytes()
