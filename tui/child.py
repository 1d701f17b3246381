"""Long work in a process of its own: quiet timings, a screen that never waits, and a crash that is a message.

The process is started with spawn (never fork: OpenMP and OpenBLAS do not survive it), opens the same file itself, and is sent what
changed since: structure and newly made arrays, never the file's weights. It lives as long as the session and keeps the last models.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from exec.errors import BenchError, Cancelled
from exec.progress import Cancel, Progress
from workbench.bench import Bench
from workbench.history import StateInfo
from workbench.transfer import Courier, Packed

GRACE_S = 2.0
_MODELS_KEPT = 3
_REPORTS_PER_SECOND = 1.0


class Child:
    """The parent's end: `child(job, states, options, progress, cancel)` is a `Runner` for a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._lock = threading.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None
        self._stop: Any = None
        self._sent: set[int] = set()
        self._courier = Courier(bench.history.original.store)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and bool(self._process.is_alive())

    @property
    def pid(self) -> int | None:
        """The process's number, None before it is started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process if there is none; it opens the file while the screen goes on."""
        with self._lock:
            self._started()

    def close(self) -> None:
        """End the process; it has nothing to lose."""
        if self._process is not None:
            self._process.kill()
            self._process.join(1.0)
            self._process = None

    def __call__(
        self, job: str, states: Sequence[StateInfo], options: dict[str, Any], progress: Progress | None, cancel: Cancel | None
    ) -> Any:  # fmt: skip
        """Do a job there; blocks this thread, forwards progress, stops when asked."""
        with self._lock:
            pipe = self._started()
            self._stop.clear()
            try:
                pipe.send((job, [self._state(s) for s in states], options))
                return self._answer(pipe, job, progress, cancel)
            except (EOFError, BrokenPipeError, ConnectionResetError) as error:
                raise self._crashed(job) from error

    def _started(self) -> Connection:
        if self.alive and self._pipe is not None:
            return self._pipe
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._sent = set()
        self._courier = Courier(self.bench.history.original.store)
        with _no_main(), _own_stderr():
            self._stop = context.Event()
            self._process = context.Process(target=main, args=(theirs, self._stop, str(self.bench.path)), daemon=True, name="owb-work")  # fmt: skip
            self._process.start()
        theirs.close()
        return self._pipe

    def _state(self, info: StateInfo) -> tuple[int, Packed | str | None]:
        """The key of a state, and the state itself the first time it is needed: None is the file."""
        if info.key in self._sent:
            return info.key, None
        self._sent.add(info.key)
        if info.number < 0:
            assert self.bench.other is not None
            return info.key, str(self.bench.other.path)
        snapshot = self.bench.history.steps[info.number].snapshot
        return info.key, None if snapshot is None else self._courier.pack(snapshot)

    def _answer(self, pipe: Connection, job: str, progress: Progress | None, cancel: Cancel | None) -> Any:
        asked: float | None = None
        while True:
            if cancel is not None and asked is None and cancel():
                self._stop.set()
                asked = time.monotonic()
            if asked is not None and time.monotonic() - asked > GRACE_S:
                self.close()
                raise Cancelled(f"{job} was stopped")
            if not pipe.poll(0.05):
                if not self.alive:
                    raise EOFError
                continue
            kind, body = pipe.recv()
            match kind:
                case "progress" if progress is not None:
                    progress(*body)
                case "kept":
                    self._courier.arrived(body)
                case "done":
                    return body
                case "model":
                    packed, result = body
                    model, numbers = self._courier.unpack(packed)
                    pipe.send(("kept", numbers))
                    return replace(result, model=model)
                case "failed":
                    raise body

    def _crashed(self, job: str) -> BenchError:
        code = None
        if self._process is not None:
            self._process.join(1.0)
            code = self._process.exitcode
        self.close()
        reason = f"it was ended by {signal.Signals(-code).name}" if code is not None and code < 0 else f"its exit code was {code}"  # fmt: skip
        hint = "often too little memory: a smaller feed (R), or close other programs" if code == -9 else "r starts a fresh one"  # fmt: skip
        return BenchError(
            f"the process that does the {job} has ended", "", reason, f"{hint}; this session is untouched"
        )


@contextlib.contextmanager
def _no_main() -> Any:
    """Keep spawn from importing the parent's main module again: the child needs nothing of it."""
    module = sys.modules["__main__"]
    spec, path = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    module.__spec__ = None
    if path is not None:
        del module.__file__
    try:
        yield
    finally:
        module.__spec__ = spec
        if path is not None:
            module.__file__ = path


@contextlib.contextmanager
def _own_stderr() -> Any:
    """The stream of the system for as long as a process starts: the one that captures prints has no file number to hand on."""
    shown, sys.stderr = sys.stderr, sys.__stderr__
    try:
        yield
    finally:
        sys.stderr = shown


# ── the other end ──────────────────────────────────────────────────────────────────────────────────────────────────────


def main(pipe: Connection, stop: Any, path: str) -> None:
    """Serve jobs until the pipe closes. Says nothing on the terminal: that belongs to the screen."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        Server(pipe, stop, path).serve()


class Server:
    """Holds the models and does the jobs, one at a time."""

    def __init__(self, pipe: Connection, stop: Any, path: str) -> None:
        self.pipe, self.stop, self.path = pipe, stop, path
        self.models: OrderedDict[int, Any] = OrderedDict()
        self.packed: dict[int, Packed | str | None] = {}
        self.courier: Courier | None = None
        self.original: Any = None
        self.last = 0.0

    def serve(self) -> None:
        """Answer requests, forever."""
        while True:
            request = self.pipe.recv()
            if request[0] == "kept":
                if self.courier is not None:
                    self.courier.arrived(request[1])
                continue
            try:
                self._do(*request)
            except BenchError as error:
                self.pipe.send(("failed", error))
            except Exception as error:
                self.pipe.send(("failed", BenchError(f"{request[0]}: {type(error).__name__}", why=str(error)[:300], hint="this is a defect: please report it with the model's card")))  # fmt: skip

    def _do(self, job: str, states: Sequence[tuple[int, Any]], options: dict[str, Any]) -> None:
        from workbench import jobs

        result = jobs.run(job, [self._model(*s) for s in states], options, self._report, self.stop.is_set)
        model = getattr(result, "model", None)
        if model is None:
            self.pipe.send(("done", result))
        else:
            assert self.courier is not None
            self.pipe.send(("model", (self.courier.pack(model.snapshot()), replace(result, model=None))))

    def _model(self, key: int, state: Packed | str | None) -> Any:
        from exec.ir import load

        if self.original is None:
            self.original = load(self.path)
            self.courier = Courier(self.original.store)
        if key not in self.packed:
            self.packed[key] = state
        if key in self.models:
            self.models.move_to_end(key)
            return self.models[key]
        state = self.packed[key]
        if state is None:
            return self.original
        if isinstance(state, str):
            model = load(state)
        else:
            assert self.courier is not None
            model, numbers = self.courier.unpack(state)
            self.packed[key] = replace(state, blobs={}, known={**state.known, **numbers})
            self.pipe.send(("kept", numbers))
        self.models[key] = model
        while len(self.models) > _MODELS_KEPT:
            self.models.popitem(last=False)
        return model

    def _report(self, done: int, total: int, text: str) -> None:
        now = time.monotonic()
        if now - self.last >= 1 / _REPORTS_PER_SECOND:
            self.last = now
            self.pipe.send(("progress", (done, total, text)))
